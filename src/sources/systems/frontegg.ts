import type { Person } from '../entry.ts';
import { SECOND_FACTOR_LOST } from '../hashes.ts';
import type { Fields, Source } from '../source.ts';
import { boolAt, fieldNames, jsonAt, restOf, textAt } from '../values.ts';

/**
 * Frontegg: users as its API answers `GET /identity/resources/users/v3`. Frontegg returns no password hashes.
 * https://developers.frontegg.com/api/identity/users/userscontrollerv3_getusers
 */

const KNOWN =
  fieldNames(`id sub email name username profilePictureUrl verified mfaEnrolled mfaBypass phoneNumber metadata vendorMetadata
  provider createdAt lastLogin isLocked activatedForTenant roles permissions`);

export const frontegg: Source = {
  name: 'frontegg',
  title: 'Frontegg',
  formats: ['json', 'ndjson'],
  jsonPaths: [['items', '*']],
  recognizes: (record) =>
    ['mfaEnrolled', 'verified', 'email'].every((name) => Object.hasOwn(record, name)) && 'provider' in record ? 1 : 0,
  converter: () => convert,
};

function convert(record: Fields): Person {
  return {
    userId: textAt(record, 'id'),
    userName: textAt(record, 'username'),
    email: textAt(record, 'email'),
    emailVerified: boolAt(record, 'verified'),
    displayName: textAt(record, 'name'),
    phone: textAt(record, 'phoneNumber'),
    state: boolAt(record, 'isLocked') === true ? 'locked' : undefined,
    metadata: { ...jsonAt(record, 'metadata'), ...restOf(record, KNOWN) },
    notes: boolAt(record, 'mfaEnrolled') === true ? [SECOND_FACTOR_LOST] : [],
  };
}
