/**
 * Casdoor: users of its API (`GET /api/get-users`), of an init_data file, and rows of its table `user`, as JSON or CSV.
 * https://casdoor.org/docs/basic/core-concepts; https://github.com/casdoor/casdoor (object/user.go)
 */
import { SECOND_FACTOR_LOST } from '../../hash-text.ts';
import type { Person, Skipped } from '../../person.ts';
import type { Fields, Source } from '../../source.ts';
import { firstBool, firstText, jsonAt, textAt } from '../../values.ts';
import { hashOf } from './hash.ts';

/** Providers that many people use; each has a column with the user's id there. */
const PROVIDERS = [
  'github',
  'google',
  'facebook',
  'gitlab',
  'linkedin',
  'apple',
  'azuread',
  'slack',
  'discord',
  'twitter',
  'okta',
  'wechat',
  'auth0',
];
/** Columns worth keeping; the others are those of a shop and of a forum. */
const METADATA = [
  'externalId',
  'external_id',
  'title',
  'affiliation',
  'location',
  'region',
  'tag',
  'bio',
  'homepage',
  'groups',
  'properties',
];

export const casdoor: Source = {
  name: 'casdoor',
  title: 'Casdoor',
  formats: ['json', 'ndjson', 'csv'],
  jsonPaths: [
    ['data', '*'],
    ['users', '*'],
  ],
  recognizes(record) {
    const has = (name: string) => Object.hasOwn(record, name);
    // A user in an init_data file may have no type of password: Casdoor hashes it when it loads the file.
    const isJson = has('isForbidden') && (has('passwordType') || has('signupApplication'));
    return has('owner') && has('name') && (isJson || (has('password_type') && has('is_forbidden'))) ? 1 : 0;
  },
  converter: () => convert,
};

function convert(record: Fields): Person | Skipped {
  if (firstBool(record, ['isDeleted', 'is_deleted']) === true) return { skip: 'The user is deleted (isDeleted).' };
  const { hash, password, notes = [] } = hashOf(record);
  const hasFactor = firstText(record, ['totpSecret', 'totp_secret', 'preferredMfaType', 'preferred_mfa_type']);
  return {
    userId: textAt(record, 'id'),
    userName: textAt(record, 'name'),
    email: textAt(record, 'email'),
    emailVerified: firstBool(record, ['emailVerified', 'email_verified']),
    firstName: firstText(record, ['firstName', 'first_name']),
    lastName: firstText(record, ['lastName', 'last_name']),
    displayName: firstText(record, ['displayName', 'display_name']),
    language: textAt(record, 'language'),
    phone: textAt(record, 'phone'),
    state: firstBool(record, ['isForbidden', 'is_forbidden']) === true ? 'inactive' : undefined,
    hash,
    password,
    links: PROVIDERS.flatMap((provider) => {
      const externalUserId = textAt(record, provider);
      return externalUserId === undefined ? [] : [{ provider, externalUserId }];
    }),
    metadata: Object.fromEntries(METADATA.map((name) => [name, fieldOf(record, name)])),
    notes: [...notes, ...(hasFactor === undefined ? [] : [SECOND_FACTOR_LOST])],
  };
}

function fieldOf(record: Fields, name: string): unknown {
  const value = Object.keys(jsonAt(record, name)).length > 0 ? jsonAt(record, name) : record[name];
  return Array.isArray(value) && value.length === 0 ? undefined : value;
}
