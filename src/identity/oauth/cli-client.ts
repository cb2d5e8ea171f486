/**
 * The command line as an OAuth client. It is built in, so `muster login` works without setup, unless CLI_LOGIN
 * turns it off.
 *
 * It is a native application (RFC 8252): it cannot keep a secret, and receives the code on any loopback port (section
 * 7.3). On a machine without a browser it requests a device code instead (RFC 8628).
 */
import type { ClientMetadata } from 'oidc-provider';
import type { Config } from '../../config.ts';
import { API_SCOPE } from '../api-scope.ts';

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
