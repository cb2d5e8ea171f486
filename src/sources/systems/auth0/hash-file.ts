/**
 * The file of password hashes that Auth0's support provides: NDJSON, a line for each user of a database connection.
 *
 * `alt_id`, or else `_id.$oid` (`_ID` in some exports), is the part of the user's id after `auth0|`. Lines are matched
 * by address only where a line or a user has no id, and then never to a user of another connection.
 * https://support.auth0.com/center/s/article/How-to-Use-the-Password-Hashes-Export-from-Auth0
 */

import type { Fields, HashFile } from '../../source.ts';
import { objectAt, objectsAt, textAt } from '../../values.ts';
import { asUser } from './csv.ts';

export const auth0HashFile: HashFile = {
  recognizes(record) {
    if (Object.hasOwn(record, 'user_id')) return false;
    if (Object.hasOwn(record, 'connection') && Object.hasOwn(record, 'tenant')) return true;
    const isMongo = Object.hasOwn(objectAt(record, '_id'), '$oid') || Object.hasOwn(objectAt(record, '_ID'), '$oid');
    return isMongo && Object.hasOwn(record, 'passwordHash');
  },
  keysOfHash(hashRecord) {
    if (textAt(hashRecord, 'passwordHash') === undefined) return [];
    return [idOf(hashRecord), emailOf(hashRecord)?.toLowerCase()].filter((key) => key !== undefined);
  },
  keysOfUser(record) {
    const user = asUser(record);
    return [
      ...new Set([...databaseIds(user), textAt(user, 'email')?.toLowerCase()].filter((key) => key !== undefined)),
    ];
  },
  join(record, hashRecord) {
    const user = asUser(record);
    return isOwnHash(user, hashRecord) ? { ...user, passwordHash: hashRecord.passwordHash } : user;
  },
};

function idOf(hashRecord: Fields): string | undefined {
  const id = textAt(hashRecord, 'alt_id') ?? oidOf(hashRecord, '_id') ?? oidOf(hashRecord, '_ID');
  return id === undefined ? undefined : `auth0|${id}`;
}

/** A hash that was found by address may still belong to another account with the same address. */
function isOwnHash(user: Fields, hashRecord: Fields): boolean {
  const id = idOf(hashRecord);
  const ids = databaseIds(user);
  const isOfNoDatabase = textAt(user, 'user_id') !== undefined && ids.length === 0;
  if (isOfNoDatabase) return false;
  if (id !== undefined && ids.length > 0) return ids.includes(id);
  return !isOfOtherConnection(user, textAt(hashRecord, 'connection'));
}

function oidOf(hashRecord: Fields, key: string): string | undefined {
  return textAt(objectAt(hashRecord, key), '$oid') ?? textAt(hashRecord, key);
}

function emailOf(hashRecord: Fields): string | undefined {
  const identifier = objectsAt(hashRecord, 'identifiers').find((one) => one.type === 'email');
  return textAt(hashRecord, 'email') ?? (identifier && textAt(identifier, 'value'));
}

/** The user's ids in databases: their own, or that of a database account that is linked to another account. */
function databaseIds(user: Fields): string[] {
  const id = textAt(user, 'user_id');
  const linked = databaseIdentities(user).flatMap((identity) => textAt(identity, 'user_id') ?? []);
  const own = id === undefined || (id.includes('|') && !id.startsWith('auth0|')) ? [] : [id];
  return [...own, ...linked].map((one) => (one.startsWith('auth0|') ? one : `auth0|${one}`));
}

function databaseIdentities(user: Fields): Fields[] {
  return objectsAt(user, 'identities').filter((identity) => (textAt(identity, 'provider') ?? 'auth0') === 'auth0');
}

function isOfOtherConnection(user: Fields, connection: string | undefined): boolean {
  const connections = databaseIdentities(user).flatMap((identity) => textAt(identity, 'connection') ?? []);
  return connection !== undefined && connections.length > 0 && !connections.includes(connection);
}
