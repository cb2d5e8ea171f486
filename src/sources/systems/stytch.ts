import type { Person } from '../entry.ts';
import { bytesOf, type HashText, SECOND_FACTOR_LOST, unsupported } from '../hashes.ts';
import type { Fields, HashFile, Source } from '../source.ts';
import { boolAt, fieldNames, firstText, objectAt, objectsAt, restOf, textAt } from '../values.ts';
/**
 * The hashes of a Stytch project, a CSV that its support hands over: first the parameters of scrypt, then the rows
 * `user id, hash, salt, scrypt, project id`. The salt is used as the base64url text that it is.
 * https://github.com/FusionAuth/fusionauth-import-scripts/tree/main/stytch (with a program that checks a hash)
 */

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

/**
 * Stytch Consumer: users as its API answers `POST /v1/users/search`, and the file of hashes from its support.
 * https://stytch.com/docs/api/search-users, https://stytch.com/docs/api/user-object
 */

const KNOWN =
  fieldNames(`user_id external_id emails phone_numbers name status providers password totps webauthn_registrations
  biometric_registrations crypto_wallets created_at lock_created_at lock_expires_at is_locked
  request_id status_code hash salt hashAlgorithm ${HASH_FIELD}`);

export const stytch: Source = {
  name: 'stytch',
  title: 'Stytch',
  formats: ['json', 'ndjson', 'csv'],
  jsonPaths: [['results', '*']],
  csvColumns: HASH_COLUMNS,
  hashFile: stytchHashFile,
  recognizes: (record) =>
    /^user-(?:test|live)-/.test(textAt(record, 'user_id') ?? '') && Array.isArray(record.emails) ? 1 : 0,
  converter: () => convert,
};

function convert(record: Fields): Person {
  const { hash, notes = [] } = stytchHash(record);
  const name = objectAt(record, 'name');
  const best = (key: string) => {
    const all = objectsAt(record, key);
    return all.find((one) => boolAt(one, 'verified') === true) ?? all[0] ?? {};
  };
  const [email, phone] = [best('emails'), best('phone_numbers')];
  return {
    userId: textAt(record, 'user_id'),
    email: textAt(email, 'email'),
    emailVerified: boolAt(email, 'verified'),
    firstName: textAt(name, 'first_name'),
    lastName: textAt(name, 'last_name'),
    phone: textAt(phone, 'phone_number'),
    phoneVerified: boolAt(phone, 'verified'),
    hash,
    state: boolAt(record, 'is_locked') === true ? 'locked' : undefined,
    links: objectsAt(record, 'providers').flatMap((one) => {
      const [provider, externalUserId] = [textAt(one, 'provider_type'), textAt(one, 'provider_subject')];
      return provider === undefined || externalUserId === undefined ? [] : [{ provider, externalUserId }];
    }),
    metadata: { external_id: textAt(record, 'external_id'), ...restOf(record, KNOWN) },
    notes: [...notes, ...(objectsAt(record, 'totps').length > 0 ? [SECOND_FACTOR_LOST] : [])],
  };
}
