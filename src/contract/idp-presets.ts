/**
 * The types of external identity providers, and what is known of each: where it is, what is asked of it, and the names
 * under which exports of other systems know it. In a file without zod, which the command line need not load.
 *
 * Names are compared in lower case. They are those of Auth0 (`google-oauth2`), Firebase (`google.com`), Clerk
 * (`oauth_google`), Cognito (`SignInWithApple`), WorkOS (`GoogleOAuth`), the strategies of OmniAuth (`google_oauth2`),
 * Passport, python-social-auth (`azuread-oauth2`), Auth.js, Supabase, Keycloak, Logto, Casdoor, ASP.NET and B2C, which
 * src/sources/systems/ passes on as they are.
 */

export const IDP_TYPES = [
  'google',
  'microsoft',
  'apple',
  'github',
  'gitlab',
  'facebook',
  'linkedin',
  'auth0',
  'keycloak',
  'zitadel',
  'oidc',
  'oauth',
] as const;
export type IdpType = (typeof IDP_TYPES)[number];

/** Where a provider without discovery is asked. */
export interface IdpEndpoints {
  authorization: string;
  token: string;
  userInfo: string;
  /** Answers a list of `{email, primary, verified}`, as GitHub does; absent: the address is a field of `userInfo`. */
  emails?: string | undefined;
}

/** What we read of a person; `subject` of the settings names the field of their id. */
export const IDP_FIELDS = [
  'email',
  'emailVerified',
  'name',
  'givenName',
  'familyName',
  'userName',
  'locale',
  'picture',
] as const;
/** The fields of the answer of `userInfo`, by what we read from them. A path has dots: `picture.data.url`. */
export type IdpFields = { [field in (typeof IDP_FIELDS)[number]]?: string | undefined };

export interface Preset {
  /** What people call it. */
  name: string;
  /** Where its discovery document is; absent: it must be given, or the provider has none. */
  issuer?: string;
  /** Of a provider without discovery. */
  endpoints?: IdpEndpoints;
  scopes: readonly string[];
  aliases: readonly string[];
  /** The claim or field with the id of a person that the provider never gives to somebody else. */
  subject: string;
  fields?: IdpFields;
  /** How the provider answers, if it is not by a redirect. */
  responseMode?: 'form_post';
  /** How the client's secret is sent; absent: as the provider says. */
  clientAuth?: 'post' | 'basic';
}

const OPENID = ['openid', 'profile', 'email'] as const;

export const PRESETS: Readonly<Record<IdpType, Preset>> = {
  google: {
    name: 'Google',
    issuer: 'https://accounts.google.com',
    scopes: OPENID,
    subject: 'sub',
    aliases: [
      ...['google', 'google-oauth2', 'google_oauth2', 'google.com', 'oauth_google', 'GoogleOAuth', 'google-oidc'],
      ...['google-workspaces', 'google-workspace', 'accounts.google.com', 'https://accounts.google.com'],
    ],
  },
  microsoft: {
    name: 'Microsoft',
    issuer: 'https://login.microsoftonline.com/common/v2.0',
    scopes: OPENID,
    subject: 'oid',
    aliases: [
      ...['microsoft', 'microsoft.com', 'oauth_microsoft', 'MicrosoftOAuth', 'microsoftaccount', 'microsoft-account'],
      ...['windowslive', 'waad', 'live', 'live.com', 'https://login.live.com', 'microsoftonline', 'microsoft_graph'],
      ...['microsoft_office365', 'azure', 'azuread', 'azure-ad', 'azuread-oauth2', 'azuread-tenant-oauth2'],
      ...['azure_activedirectory_v2', 'azure_oauth2', 'microsoft-entra-id', 'entra_id', 'active-directory'],
    ],
  },
  apple: {
    name: 'Apple',
    issuer: 'https://appleid.apple.com',
    scopes: ['openid', 'name', 'email'],
    subject: 'sub',
    responseMode: 'form_post',
    clientAuth: 'post',
    aliases: [
      ...['apple', 'apple.com', 'apple-id', 'appleid', 'oauth_apple', 'AppleOAuth', 'SignInWithApple'],
      ...['appleid.apple.com', 'https://appleid.apple.com'],
    ],
  },
  github: {
    name: 'GitHub',
    endpoints: {
      authorization: 'https://github.com/login/oauth/authorize',
      token: 'https://github.com/login/oauth/access_token',
      userInfo: 'https://api.github.com/user',
      emails: 'https://api.github.com/user/emails',
    },
    scopes: ['read:user', 'user:email'],
    subject: 'id',
    fields: { email: 'email', name: 'name', userName: 'login', picture: 'avatar_url' },
    clientAuth: 'post',
    aliases: ['github', 'github.com', 'oauth_github', 'GitHubOAuth', 'github-oauth2'],
  },
  gitlab: {
    name: 'GitLab',
    issuer: 'https://gitlab.com',
    scopes: OPENID,
    subject: 'sub',
    aliases: ['gitlab', 'gitlab.com', 'oauth_gitlab', 'GitLabOAuth', 'https://gitlab.com'],
  },
  facebook: {
    name: 'Facebook',
    endpoints: {
      authorization: 'https://www.facebook.com/v26.0/dialog/oauth',
      token: 'https://graph.facebook.com/v26.0/oauth/access_token',
      userInfo: 'https://graph.facebook.com/v26.0/me?fields=id,name,first_name,last_name,email,picture',
    },
    scopes: ['public_profile', 'email'],
    subject: 'id',
    fields: {
      email: 'email',
      name: 'name',
      givenName: 'first_name',
      familyName: 'last_name',
      picture: 'picture.data.url',
    },
    clientAuth: 'post',
    aliases: ['facebook', 'facebook.com', 'oauth_facebook', 'facebook-oauth2'],
  },
  linkedin: {
    name: 'LinkedIn',
    issuer: 'https://www.linkedin.com/oauth',
    scopes: OPENID,
    subject: 'sub',
    clientAuth: 'post',
    aliases: [
      ...['linkedin', 'linkedin.com', 'oauth_linkedin', 'oauth_linkedin_oidc', 'LinkedInOAuth', 'linkedin_oidc'],
      ...['linkedin-oauth2', 'linkedin_oauth2', 'linkedin-openid-connect', 'oidc.linkedin'],
    ],
  },
  auth0: { name: 'Auth0', scopes: OPENID, subject: 'sub', aliases: ['auth0'] },
  keycloak: { name: 'Keycloak', scopes: OPENID, subject: 'sub', aliases: ['keycloak', 'keycloak-oidc'] },
  zitadel: { name: 'ZITADEL', scopes: OPENID, subject: 'sub', aliases: ['zitadel'] },
  oidc: { name: 'OpenID Connect', scopes: OPENID, subject: 'sub', aliases: [] },
  oauth: {
    name: 'OAuth 2.0',
    scopes: [],
    subject: 'id',
    fields: { email: 'email', emailVerified: 'email_verified', name: 'name' },
    aliases: [],
  },
};

/** Types whose providers have no discovery, and so no ID token: a person is who `userInfo` says. */
export const OAUTH_TYPES: ReadonlySet<IdpType> = new Set(['github', 'facebook', 'oauth']);

const BY_ALIAS: ReadonlyMap<string, IdpType> = new Map(
  IDP_TYPES.flatMap((type) => PRESETS[type].aliases.map((alias) => [aliasKey(alias), type] as const)),
);

/** The types by the aliases of their presets, in small letters. */
export const PRESET_OF_ALIAS: Readonly<Record<string, IdpType>> = Object.fromEntries(BY_ALIAS);

/** The type whose preset knows this name of a provider in an export. */
export function presetOfAlias(name: string): IdpType | undefined {
  return BY_ALIAS.get(aliasKey(name));
}

/** The form in which aliases are compared: small letters of ASCII, as SQL's `lower(… collate "C")`. */
export function aliasKey(alias: string): string {
  return alias.replace(/[A-Z]+/g, (capitals) => capitals.toLowerCase());
}
