/**
 * Stytch Consumer: users as its API answers `POST /v1/users/search`, and the file of hashes from its support.
 * https://stytch.com/docs/api/search-users, https://stytch.com/docs/api/user-object
 */
import { SECOND_FACTOR_LOST } from '../../hash-text.ts';
import type { Person } from '../../person.ts';
import { fieldNames, restOf } from '../../rest.ts';
import type { Fields, Source } from '../../source.ts';
import { boolAt, objectAt, objectsAt, textAt } from '../../values.ts';
import { HASH_COLUMNS, HASH_FIELD, stytchHash, stytchHashFile } from './hash-file.ts';

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
