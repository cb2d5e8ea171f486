import type { Person } from '../entry.ts';
import { SECOND_FACTOR_LOST } from '../hashes.ts';
import type { Fields, Source } from '../source.ts';
import { boolAt, fieldNames, restOf, textAt } from '../values.ts';

/**
 * Descope: users as its API answers `POST /v2/mgmt/user/search`. Descope returns no password hashes.
 * https://docs.descope.com/api/management/users/search-users
 */

const KNOWN = fieldNames(`loginIds userId name givenName middleName familyName email phone verifiedEmail verifiedPhone
  status picture test createdTime modifiedTime TOTP SAML SCIM OAuth webauthn password push editable externalIds
  consentExpiration recoveryEmail recoveryPhone lastAuth`);

export const descope: Source = {
  name: 'descope',
  title: 'Descope',
  formats: ['json', 'ndjson'],
  recognizes: (record) =>
    Array.isArray(record.loginIds) && (Object.hasOwn(record, 'verifiedEmail') || Object.hasOwn(record, 'userTenants'))
      ? 1
      : 0,
  converter: () => convert,
};

function convert(record: Fields): Person {
  return {
    userId: textAt(record, 'userId'),
    userName: userNameOf(record),
    email: textAt(record, 'email'),
    emailVerified: boolAt(record, 'verifiedEmail'),
    firstName: textAt(record, 'givenName'),
    lastName: textAt(record, 'familyName'),
    displayName: textAt(record, 'name'),
    phone: textAt(record, 'phone'),
    phoneVerified: boolAt(record, 'verifiedPhone'),
    state: textAt(record, 'status') === 'disabled' ? 'inactive' : undefined,
    metadata: restOf(record, KNOWN),
    notes: boolAt(record, 'TOTP') === true ? [SECOND_FACTOR_LOST] : [],
  };
}

/** What the user types to sign in: the address, or the first login id that is neither address nor number. */
function userNameOf(record: Fields): string | undefined {
  const ids = Array.isArray(record.loginIds) ? record.loginIds.filter((id) => typeof id === 'string') : [];
  if (ids.includes(textAt(record, 'email') ?? '')) return undefined;
  return ids.find((id) => id !== textAt(record, 'phone'));
}
