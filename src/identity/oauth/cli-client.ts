/**
 * The command line as an OAuth client. It is built in, so `muster login` works against every instance without setup.
 *
 * It is a native application (RFC 8252): it cannot keep a secret, and receives the code on any loopback port (section
 * 7.3). On a machine without a browser it requests a device code instead (RFC 8628).
 */
import type { ClientMetadata } from 'oidc-provider';
import { API_SCOPE } from './scopes.ts';

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
