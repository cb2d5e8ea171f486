/**
 * Auth0: the users of an export job (NDJSON or CSV), of `GET /api/v2/users`, or of a file for its bulk import, joined
 * with the hashes that Auth0's support provides in a second file.
 *
 * Guarantee: attributes of a profile without a field of their own are kept as metadata; an address counts as verified
 * only if `email_verified` says so.
 * https://auth0.com/docs/manage-users/user-migration/bulk-user-exports
 * https://auth0.com/docs/manage-users/user-accounts/user-profiles/user-profile-structure
 */

import { genderOf } from '../../gender.ts';
import { SECOND_FACTOR_LOST } from '../../hash-text.ts';
import type { Person, ProviderLink } from '../../person.ts';
import { CONTEXT } from '../../read/json.ts';
import type { Fields, Source } from '../../source.ts';
import { boolAt, objectAt, objectsAt, textAt } from '../../values.ts';
import { asUser } from './csv.ts';
import { auth0Hash } from './hash.ts';
import { auth0HashFile } from './hash-file.ts';

export const auth0: Source = {
  name: 'auth0',
  title: 'Auth0',
  formats: ['json', 'ndjson', 'csv'],
  jsonPaths: [['users', '*']],
  recognizes: (record) => certaintyOf(asUser(record)),
  hashFile: auth0HashFile,
  converter: () => convert,
};

/** Attributes that have a field of their own. */
const TAKEN = (
  'user_id username email email_verified given_name family_name name nickname locale gender phone_number phone_verified ' +
  'blocked identities passwordHash password_hash custom_password_hash mfa_factors'
).split(' ');

/** Bookkeeping of Auth0. */
const DROPPED = (
  'created_at updated_at last_login last_ip logins_count last_password_reset multifactor multifactor_last_modified ' +
  'guardian_authenticators blocked_for clientID _id'
).split(' ');

const NO_METADATA = new Set([...TAKEN, ...DROPPED, CONTEXT]);

/** Connections of Auth0 itself: its databases, and codes by mail and phone. */
const OWN_PROVIDERS = ['auth0', 'email', 'sms'];

const USER_ID = /^([a-z0-9_-]+)\|(.+)$/i;

function certaintyOf(user: Fields): number {
  if (USER_ID.test(textAt(user, 'user_id') ?? '')) return 1;
  if (Object.hasOwn(user, 'custom_password_hash')) return 1;
  if (objectsAt(user, 'identities').some((identity) => Object.hasOwn(identity, 'isSocial'))) return 1;
  if (!Object.hasOwn(user, 'email_verified') || Object.hasOwn(user, 'id')) return 0;
  const names = ['user_metadata', 'app_metadata', 'mfa_factors', 'user_id'];
  return names.some((name) => Object.hasOwn(user, name)) ? 0.7 : 0;
}

function convert(record: Fields): Person {
  const user = asUser(record);
  const email = textAt(user, 'email');
  const name = textAt(user, 'name');
  const { hash, notes = [] } = auth0Hash(user);
  return {
    userId: textAt(user, 'user_id'),
    userName: textAt(user, 'username'),
    email,
    emailVerified: boolAt(user, 'email_verified'),
    firstName: textAt(user, 'given_name'),
    lastName: textAt(user, 'family_name'),
    // Auth0 uses the address as the name of a user who gave none.
    displayName: name === email ? undefined : name,
    nickName: textAt(user, 'nickname'),
    language: textAt(user, 'locale'),
    gender: genderOf(textAt(user, 'gender')),
    phone: textAt(user, 'phone_number'),
    phoneVerified: boolAt(user, 'phone_verified'),
    state: boolAt(user, 'blocked') === true ? 'inactive' : undefined,
    hash,
    ...secondFactorOf(user, notes),
    metadata: metadataOf(user),
    links: linksOf(user),
  };
}

/** Imports an app's secret; factors by phone or mail, and those that only the profile mentions, cannot be imported. */
function secondFactorOf(user: Fields, hashNotes: NonNullable<Person['notes']>): Pick<Person, 'totp' | 'notes'> {
  const factors = objectsAt(user, 'mfa_factors');
  const secrets = factors.flatMap((factor) => textAt(objectAt(factor, 'totp'), 'secret') ?? []);
  const told = Array.isArray(user.multifactor) && user.multifactor.length > 0;
  const isLost = factors.length > Math.min(secrets.length, 1) || (told && secrets.length === 0);
  return { totp: secrets[0], notes: isLost ? [...hashNotes, SECOND_FACTOR_LOST] : hashNotes };
}

function metadataOf(user: Fields): Fields {
  const rest = Object.entries(user).filter(([key, value]) => !NO_METADATA.has(key) && !isEmpty(value));
  return Object.fromEntries(rest);
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** Accounts at external providers; where an export does not list them, the user's id names the first one. */
function linksOf(user: Fields): ProviderLink[] {
  const listed = objectsAt(user, 'identities').flatMap(linkOf);
  if (listed.length > 0) return listed;
  const [, provider, externalUserId] = USER_ID.exec(textAt(user, 'user_id') ?? '') ?? [];
  if (!provider || !externalUserId || OWN_PROVIDERS.includes(provider)) return [];
  return [{ provider, externalUserId }];
}

function linkOf(identity: Fields): ProviderLink[] {
  const strategy = textAt(identity, 'provider');
  const id = textAt(identity, 'user_id');
  if (!strategy || !id || OWN_PROVIDERS.includes(strategy)) return [];
  // Enterprise connections are told apart by name only: there may be several of type `samlp`.
  const connection = boolAt(identity, 'isSocial') === true ? undefined : textAt(identity, 'connection');
  const provider = connection ?? strategy;
  const externalUserId = id.startsWith(`${provider}|`) ? id.slice(provider.length + 1) : id;
  const displayName = textAt(objectAt(identity, 'profileData'), 'name');
  return [{ provider, externalUserId, ...(displayName === undefined ? {} : { displayName }) }];
}
