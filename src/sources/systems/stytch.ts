/**
 * Stytch Consumer: users as its API answers `POST /v1/users/search`, and the file of hashes from its support: a CSV with
 * first the parameters of scrypt, then the rows `user id, hash, salt, scrypt, project id`. The salt is used as the
 * base64url text that it is.
 * https://stytch.com/docs/api/search-users, https://stytch.com/docs/api/user-object
 * https://github.com/FusionAuth/fusionauth-import-scripts/tree/main/stytch (with a program that checks a hash)
 */
import type { Note, Person } from '../entry.ts';
import { bytesOf, type HashText, unsupported } from '../hashes.ts';
import { hasField, oldSignInOf } from '../old-sign-in.ts';
import { PASSKEY_LOST, SECOND_FACTOR_LOST } from '../second-factor.ts';
import type { Fields, HashFile } from '../source.ts';
import { boolAt, firstText, objectAt, objectsAt, textAt } from '../values.ts';
import { tableSource } from './table.ts';

const HASH_COLUMNS = ['id', 'hash', 'salt', 'hash_method', 'project_id'];
/** Where the joined record is in the user's. */
const HASH_FIELD = 'stytch_password_hash';

const USER_ID = /^user-(?:test|live)-/;
/** The first cell of the lines with the parameters. */
const TITLE = 'scrypt hash parameters';
/** The parameters that every known file names: a cost of 1 << 15, r 8, p 1, keys of 32 bytes. */
const PARAMETERS = 'ln=15,r=8,p=1';
const KEY_BYTES = 32;

const stytchHashFile: HashFile = {
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

export const stytch = tableSource({
  name: 'stytch',
  title: 'Stytch',
  jsonPaths: [['results', '*']],
  csvColumns: HASH_COLUMNS,
  hashFile: stytchHashFile,
  missing: [
    {
      id: 'STYTCH-PASSWORDS',
      what: 'password',
      message: 'The API of Stytch returns no password hashes.',
      remedy: 'Ask its support for the file of hashes, and give it beside the users (docs/sources/stytch.md).',
      isIn: hasField(HASH_FIELD, 'hash'),
    },
  ],
  recognizes: (record) => USER_ID.test(textAt(record, 'user_id') ?? '') && Array.isArray(record.emails),
  row: (record) => ({
    ...record,
    emails: bestOf(record, 'emails'),
    phone_numbers: bestOf(record, 'phone_numbers'),
  }),
  states: {
    locked: ['is_locked'],
    words: [{ field: 'status', active: 'active pending', inactive: 'inactive', deleted: 'deleted' }],
  },
  columns: {
    userId: 'user_id',
    email: 'emails.email',
    emailVerified: 'emails.verified',
    firstName: 'name.first_name',
    lastName: 'name.last_name',
    phone: 'phone_numbers.phone_number',
    phoneVerified: 'phone_numbers.verified',
    passwordChangeRequired: 'password.requires_reset',
  },
  parts: [stytchHash, factorOf],
  links: { list: 'providers', provider: ['provider_type'], id: ['provider_subject'] },
  signIn(row, { email, links = [] }) {
    const hasPassword = Object.keys(objectAt(row, 'password')).length > 0;
    const isByCode = !hasPassword && links.length === 0;
    return oldSignInOf({
      password: hasPassword,
      mailCode: isByCode && email !== undefined,
      sms: isByCode && email === undefined && textAt(objectAt(row, 'phone_numbers'), 'phone_number') !== undefined,
      links,
      passkey: isSetUp(row, 'webauthn_registrations'),
    });
  },
  dropped: `external_id status password totps webauthn_registrations biometric_registrations crypto_wallets created_at
    lock_created_at lock_expires_at is_locked request_id status_code hash salt hashAlgorithm ${HASH_FIELD}`,
  metadata: (record, rest) => ({ external_id: textAt(record, 'external_id'), ...rest }),
});

/** The first verified one, else the first. */
function bestOf(record: Fields, key: string): Fields {
  const all = objectsAt(record, key);
  return all.find((one) => boolAt(one, 'verified') === true) ?? all[0] ?? {};
}

const WALLET_LOST: Note = {
  id: 'WALLET-LOST',
  message: 'The user could sign in with a crypto wallet, which is not imported.',
};

/** Whether the list has a credential whose registration was finished. */
function isSetUp(record: Fields, list: string): boolean {
  return objectsAt(record, list).some((one) => boolAt(one, 'verified') !== false);
}

/** A registration of biometrics is bound to a device, and a second factor or a way in of its own. */
function factorOf(record: Fields): Partial<Person> {
  const isFactor = isSetUp(record, 'totps') || isSetUp(record, 'biometric_registrations');
  return {
    notes: [
      ...(isFactor ? [SECOND_FACTOR_LOST] : []),
      ...(isSetUp(record, 'webauthn_registrations') ? [PASSKEY_LOST] : []),
      ...(isSetUp(record, 'crypto_wallets') ? [WALLET_LOST] : []),
    ],
  };
}

/** @param user with the record of the file of hashes, if there is one; migration tools write its fields to the user */
function stytchHash(user: Fields): HashText {
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
