/**
 * The hashes of a Stytch project, a CSV that its support hands over: first the parameters of scrypt, then the rows
 * `user id, hash, salt, scrypt, project id`. The salt is used as the base64url text that it is.
 * https://github.com/FusionAuth/fusionauth-import-scripts/tree/main/stytch (with a program that checks a hash)
 */
import { bytesOf, type HashText, unsupported } from '../../hash-text.ts';
import type { Fields, HashFile } from '../../source.ts';
import { firstText, objectAt, textAt } from '../../values.ts';

export const HASH_COLUMNS = ['id', 'hash', 'salt', 'hash_method', 'project_id'];
/** Where the joined record is in the user's. */
export const HASH_FIELD = 'stytch_password_hash';

const USER_ID = /^user-(?:test|live)-/;
/** The first cell of the lines with the parameters. */
const TITLE = 'scrypt hash parameters';
/** The parameters that every known file names: a cost of 1 << 15, r 8, p 1, keys of 32 bytes. */
const PARAMETERS = 'ln=15,r=8,p=1';
const KEY_BYTES = 32;

export const stytchHashFile: HashFile = {
  recognizes(record) {
    const id = textAt(record, 'id') ?? '';
    return id === TITLE || (USER_ID.test(id) && textAt(record, 'hash_method') !== undefined);
  },
  keysOfHash(record) {
    const id = textAt(record, 'id') ?? '';
    return USER_ID.test(id) ? [id] : [];
  },
  keysOfUser: (user) => [textAt(user, 'user_id')].filter((id) => id !== undefined),
  join: (user, record) => ({ ...user, [HASH_FIELD]: record }),
};

/** @param user with the record of the file of hashes, if there is one; migration tools write its fields to the user */
export function stytchHash(user: Fields): HashText {
  const record = Object.hasOwn(user, HASH_FIELD) ? objectAt(user, HASH_FIELD) : user;
  const [hash, salt] = [textAt(record, 'hash'), textAt(record, 'salt')];
  const method = firstText(record, ['hash_method', 'hashAlgorithm']) ?? '';
  if (hash === undefined) return {};
  const digest = bytesOf(hash, 'base64');
  if (method !== 'scrypt' || salt === undefined || digest?.length !== KEY_BYTES) return unsupported(`stytch-${method}`);
  return { hash: `$scrypt$${PARAMETERS}$${base64(Buffer.from(salt))}$${base64(digest)}` };
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
