/**
 * Descope: users as its API answers `POST /v2/mgmt/user/search`. Descope returns no password hashes.
 * https://docs.descope.com/api/management/users/search-users
 */
import type { Fields } from '../source.ts';
import { textAt } from '../values.ts';
import { factorLostIf, JSON_ONLY, tableSource } from './table.ts';

export const descope = tableSource({
  name: 'descope',
  title: 'Descope',
  formats: JSON_ONLY,
  recognizes: (record) =>
    Array.isArray(record.loginIds) && (Object.hasOwn(record, 'verifiedEmail') || Object.hasOwn(record, 'userTenants')),
  // A user who was invited may sign in.
  states: { words: [{ field: 'status', active: 'enabled invited', inactive: 'disabled' }] },
  columns: {
    userId: 'userId',
    userName: userNameOf,
    email: 'email',
    emailVerified: 'verifiedEmail',
    firstName: 'givenName',
    lastName: 'familyName',
    displayName: 'name',
    phone: 'phone',
    phoneVerified: 'verifiedPhone',
  },
  parts: [factorLostIf('TOTP')],
  dropped: `loginIds middleName status picture test createdTime modifiedTime TOTP SAML SCIM OAuth webauthn password push
    editable externalIds consentExpiration recoveryEmail recoveryPhone lastAuth`,
});

/** What the user types to sign in: the address, or the first login id that is neither address nor number. */
function userNameOf(record: Fields): string | undefined {
  const ids = Array.isArray(record.loginIds) ? record.loginIds.filter((id) => typeof id === 'string') : [];
  if (ids.includes(textAt(record, 'email') ?? '')) return undefined;
  return ids.find((id) => id !== textAt(record, 'phone'));
}
