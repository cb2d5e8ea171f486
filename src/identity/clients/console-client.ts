/**
 * The console (`src/console/`) as an OAuth client. It is built in and runs in this service, so its secret is derived
 * from ENCRYPTION_KEY in every process and is stored nowhere.
 */
import type { ClientMetadata } from 'oidc-provider';
import type { Secrets } from '../../secrets.ts';

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
