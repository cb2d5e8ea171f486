/** Configuration of the protocol library: features, clients, lifetimes, and the hooks into the rest of the service. */
import type { JWK } from 'jose';
import type { Configuration } from 'oidc-provider';
import type { Config } from '../../config.ts';
import type { Pool } from '../../db/pool.ts';
import type { Secrets } from '../../secrets.ts';
import { findAccount, signInTime } from './account.ts';
import { openAdapter } from './adapter.ts';
import { LOGOUT, renderError } from './answers.ts';
import { CLI_LOGIN_METADATA } from './cli-client.ts';
import { ACCESS_TOKEN_TYPE, openClientAdapter, PKCE_REQUIRED, staticClients } from './clients.ts';
import { DEVICE_FLOW } from './device.ts';
import { grantWhatIsAsked, loginOnly } from './interactions.ts';
import { LIFETIMES, rotateRefreshToken } from './lifetimes.ts';
import { ORGANIZATION } from './named-organization.ts';
import { isBrowserClient, mayIntrospect, mayRevoke } from './policies.ts';
import { CLAIMS_BY_SCOPE, SCOPES } from './scopes.ts';

export interface ConfigurationDeps {
  pool: Pool;
  secrets: Secrets;
  config: Pick<Config, 'baseUrl' | 'CLI_LOGIN'>;
}

/** Relative to the issuer. */
export const ROUTES = {
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

const COOKIE = { httpOnly: true, sameSite: 'lax' } as const;

/**
 * Over https with prefixes, which browsers accept only from this host over https (RFC 6265bis section 4.1.3): no sibling
 * domain can plant such a cookie. `__Host-` needs the path `/`; the cookies of a login have the path of that login.
 */
function cookieNames(baseUrl: string): { session: string; interaction: string; resume: string } {
  const { protocol, pathname } = new URL(baseUrl);
  const secure = protocol === 'https:' ? '__Secure-' : '';
  const session = secure && pathname === '/' ? '__Host-' : secure;
  return {
    session: `${session}muster_session`,
    interaction: `${secure}muster_interaction`,
    resume: `${secure}muster_resume`,
  };
}

const CLIENT_AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'none'] as const;

/** @param keys private JWKs; the first one signs */
export function configuration({ pool, secrets, config }: ConfigurationDeps, keys: JWK[]): Configuration {
  return {
    adapter: (kind: string) => (kind === 'Client' ? openClientAdapter(pool) : openAdapter(pool, kind)),
    clients: staticClients(config, secrets),
    jwks: { keys: keys as NonNullable<Configuration['jwks']>['keys'] },
    cookies: {
      keys: secrets.keys('oauth-cookies').map((key) => key.toString('base64')),
      names: cookieNames(config.baseUrl),
      long: { ...COOKIE, path: new URL(config.baseUrl).pathname },
      short: COOKIE,
    },
    routes: ROUTES,
    ttl: LIFETIMES,
    features: { ...FEATURES, deviceFlow: { ...DEVICE_FLOW, enabled: config.CLI_LOGIN === 'all' } },
    responseTypes: ['code'],
    scopes: SCOPES,
    extraParams: [ORGANIZATION],
    claims: { ...CLAIMS_BY_SCOPE, iss: null },
    // Many applications read the name and the email address from the ID token and never call userinfo.
    conformIdTokenClaims: false,
    pkce: { required: (_ctx, client) => client[PKCE_REQUIRED] !== false || client.clientAuthMethod === 'none' },
    clientAuthMethods: [...CLIENT_AUTH_METHODS],
    extraClientMetadata: { properties: [ACCESS_TOKEN_TYPE, PKCE_REQUIRED] },
    enabledJWA: { idTokenSigningAlgValues: ['RS256'] },
    discovery: {
      ...(config.CLI_LOGIN === 'all' ? {} : { [CLI_LOGIN_METADATA]: config.CLI_LOGIN }),
      introspection_endpoint_auth_methods_supported: [...CLIENT_AUTH_METHODS],
      revocation_endpoint_auth_methods_supported: [...CLIENT_AUTH_METHODS],
    },
    findAccount: (_ctx, userId) => findAccount(pool, userId),
    interactions: { policy: loginOnly(pool), url: (_ctx, { uid }) => `${config.baseUrl}/ui/login/${uid}` },
    loadExistingGrant: grantWhatIsAsked,
    // Also without `offline_access`: such a token ends with the browser session.
    issueRefreshToken: (_ctx, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken,
    extraTokenClaims: signInTime,
    clientBasedCORS: (_ctx, origin, client) => isBrowserClient(client, origin),
    renderError,
  };
}

/** All other features keep the library's defaults, which are off for everything outside the contract. */
const FEATURES: Configuration['features'] = {
  devInteractions: { enabled: false },
  dPoP: { enabled: false },
  pushedAuthorizationRequests: { enabled: false },
  resourceIndicators: { enabled: false },
  clientCredentials: { enabled: true },
  rpInitiatedLogout: LOGOUT,
  introspection: { enabled: true, allowedPolicy: (_ctx, client, token) => mayIntrospect(client, token) },
  revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => mayRevoke(client, token) },
};
