/**
 * Appwrite: users as its API answers `GET /v1/users`, with their hashes.
 * https://appwrite.io/docs/references/cloud/server-rest/users; https://appwrite.io/docs/products/auth/migrations
 */

import { SECOND_FACTOR_LOST } from '../../hash-text.ts';
import type { Person } from '../../person.ts';
import { fieldNames, restOf } from '../../rest.ts';
import type { Fields, Source } from '../../source.ts';
import { boolAt, jsonAt, textAt } from '../../values.ts';
import { hashOf } from './hash.ts';

const KNOWN =
  fieldNames(`$id $sequence $createdAt $updatedAt $permissions $databaseId $collectionId name password hash hashOptions
  registration status passwordUpdate email phone emailVerification phoneVerification mfa prefs targets accessedAt
  impersonator emailCanonical emailIsFree emailIsDisposable emailIsCorporate emailIsCanonical`);

export const appwrite: Source = {
  name: 'appwrite',
  title: 'Appwrite',
  formats: ['json', 'ndjson'],
  recognizes: (record) =>
    Object.hasOwn(record, '$id') && Object.hasOwn(record, 'emailVerification') && Object.hasOwn(record, 'registration')
      ? 1
      : 0,
  converter: () => convert,
};

function convert(record: Fields): Person {
  const { hash, notes = [] } = hashOf(record);
  return {
    userId: textAt(record, '$id'),
    email: textAt(record, 'email'),
    emailVerified: boolAt(record, 'emailVerification'),
    displayName: textAt(record, 'name'),
    phone: textAt(record, 'phone'),
    phoneVerified: boolAt(record, 'phoneVerification'),
    state: boolAt(record, 'status') === false ? 'inactive' : undefined,
    hash,
    metadata: { ...jsonAt(record, 'prefs'), ...restOf(record, KNOWN) },
    notes: [...notes, ...(boolAt(record, 'mfa') === true ? [SECOND_FACTOR_LOST] : [])],
  };
}
