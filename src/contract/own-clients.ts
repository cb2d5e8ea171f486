import type { ClientMetadata } from 'oidc-provider';
import type { Config } from '../platform/config.ts';
import type { Secrets } from '../platform/encryption.ts';
/** The API accepts only access tokens with this scope. In a file of its own, as the command line needs nothing else. */
export const API_SCOPE = 'urn:service:iam:org:project:id:service:aud';

/**
 * The command line as an OAuth client. It is built in, so `muster login` works without setup, unless CLI_LOGIN
 * turns it off.
 *
 * It is a native application (RFC 8252): it cannot keep a secret, and receives the code on any loopback port (section
 * 7.3). On a machine without a browser it requests a device code instead (RFC 8628).
 */

/** RFC 8628 section 3.4. */
export const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

/** The command line adds its port to it. */
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

/**
 * The console (`src/console/`) as an OAuth client. It is built in and runs in this service, so its secret is derived
 * from ENCRYPTION_KEY in every process and is stored nowhere.
 */

export const CONSOLE_CLIENT = 'muster-console';

/** How long a person stays signed in to the console, in seconds; also the lifetime of its access token. */
export const CONSOLE_SESSION_S = 8 * 60 * 60;

/** Addresses of the console that the authorization server leads back to, below the public address. */
export const CONSOLE_PATHS = { callback: '/console/callback', signedOut: '/console/signed-out' };

/** @param baseUrl the public address */
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

export function consoleSecret(secrets: Pick<Secrets, 'key'>): string {
  return secrets.key('console-client').toString('base64url');
}
