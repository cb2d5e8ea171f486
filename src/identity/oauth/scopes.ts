/** The scopes that a client may request (RFC 6749 section 3.3, OpenID Connect Core 1.0 section 5.4). */

import { errors } from 'oidc-provider';
import { API_SCOPE } from '../api-scope.ts';

/** The name of the same scope in ZITADEL, which existing applications request. */
const API_SCOPE_ALIAS = 'urn:zitadel:iam:org:project:id:zitadel:aud';

/** The value of a `scope` parameter with `API_SCOPE` instead of its alias. */
export function withoutAlias(scope: string): string {
  return scope
    .split(' ')
    .map((one) => (one === API_SCOPE_ALIAS ? API_SCOPE : one))
    .join(' ');
}

/** Claims by the scope that includes them; `acr`, `iss` and so on are the library's own. */
export const CLAIMS_BY_SCOPE = {
  openid: ['sub', 'auth_time', 'amr'],
  profile: [
    'name',
    'given_name',
    'family_name',
    'nickname',
    'preferred_username',
    'locale',
    'gender',
    'updated_at',
    'urn:service:iam:user:resourceowner:id',
  ],
  email: ['email', 'email_verified'],
  phone: ['phone_number', 'phone_number_verified'],
};

export const SCOPES = [...Object.keys(CLAIMS_BY_SCOPE), 'offline_access', API_SCOPE];

/** The scopes of a machine user: it has its own credential, so it needs no refresh tokens. */
export const MACHINE_SCOPES: ReadonlySet<string> = new Set(SCOPES.filter((scope) => scope !== 'offline_access'));
/** The scopes of a registered client that acts for itself: it is not a user, so it has no rights on the API. */
export const CLIENT_SCOPES: ReadonlySet<string> = new Set(Object.keys(CLAIMS_BY_SCOPE));

/**
 * Refuses a request without a scope that we know (RFC 6749 section 3.3), which the library would do after the login.
 * @param scope the parameter, without an alias
 * @throws OIDCProviderError `invalid_scope`
 */
export function requireKnownScope(scope: unknown): void {
  if (typeof scope === 'string' && scope.split(' ').some((one) => SCOPES.includes(one))) return;
  throw new errors.InvalidScope(`scope must contain at least one of ${SCOPES.join(', ')}`, '');
}
