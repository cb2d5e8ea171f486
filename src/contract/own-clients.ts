/**
 * The OAuth clients that are built in: the command line, the console and the pages of one's own account. In a file without zod, which the command line
 * need not load.
 *
 * The command line needs no setup for `muster login`, unless CLI_LOGIN turns it off. It is a native application (RFC
 * 8252): it cannot keep a secret, and receives the code on any loopback port (section 7.3). On a machine without a
 * browser it requests a device code instead (RFC 8628). The console runs in this service, so its secret is derived from
 * ENCRYPTION_KEY in every process and is stored nowhere.
 */
import type { ClientMetadata } from 'oidc-provider';
import type { Config } from '../platform/config.ts';
import type { Secrets } from '../platform/encryption.ts';

/** The scope that an access token needs for the API. */
export const API_SCOPE = 'urn:service:iam:org:project:id:service:aud';

/** The grant type of RFC 8628 section 3.4. */
export const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

/** The redirect URI of the command line, which adds its port. */
export const CLI_REDIRECT_URI = 'http://127.0.0.1/callback';

/** The scopes that `muster login` requests. */
export const CLI_SCOPE = `openid profile offline_access ${API_SCOPE}`;

export const CLI_CLIENT = {
  client_id: 'muster-cli',
  client_name: 'Muster command line',
  application_type: 'native',
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token', DEVICE_CODE],
  response_types: ['code'],
  redirect_uris: [CLI_REDIRECT_URI],
} as const satisfies ClientMetadata;

/** Tells the command line, in the metadata of the server, what CLI_LOGIN allows; absent if it allows everything. */
export const CLI_LOGIN_METADATA = 'muster_cli_login';

/** The client with the grant types that CLI_LOGIN allows; none if it is `off`. */
export function cliClients(allowed: Config['CLI_LOGIN']): ClientMetadata[] {
  if (allowed === 'off') return [];
  const grantTypes = CLI_CLIENT.grant_types.filter((type) => allowed === 'all' || type !== DEVICE_CODE);
  return [
    {
      ...CLI_CLIENT,
      grant_types: grantTypes,
      response_types: [...CLI_CLIENT.response_types],
      redirect_uris: [...CLI_CLIENT.redirect_uris],
    },
  ];
}

/** The client id of the console (`src/console/`). */
export const CONSOLE_CLIENT = 'muster-console';

/** How long a person stays signed in to the console, in seconds; also the lifetime of its access token. */
export const CONSOLE_SESSION_S = 8 * 60 * 60;

/** The paths of the authorization server, below the public address. */
export const OAUTH_PATHS = {
  authorization: '/oauth/v2/authorize',
  token: '/oauth/v2/token',
  introspection: '/oauth/v2/introspect',
  revocation: '/oauth/v2/revoke',
  jwks: '/oauth/v2/keys',
  userinfo: '/oidc/v1/userinfo',
  end_session: '/oidc/v1/end_session',
  device_authorization: '/oauth/v2/device_authorization',
  code_verification: '/ui/device',
};

/** Addresses of the console that the authorization server leads back to, below the public address. */
export const CONSOLE_PATHS = { callback: '/console/callback', signedOut: '/console/signed-out' };

/** The console as a client. @param baseUrl the public address */
export function consoleClient(baseUrl: string): ClientMetadata {
  return {
    client_id: CONSOLE_CLIENT,
    client_name: 'Muster console',
    application_type: 'web',
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['authorization_code'],
    response_types: ['code'],
    redirect_uris: [baseUrl + CONSOLE_PATHS.callback],
    post_logout_redirect_uris: [baseUrl + CONSOLE_PATHS.signedOut],
  };
}

/** The client secret of the console. */
export function consoleSecret(secrets: Pick<Secrets, 'key'>): string {
  return secrets.key('console-client').toString('base64url');
}

/** The client id of the pages on which people manage how they sign in (`src/signin/account/`). */
export const ACCOUNT_CLIENT = 'muster-account';

/** Addresses of these pages, below the public address. */
export const ACCOUNT_PATHS = { page: '/account', signedIn: '/account/signed-in' };

/** These pages as a client: its codes are never redeemed, as it needs no token. @param baseUrl the public address */
export function accountClient(baseUrl: string): ClientMetadata {
  return {
    client_id: ACCOUNT_CLIENT,
    client_name: 'Muster account',
    application_type: 'web',
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['authorization_code'],
    response_types: ['code'],
    redirect_uris: [baseUrl + ACCOUNT_PATHS.signedIn],
  };
}

/** What people know the built-in clients as, by client id. */
export const BUILT_IN_NAMES: Readonly<Record<string, string>> = {
  [CONSOLE_CLIENT]: 'Muster console',
  [CLI_CLIENT.client_id]: 'Muster command line',
  [ACCOUNT_CLIENT]: 'Your account',
};
