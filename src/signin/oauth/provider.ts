/**
 * The authorization server: configures and sets up the protocol library, and again when the signing keys change.
 *
 * Guarantee: every URL in a response is based on the issuer, whatever host the request names. A process sees another
 * process's new key within CHECK_MS of its next request, long before that key signs. An internal error inside the
 * library is logged with the request's id and its details are hidden from the caller; if the database does not answer,
 * the caller is told to try again. Callers' errors are logged at level debug, without their input.
 */
import type { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Response } from 'express';
import type { JWK } from 'jose';
import Provider, {
  type AccessToken,
  type Client,
  type Configuration,
  errors,
  type KoaContextWithOIDC,
  type TokenEndpointGrantContext,
} from 'oidc-provider';
import type { Logger } from 'pino';
import { CLAIMS_BY_SCOPE, CLIENT_SCOPES, MACHINE_SCOPES, SCOPES } from '../../contract/clients.ts';
import { CLI_LOGIN_METADATA, OAUTH_PATHS } from '../../contract/own-clients.ts';
import type { Config } from '../../platform/config.ts';
import { isStoreFault } from '../../platform/db/faults.ts';
import type { Db, Pool } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { cookieName } from '../../platform/http/cookies.ts';
import { levelOf } from '../../platform/http/errors.ts';
import { requestIdOf } from '../../platform/http/requests.ts';
import { loggable } from '../../platform/logger.ts';
import { LANGUAGES } from '../../platform/messages/catalogue.ts';
import {
  DOMAIN,
  FAULT,
  findAccount,
  HINTS,
  LOGOUT,
  ORGANIZATION,
  renderError,
  signInTime,
  UNAVAILABLE,
} from './account.ts';
import { openAdapter } from './adapter.ts';
import { CLIENT_CLAIMS, clientClaims } from './claims.ts';
import {
  ACCESS_TOKEN_FORMAT,
  ACCESS_TOKEN_TYPE,
  JWT_BEARER,
  openClientAdapter,
  PKCE_REQUIRED,
  staticClients,
} from './client-adapter.ts';
import { DEVICE_FLOW, grantWhatIsAsked, loginOnly } from './interactions.ts';
import { currentKeys, type KeySet, type SigningKeyDeps } from './keys.ts';
import { checkAssertion, issueMachineToken } from './machine-tokens.ts';
import {
  adaptParams,
  addClientClaims,
  compareStoredSecrets,
  deriveSuccessors,
  signAccessTokens,
  storeBeforeRemoving,
  useIssuerAddress,
} from './patches.ts';
import { auditTokens, isBrowserClient, mayIntrospect, mayRevoke } from './policies.ts';
import { rememberSignOuts } from './sign-out.ts';
import { ACCESS_TOKEN, LIFETIMES, rotateRefreshToken } from './tokens.ts';

export interface ConfigurationDeps {
  pool: Pool;
  secrets: Secrets;
  config: Pick<Config, 'baseUrl' | 'CLI_LOGIN' | 'RATE_LIMIT_UNKNOWN_KB'>;
}

/** How long the signing keys are cached before a request reads them again. */
const CHECK_MS = 10_000;

export interface ProviderDeps extends ConfigurationDeps {
  config: ConfigurationDeps['config'] & SigningKeyDeps['config'];
  logger: Logger;
}

export interface LiveProvider {
  /** The library with the current keys; call it again for each request. */
  current(): Provider;
  /** Answers a request to one of its addresses; first reads the signing keys if the cached ones are too old. */
  handle(req: IncomingMessage, res: ServerResponse): Promise<void>;
}

/**
 * Creates the first signing key if there is none.
 * @throws StartError when the keys in the database cannot be decrypted
 */
export async function openProvider(deps: ProviderDeps, checkMs: number = CHECK_MS): Promise<LiveProvider> {
  let now = setUp(deps, await currentKeys(deps));
  let nextCheckAt = performance.now() + checkMs;

  async function refresh(): Promise<void> {
    const keys = await currentKeys(deps);
    if (keys.version !== now.version) now = setUp(deps, keys);
  }

  return {
    current: () => now.provider,
    async handle(req, res) {
      if (performance.now() >= nextCheckAt) {
        // Set before the read, so that one request reads and the others use the cached keys.
        nextCheckAt = performance.now() + checkMs;
        await refresh().catch((err) => deps.logger.warn({ err }, 'signing keys could not be read'));
      }
      await now.answer(req, res);
    },
  };
}

function setUp(deps: ProviderDeps, { keys, version }: KeySet) {
  const [signingKey] = keys;
  if (!signingKey) throw new Error('There is no signing key.');
  const provider = new Provider(deps.config.baseUrl, configuration(deps, keys));
  useIssuerAddress(provider);
  storeBeforeRemoving(provider);
  compareStoredSecrets(provider);
  adaptParams(provider);
  deriveSuccessors(provider, deps.secrets);
  addClientClaims(provider);
  signAccessTokens(provider, { db: deps.pool, signingKey });
  addGrants(provider, { db: deps.pool, signingKey });
  answerFaults(provider, deps.logger);
  auditTokens(provider, deps.pool);
  rememberSignOuts(provider, deps);
  return { provider, version, answer: provider.callback() };
}

const COOKIE = { httpOnly: true, sameSite: 'lax' } as const;

/** The cookies of a login have the path of that login, so they cannot have the prefix `__Host-`. */
function cookieNames(baseUrl: string): { session: string; interaction: string; resume: string } {
  const secure = new URL(baseUrl).protocol === 'https:' ? '__Secure-' : '';
  return {
    session: cookieName(baseUrl, 'session'),
    interaction: `${secure}muster_interaction`,
    resume: `${secure}muster_resume`,
  };
}

const CLIENT_AUTH_METHODS = ['client_secret_basic', 'client_secret_post', 'none'] as const;

/**
 * The configuration of the library: features, clients, lifetimes, and the hooks into the rest of the service.
 * @param keys private JWKs; the first one signs
 */
export function configuration({ pool, secrets, config }: ConfigurationDeps, keys: JWK[]): Configuration {
  return {
    adapter: (kind: string) => (kind === 'Client' ? openClientAdapter(pool) : openAdapter({ pool, config }, kind)),
    clients: staticClients(config, secrets),
    jwks: { keys: keys as NonNullable<Configuration['jwks']>['keys'] },
    cookies: {
      keys: secrets.keys('oauth-cookies').map((key) => key.toString('base64')),
      names: cookieNames(config.baseUrl),
      long: { ...COOKIE, path: new URL(config.baseUrl).pathname },
      short: COOKIE,
    },
    routes: OAUTH_PATHS,
    ttl: LIFETIMES,
    features: { ...featuresOf(pool), deviceFlow: { ...DEVICE_FLOW, enabled: config.CLI_LOGIN === 'all' } },
    responseTypes: ['code'],
    scopes: SCOPES,
    extraParams: [ORGANIZATION, DOMAIN, ...HINTS],
    claims: { ...CLAIMS_BY_SCOPE, iss: null },
    // Many applications read the name and the email address from the ID token and never call userinfo.
    conformIdTokenClaims: false,
    pkce: { required: (_ctx, client) => client[PKCE_REQUIRED] !== false || client.clientAuthMethod === 'none' },
    clientAuthMethods: [...CLIENT_AUTH_METHODS],
    extraClientMetadata: { properties: [ACCESS_TOKEN_TYPE, PKCE_REQUIRED, CLIENT_CLAIMS, ACCESS_TOKEN_FORMAT] },
    enabledJWA: { idTokenSigningAlgValues: ['RS256'] },
    discovery: {
      ...(config.CLI_LOGIN === 'all' ? {} : { [CLI_LOGIN_METADATA]: config.CLI_LOGIN }),
      introspection_endpoint_auth_methods_supported: [...CLIENT_AUTH_METHODS],
      revocation_endpoint_auth_methods_supported: [...CLIENT_AUTH_METHODS],
      ui_locales_supported: [...LANGUAGES],
    },
    findAccount: (ctx, userId) => findAccount(pool, ctx, userId),
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

/** Whether the client may introspect the token; if so, the token gets the claims that its own client reads now. */
async function introspected(db: Db, ctx: KoaContextWithOIDC, client: Client, token: Introspected): Promise<boolean> {
  if (!mayIntrospect(client, token)) return false;
  const of = token.kind === 'AccessToken' ? await ctx.oidc.provider.Client.find(token.clientId as string) : undefined;
  if (!of || !('accountId' in token)) return true;
  const claims = await clientClaims(db, token.accountId, { client: of, place: 'introspection' });
  Object.assign(token, { extra: { ...(token as AccessToken).extra, ...claims } });
  return true;
}

type Introspected = Parameters<typeof mayIntrospect>[1];

/** All other features keep the library's defaults, which are off for everything outside the contract. */
function featuresOf(db: Db): Configuration['features'] {
  return {
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    resourceIndicators: { enabled: false },
    clientCredentials: { enabled: true },
    rpInitiatedLogout: LOGOUT,
    introspection: { enabled: true, allowedPolicy: (ctx, client, token) => introspected(db, ctx, client, token) },
    revocation: { enabled: true, allowedPolicy: (_ctx, client, token) => mayRevoke(client, token) },
  };
}

/**
 * Adds the grant types of machine users and of clients that act for themselves; the grants of people are the library's
 * own.
 */
export function addGrants(provider: Provider, deps: { db: Db; signingKey: JWK }): void {
  provider.registerGrantType(
    JWT_BEARER,
    (ctx: TokenEndpointGrantContext<{ assertion?: string }>) => jwtBearer(ctx, deps),
    ['assertion', 'scope'],
  );
  provider.registerGrantType('client_credentials', (ctx) => clientCredentials(ctx, deps), ['scope']);
}

type GrantDeps = Parameters<typeof addGrants>[1];

/** The grant of RFC 7523 section 2.1: a machine user signs an assertion. */
async function jwtBearer(ctx: TokenEndpointGrantContext<{ assertion?: string }>, deps: GrantDeps): Promise<void> {
  const { provider, params, issuer } = ctx.oidc;
  if (!params.assertion) throw new errors.InvalidRequest("missing required parameter 'assertion'");
  const scope = scopeOf(ctx, MACHINE_SCOPES);
  const user = await checkAssertion(deps.db, params.assertion, [issuer, provider.urlFor('token')]);
  const machine = { userId: user.id, accessTokenType: user.accessTokenType };
  await issueMachineToken(ctx, machine, { ...deps, scope, grantType: JWT_BEARER });
}

/** The grant of RFC 6749 section 4.4: a machine user gets its own token, a registered client one without a user. */
async function clientCredentials(ctx: TokenEndpointGrantContext, deps: GrantDeps): Promise<void> {
  const { provider, client } = ctx.oidc;
  const accessTokenType = client[ACCESS_TOKEN_TYPE];
  if (typeof accessTokenType === 'number') {
    const scope = scopeOf(ctx, MACHINE_SCOPES);
    const machine = { userId: client.clientId, accessTokenType };
    return issueMachineToken(ctx, machine, { ...deps, scope, grantType: 'client_credentials' });
  }
  const own = client.scope?.split(' ');
  const allowed = own ? new Set(own.filter((scope) => CLIENT_SCOPES.has(scope))) : CLIENT_SCOPES;
  const scope = [...scopeOf(ctx, allowed)].join(' ') || undefined;
  const token = new provider.ClientCredentials({ client, scope });
  ctx.oidc.entity('ClientCredentials', token);
  const value = await token.save();
  ctx.body = { access_token: value, expires_in: ACCESS_TOKEN, token_type: token.tokenType, scope };
}

/**
 * The requested scopes; none is allowed, but such a token is of little use.
 * @throws OIDCProviderError `invalid_scope`, naming the scopes that are not allowed
 */
function scopeOf(ctx: TokenEndpointGrantContext, allowed: ReadonlySet<string>): Set<string> {
  const asked = ctx.oidc.requestParamScopes;
  const refused = [...asked].filter((scope) => !allowed.has(scope)).join(' ');
  if (refused) throw new errors.InvalidScope('requested scope is unknown or not allowed with this grant type', refused);
  return asked;
}

const CALLERS_ERRORS = [
  'authorization.error',
  'grant.error',
  'introspection.error',
  'revocation.error',
  'userinfo.error',
  'end_session.error',
  'end_session_confirm.error',
  'device_authorization.error',
  'code_verification.error',
  'device_resume.error',
] as const;

/** Handles errors inside the library. */
export function answerFaults(provider: Provider, logger: Logger): void {
  provider.use(async (ctx, next) => {
    try {
      await next();
    } catch (error) {
      // Errors outside the library's own handling, such as those of storing the session at the end.
      if (error instanceof errors.OIDCProviderError) refuse(ctx, error);
      else fail(ctx, error, logger);
    }
    if (ctx.state.isUnavailable) retryLater(ctx);
  });
  provider.on('server_error', (ctx, error) => tell(ctx, error, logger));
  const events: EventEmitter = provider;
  // The connection broke while a response was being written.
  events.on('error', (err: unknown) => logger.info({ err: loggable(err) }, 'response interrupted'));
  for (const event of CALLERS_ERRORS) {
    events.on(event, (ctx: KoaContextWithOIDC, { error, error_detail: detail }: CallersError) => {
      (ctx.res as Response).locals.errorId = error;
      logger.debug({ requestId: idOf(ctx), error, detail }, event);
    });
  }
}

function refuse(ctx: Context, { error, error_description, statusCode }: errors.OIDCProviderError): void {
  const out = { error, ...(error_description === undefined ? {} : { error_description }) };
  ctx.status = statusCode;
  ctx.body = out;
  (ctx.res as Response).locals.errorId = error;
}

function fail(ctx: Context, error: unknown, logger: Logger): void {
  tell(ctx, error, logger);
  ctx.body = FAULT;
  ctx.status = 500;
}

interface CallersError {
  error?: string;
  error_detail?: string;
}

type Context = Pick<KoaContextWithOIDC, 'method' | 'path' | 'res' | 'state' | 'status' | 'body' | 'set'>;

function tell(ctx: Context, error: unknown, logger: Logger): void {
  ctx.state.isUnavailable = isStoreFault(error);
  const line = { requestId: idOf(ctx), method: ctx.method, path: ctx.path, err: loggable(error) };
  logger[levelOf(ctx.state.isUnavailable ? 503 : 500)](line, 'request failed');
}

function retryLater(ctx: Context): void {
  ctx.status = 503;
  ctx.set('Retry-After', '1');
  if (typeof ctx.body !== 'string') ctx.body = UNAVAILABLE;
}

function idOf(ctx: Pick<Context, 'res'>): string {
  return requestIdOf(ctx.res as Response);
}
