/**
 * The command line as an OAuth client: built in, so that `muster login` works against every instance as it is.
 *
 * A native application (RFC 8252): it can keep no secret, and waits for the code on a loopback port of its own choice
 * (section 7.3: the port is free). On a machine without a browser it asks for a device code instead (RFC 8628).
 */
import type { ClientMetadata } from 'oidc-provider';
import { API_SCOPE } from './scopes.ts';

/** RFC 8628 section 3.4. */
export const DEVICE_CODE = 'urn:ietf:params:oauth:grant-type:device_code';

/** To which the command line adds its port. */
export const CLI_REDIRECT_URI = 'http://127.0.0.1/callback';

/** What `muster login` asks for. */
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
