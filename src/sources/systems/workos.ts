/**
 * WorkOS AuthKit: users as its API answers `GET /user_management/users`. WorkOS returns no password hashes.
 * https://workos.com/docs/reference/authkit/user
 * Joined to a user: `identities` (…/users/{id}/identities), `auth_factors` (…/users/{id}/auth_factors) and
 * `organization_memberships` (…/organization_memberships?user_id=).
 * https://workos.com/docs/reference/authkit/identity, …/mfa, …/organization-membership
 */
import { hasField, oldSignInOf } from '../old-sign-in.ts';
import { SECOND_FACTOR_LOST } from '../second-factor.ts';
import type { Missing } from '../source.ts';
import { objectAt, objectsAt, present, textAt } from '../values.ts';
import { JSON_ONLY, tableSource } from './table.ts';

const ASK = 'Add the answer of GET /user_management';

const MISSING: readonly Missing[] = [
  {
    id: 'WORKOS-IDENTITIES',
    what: 'links',
    message: 'The list of users does not contain their accounts at providers.',
    remedy: `${ASK}/users/{id}/identities to each user as identities (docs/sources/workos.md).`,
    isIn: hasField('identities'),
  },
  {
    id: 'WORKOS-FACTORS',
    what: 'secondFactor',
    message: 'The list of users does not say who has a second factor; no call returns passkeys.',
    remedy: `${ASK}/users/{id}/auth_factors to each user as auth_factors (docs/sources/workos.md).`,
    isIn: hasField('auth_factors'),
  },
  {
    id: 'WORKOS-ORGANIZATIONS',
    what: 'roles',
    message: 'The list of users does not contain their organizations and roles.',
    remedy: `${ASK}/organization_memberships?user_id={id} to each user as organization_memberships (docs/sources/workos.md).`,
    isIn: hasField('organization_memberships'),
  },
];

export const workos = tableSource({
  name: 'workos',
  title: 'WorkOS',
  missing: MISSING,
  formats: JSON_ONLY,
  jsonPaths: [['data', '*']],
  recognizes: (record) =>
    record.object === 'user' &&
    (textAt(record, 'id') ?? '').startsWith('user_') &&
    Object.hasOwn(record, 'email_verified'),
  columns: {
    userId: 'id',
    email: 'email',
    emailVerified: 'email_verified',
    firstName: 'first_name',
    lastName: 'last_name',
    language: 'locale',
  },
  parts: [(row) => ({ notes: objectsAt(row, 'auth_factors').length > 0 ? [SECOND_FACTOR_LOST] : [] })],
  links: { list: 'identities', provider: ['provider'], id: ['idp_id'] },
  signIn: (_row, { links }) => oldSignInOf({ links }),
  spread: ['metadata'],
  metadata: (row, rest) =>
    present({ ...objectAt(row, 'metadata'), ...rest, picture: textAt(row, 'profile_picture_url') }),
  dropped: 'object profile_picture_url last_sign_in_at created_at updated_at auth_factors',
});
