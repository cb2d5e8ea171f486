/**
 * Asks an external identity provider who somebody is: authorization code flow with PKCE, by OpenID Connect with discovery
 * (`openid-client`, a certified relying party) or by OAuth 2.0 with an endpoint that answers who the token is of.
 *
 * Guarantee: nobody is believed to be somebody unless the provider said so for this client, in answer to this very
 * request: `state`, `nonce`, PKCE, `iss` (RFC 9207), the signature, issuer, audience, authorized party and age of the ID
 * token are checked (OpenID Connect Core section 3.1.3.7), and its key is one that the provider published in the last ten
 * minutes. A person is named by the id that the provider never gives to somebody else, never by an address. Every request
 * keeps to the guard of src/platform/http/outgoing.ts. Errors hold no codes, tokens or data of users.
 */
import { createPrivateKey } from 'node:crypto';
import { createRemoteJWKSet, customFetch, jwtVerify, SignJWT } from 'jose';
import * as oidc from 'openid-client';
import { OAUTH_TYPES } from '../../contract/idp-presets.ts';
import type { Config } from '../../platform/config.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { guardedFetch, type Resolve } from '../../platform/http/outgoing.ts';
import { type Facts, type Identity, identityFrom } from './identity.ts';
import { asProviderError, ProviderError } from './provider-error.ts';
import { type Idp, responseModeOf, secretsOf } from './store.ts';

export type { Identity };
export { ProviderError };

export interface ProtocolDeps {
  secrets: Pick<Secrets, 'unseal'>;
  config: Pick<Config, 'IDP_ALLOW_PRIVATE'>;
  /** For tests: another resolver of host names. */
  resolve?: Resolve;
  /** For tests: the time limit of a request; default: TIMEOUT_MS. */
  timeoutMs?: number;
}

/** What one visit at the provider is bound to. */
export interface Trip {
  redirectUri: string;
  state: string;
  nonce: string;
  /** Of PKCE. */
  verifier: string;
  /** Milliseconds since 1970. */
  startedAt: number;
}

/** What is asked of the provider. */
export interface TripAsk {
  loginHint?: string;
  /** `login` or `select_account`. */
  prompt?: string;
  /** Seconds since the person signed in at the provider, at most. */
  maxAge?: number;
}

/** Time limit of one request to a provider. */
const TIMEOUT_MS = 5000;
/** The longest answer; metadata, keys and tokens are far shorter. */
const MOST_BYTES = 2 ** 20;

/** Providers that differ from the standards, each as their documentation and their users report. */
const QUIRKS: Partial<Record<Idp['type'], { withoutPkce?: true; withoutNonce?: true }>> = {
  // LinkedIn refuses `code_verifier` with a client secret, and leaves `nonce` out of the ID token.
  linkedin: { withoutPkce: true, withoutNonce: true },
};

/**
 * Where to send the browser.
 * @throws ProviderError
 */
export async function authorizationUrl(deps: ProtocolDeps, idp: Idp, trip: Trip, ask: TripAsk): Promise<URL> {
  const { config } = await clientOf(deps, idp);
  const { withoutPkce, withoutNonce } = QUIRKS[idp.type] ?? {};
  const responseMode = responseModeOf(idp);
  const isOpenId = !OAUTH_TYPES.has(idp.type);
  const challenge = withoutPkce ? undefined : await oidc.calculatePKCECodeChallenge(trip.verifier);
  const params = {
    redirect_uri: trip.redirectUri,
    ...(idp.settings.scopes.length > 0 ? { scope: idp.settings.scopes.join(' ') } : {}),
    state: trip.state,
    ...(challenge ? { code_challenge: challenge, code_challenge_method: 'S256' } : {}),
    ...(isOpenId && !withoutNonce ? { nonce: trip.nonce } : {}),
    ...(responseMode ? { response_mode: responseMode } : {}),
    ...(ask.loginHint ? { login_hint: ask.loginHint } : {}),
    ...(ask.maxAge === 0 ? { prompt: 'login' } : ask.prompt ? { prompt: ask.prompt } : {}),
    ...(ask.maxAge === undefined ? {} : { max_age: String(ask.maxAge) }),
  };
  try {
    return oidc.buildAuthorizationUrl(config, params);
  } catch (error) {
    throw asProviderError(error);
  }
}

/**
 * Who the provider says it is. The code is redeemed, so this works once.
 * @param callback the address that the browser was sent back to, of which only the query counts
 * @throws ProviderError
 */
export async function identityOf(
  deps: ProtocolDeps,
  idp: Idp,
  trip: Trip,
  callback: URL,
  ask: Pick<TripAsk, 'maxAge' | 'prompt'>,
): Promise<Identity> {
  const client = await clientOf(deps, idp);
  const address = new URL(trip.redirectUri);
  address.search = callback.search;
  try {
    const facts = OAUTH_TYPES.has(idp.type)
      ? await oauthFacts(client, idp, trip, address)
      : await openIdFacts(client, idp, trip, address);
    const identity = identityFrom(idp, facts, callback.searchParams);
    requireRecent(identity, trip, ask);
    return ask.maxAge !== undefined && identity.authTime === undefined ? { ...identity, isUndated: true } : identity;
  } catch (error) {
    throw asProviderError(error);
  }
}

/** Claims of the ID token, and what only `userinfo` says. */
async function openIdFacts({ config, keys }: Client, idp: Idp, trip: Trip, address: URL): Promise<Facts> {
  const { withoutPkce, withoutNonce } = QUIRKS[idp.type] ?? {};
  const tokens = await oidc.authorizationCodeGrant(config, address, {
    ...(withoutPkce ? {} : { pkceCodeVerifier: trip.verifier }),
    ...(withoutNonce ? {} : { expectedNonce: trip.nonce }),
    expectedState: trip.state,
    idTokenExpected: true,
  });
  const claims = tokens.claims();
  if (!claims || !tokens.id_token || !keys) throw new ProviderError('not-trusted', 'there is no ID token');
  // The library checks the claims, this the signature: the library would refuse a new key for a minute.
  await jwtVerify(tokens.id_token, keys, {
    algorithms: [...ALGORITHMS],
    audience: idp.settings.clientId,
    clockTolerance: 30,
  });
  if (claims.azp !== undefined && claims.azp !== idp.settings.clientId) {
    throw new ProviderError('not-trusted', 'the ID token is for another authorized party (azp)');
  }
  if (claims.email !== undefined || !config.serverMetadata().userinfo_endpoint) return { claims };
  const more = await oidc.fetchUserInfo(config, tokens.access_token, claims.sub);
  return { claims: { ...more, ...claims } };
}

/** Public-key algorithms only: a key that the provider publishes must never count as a shared secret. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
] as const;

async function oauthFacts({ config }: Client, idp: Idp, trip: Trip, address: URL): Promise<Facts> {
  const tokens = await oidc.authorizationCodeGrant(config, address, {
    pkceCodeVerifier: trip.verifier,
    expectedState: trip.state,
  });
  const { userInfo, emails } = endpointsOf(idp);
  const read = (url: string) => readResource(config, tokens.access_token, url);
  const claims = await read(userInfo);
  if (typeof claims !== 'object' || claims === null || Array.isArray(claims)) {
    throw new ProviderError('unavailable', 'the answer about the user is no JSON object');
  }
  return {
    claims: claims as Record<string, unknown>,
    ...(emails === undefined ? {} : { emails: await read(emails).catch(() => undefined) }),
  };
}

/** @throws ProviderError when the provider does not answer with JSON */
async function readResource(config: oidc.Configuration, token: string, url: string): Promise<unknown> {
  const headers = new Headers({ accept: 'application/json' });
  const answer = await oidc.fetchProtectedResource(config, token, new URL(url), 'GET', undefined, headers);
  if (answer.status !== 200) throw new ProviderError('unavailable', `the answer about the user is ${answer.status}`);
  return answer.json().catch(() => {
    throw new ProviderError('unavailable', 'the answer about the user is not JSON');
  });
}

/** The endpoints of a provider without discovery. Of GitHub, also an own server's, addresses are beside the user. */
export function endpointsOf({ type, settings }: Pick<Idp, 'type' | 'settings'>) {
  const { endpoints } = settings;
  if (!endpoints) throw new ProviderError('refused', 'the endpoints are not set');
  return type === 'github' ? { ...endpoints, emails: endpoints.emails ?? `${endpoints.userInfo}/emails` } : endpoints;
}

/** Clocks may differ by this. */
const TOLERANCE_S = 30;

/**
 * Whether the person signed in at the provider as lately as was asked for, counted from when they were sent there.
 * Providers that do not say (GitHub, Facebook) keep `prompt=login`, and cannot keep `max_age`: `isUndated`.
 */
function requireRecent({ authTime }: Identity, { startedAt }: Trip, { maxAge, prompt }: TripAsk): void {
  const most = maxAge ?? (prompt === 'login' ? 0 : undefined);
  if (most === undefined || authTime === undefined) return;
  if (authTime + most < startedAt / 1000 - TOLERANCE_S) {
    throw new ProviderError('not-trusted', 'the person signed in at the provider too long ago (auth_time)');
  }
}

/** What is known of a provider, and how to talk to it. */
export interface Client {
  config: oidc.Configuration;
  /** Of a provider with discovery. */
  keys?: ReturnType<typeof createRemoteJWKSet>;
}

/** How long metadata is used. */
const FRESH_MS = 60 * 60_000;
/** How long a provider that does not answer is not asked again. */
const FAILED_MS = 30_000;
/** Providers that this process remembers. */
const MOST_KNOWN = 1000;

const known = new Map<string, { client: Promise<Client>; until: number }>();

/**
 * The provider's metadata and keys, from memory where they are fresh. A changed provider is asked again.
 * @throws ProviderError
 */
export function clientOf(deps: ProtocolDeps, idp: Idp): Promise<Client> {
  const key = `${idp.id} ${idp.sequence} ${deps.config.IDP_ALLOW_PRIVATE}`;
  const found = known.get(key);
  if (found && performance.now() < found.until) return found.client;
  const [oldest] = known.keys();
  if (known.size >= MOST_KNOWN && oldest !== undefined) known.delete(oldest);
  const client = openClient(deps, idp);
  const entry = { client, until: performance.now() + FRESH_MS };
  known.delete(key);
  known.set(key, entry);
  client.catch(() => {
    entry.until = performance.now() + FAILED_MS;
  });
  return client;
}

/** Asks for the metadata, whatever is remembered. @throws ProviderError */
export async function openClient(deps: ProtocolDeps, idp: Idp): Promise<Client> {
  const { issuer, clientId } = idp.settings;
  const fetch = guardOf(deps);
  const auth = clientAuthOf(deps.secrets, idp);
  const execute = deps.config.IDP_ALLOW_PRIVATE ? [oidc.allowInsecureRequests] : [];
  try {
    if (OAUTH_TYPES.has(idp.type)) {
      const config = oauthConfig(idp, auth, fetch, execute);
      requireAddresses(deps, config, ['authorization_endpoint', 'token_endpoint']);
      return { config };
    }
    if (issuer === undefined) throw new ProviderError('refused', 'the issuer is not set');
    const options = { [oidc.customFetch]: fetch, timeout: (2 * TIMEOUT_MS) / 1000, execute };
    const config = await oidc.discovery(new URL(issuer), clientId, {}, auth, options);
    requireAddresses(deps, config, ['authorization_endpoint', 'token_endpoint', 'jwks_uri']);
    const keys = createRemoteJWKSet(new URL(config.serverMetadata().jwks_uri ?? ''), {
      [customFetch]: fetch as never,
      // A key that is not known is always looked for: tokens come from the provider, so nobody else can cause it.
      cooldownDuration: 0,
      timeoutDuration: TIMEOUT_MS,
    });
    return { config, keys };
  } catch (error) {
    throw asProviderError(error);
  }
}

/** A sign-in needs these addresses. What is behind them is checked by the guard, when they are asked. */
function requireAddresses(
  { config: { IDP_ALLOW_PRIVATE } }: ProtocolDeps,
  config: oidc.Configuration,
  names: readonly ('authorization_endpoint' | 'token_endpoint' | 'jwks_uri')[],
): void {
  const metadata: Readonly<Record<string, unknown>> = config.serverMetadata();
  const allowed = IDP_ALLOW_PRIVATE ? /^https?:$/ : /^https:$/;
  for (const name of names) {
    const address = metadata[name];
    if (typeof address === 'string' && URL.canParse(address) && allowed.test(new URL(address).protocol)) continue;
    throw new ProviderError('refused', `the metadata has no ${name}, or one that cannot be used`);
  }
}

function oauthConfig(
  idp: Idp,
  auth: oidc.ClientAuth,
  fetch: oidc.CustomFetch,
  execute: ((config: oidc.Configuration) => void)[],
): oidc.Configuration {
  const { authorization, token } = endpointsOf(idp);
  const metadata = {
    // What `iss` of an answer is compared with (RFC 9207): a provider that sends another one is not this one.
    issuer: idp.type === 'github' ? authorization.replace(/\/authorize$/, '') : new URL(authorization).origin,
    authorization_endpoint: authorization,
    token_endpoint: token,
  };
  const config = new oidc.Configuration(metadata, idp.settings.clientId, {}, auth);
  config[oidc.customFetch] = fetch;
  config.timeout = (2 * TIMEOUT_MS) / 1000;
  for (const extend of execute) extend(config);
  return config;
}

/** The guard of every request to a provider. */
export function guardOf({ config, resolve, timeoutMs = TIMEOUT_MS }: ProtocolDeps): oidc.CustomFetch {
  const guard = { allowPrivate: config.IDP_ALLOW_PRIVATE, timeoutMs, mostBytes: MOST_BYTES };
  return guardedFetch({ ...guard, ...(resolve ? { resolve } : {}) }) as oidc.CustomFetch;
}

/**
 * The authentication of the client, as `clientAuth` of the settings or the provider's metadata says. OpenID Connect
 * Discovery section 3: providers that do not say take `client_secret_basic`.
 */
function clientAuthOf(secrets: Pick<Secrets, 'unseal'>, idp: Idp): oidc.ClientAuth {
  if (idp.type === 'apple') return appleAuth(secrets, idp);
  const { clientSecret } = secretsOf(secrets, idp);
  if (clientSecret === undefined) return oidc.None();
  const [post, basic] = [oidc.ClientSecretPost(clientSecret), oidc.ClientSecretBasic(clientSecret)];
  return (as, client, body, headers) => {
    const methods = as.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const isPost = idp.settings.clientAuth === 'post' || !methods.includes('client_secret_basic');
    const isBasic = idp.settings.clientAuth === 'basic' || !isPost;
    return (isBasic ? basic : post)(as, client, body, headers);
  };
}

/** Apple accepts six months; the token is made for one request. */
const SECRET_S = 300;
const APPLE = 'https://appleid.apple.com';

/** A token that the key of the team signs (developer.apple.com, "Creating a client secret"). */
function appleAuth(secrets: Pick<Secrets, 'unseal'>, idp: Idp): oidc.ClientAuth {
  const { apple, clientId, issuer } = idp.settings;
  const { privateKey } = secretsOf(secrets, idp);
  if (!apple || privateKey === undefined) throw new ProviderError('refused', 'the key of the Apple team is not set');
  const key = createPrivateKey(privateKey);
  return async (_as, _client, body) => {
    const secret = await new SignJWT()
      .setProtectedHeader({ alg: 'ES256', kid: apple.keyId })
      .setIssuer(apple.teamId)
      .setSubject(clientId)
      .setAudience(issuer ?? APPLE)
      .setIssuedAt()
      .setExpirationTime(`${SECRET_S}s`)
      .sign(key);
    body.set('client_id', clientId);
    body.set('client_secret', secret);
  };
}
