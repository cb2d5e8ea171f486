/** What a client may ask for (RFC 6749 section 3.3, OpenID Connect Core 1.0 section 5.4). */

/** Without it an access token is not good for the API (interface.md, Authentication). */
export const API_SCOPE = 'urn:service:iam:org:project:id:service:aud';

/** Scope by the claims it opens; `acr`, `iss` and so on are the library's own. */
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

/** What a machine user may ask for: it holds a credential of its own, so it has no use for refresh tokens. */
export const MACHINE_SCOPES: ReadonlySet<string> = new Set(SCOPES.filter((scope) => scope !== 'offline_access'));
/** What a registered client may ask for that acts for itself: it is no user, so it has no rights on the API. */
export const CLIENT_SCOPES: ReadonlySet<string> = new Set(Object.keys(CLAIMS_BY_SCOPE));
