/**
 * Identity providers for tests, on loopback: Google and Microsoft (a second `oidc-provider`, with public and with
 * pairwise subjects), GitHub and Apple (small servers). A person signs in by `login_hint`, or by the form of the page.
 * `misbehave` makes a provider lie, hang or break.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK } from 'jose';
import { appleHandler } from './providers/apple.ts';
import { githubHandler } from './providers/github.ts';
import { openIdHandler } from './providers/openid.ts';

export type ProviderKind = 'google' | 'microsoft' | 'github' | 'apple';

/** An account at a provider. */
export interface Person {
  /** What the person types, or `login_hint` names. */
  login: string;
  /** `sub`; of GitHub the numeric `id`; of Microsoft what the pairwise subject is computed from. */
  id: string;
  /** Further claims, such as `email`, `email_verified`, `name`, `oid`, `tid`. */
  claims?: Record<string, unknown>;
  amr?: string[];
  /** Seconds since 1970; default: now. */
  authTime?: number;
  /** GitHub's `/user/emails`. */
  emails?: { email: string; primary: boolean; verified: boolean }[];
}

export type Endpoint = 'discovery' | 'authorization' | 'token' | 'jwks' | 'userInfo' | 'emails';
/** `slow` answers once `release` is called. */
export type Fault = 'down' | 'slow' | 'huge' | 'redirect' | 'html' | 'error';

/** What a provider does wrong; change it at any time. */
export interface Misbehaviour {
  faults: Partial<Record<Endpoint, Fault>>;
  /** Replace claims of the ID token; undefined removes one. */
  claims?: Record<string, unknown> | undefined;
  /** How the ID token is signed; default: with the key of the provider. */
  signing?: 'none' | 'HS256' | 'other-key' | undefined;
  /** The parameter `iss` of the authorization response; null: none, though it is announced. */
  iss?: string | null | undefined;
  /** Fields of the metadata to replace. */
  metadata?: Record<string, unknown>;
}

export interface TestProvider {
  kind: ProviderKind;
  issuer: string;
  clientId: string;
  /** Of Apple: the private key (PKCS 8). */
  clientSecret: string;
  people: Person[];
  /** Redirect URIs that are registered; while there are none, every one is allowed. */
  redirectUris: Set<string>;
  misbehave: Misbehaviour;
  /** Requests so far, as `POST /token`. */
  requests: string[];
  /** Signs with a new key from now on, and publishes only that one. */
  rotate(): Promise<void>;
  /** Answers the requests that a `slow` endpoint holds. */
  release(): void;
  /** What `POST …/idps` takes. */
  settings(fields?: Record<string, unknown>): Record<string, unknown>;
  stop(): Promise<void>;
}

/** What the handlers of the kinds share. */
export interface ProviderState extends TestProvider {
  key: SigningKey;
}

export interface SigningKey {
  jwk: JWK;
  publicJwk: JWK;
  privateKey: CryptoKey;
}

export type Handler = (req: IncomingMessage, res: ServerResponse) => unknown;

export const APPLE_TEAM = { teamId: 'TEAM123456', keyId: 'KEY1234567' };

let keys = 0;

/** A new key for RS256; its id is unique in this process. */
export async function signingKey(): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
  keys += 1;
  const more = { kid: `key-${keys}`, alg: 'RS256', use: 'sig' };
  const [publicJwk, jwk] = [await exportJWK(publicKey), await exportJWK(privateKey)];
  return { jwk: { ...jwk, ...more }, publicJwk: { ...publicJwk, ...more }, privateKey };
}

/** Starts a provider; call `stop` when the test is over. */
export async function startProvider({
  kind,
  people,
  port = 0,
}: {
  kind: ProviderKind;
  people: Person[];
  port?: number;
}): Promise<TestProvider> {
  const held: (() => void)[] = [];
  let handler: Handler = (_req, res) => res.writeHead(503).end();
  const server = createServer((req, res) => serve(state, held, req, res, () => handler(req, res)));
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const state: ProviderState = {
    kind,
    issuer,
    clientId: `client-of-${kind}`,
    clientSecret: `secret-of-${kind}-0123456789`,
    people,
    redirectUris: new Set(),
    misbehave: { faults: {} },
    requests: [],
    key: await signingKey(),
    async rotate() {
      state.key = await signingKey();
    },
    release() {
      for (const go of held.splice(0)) go();
    },
    settings: (fields) => ({ ...settingsOf(state), ...fields }),
    stop: () => stop(server, state),
  };
  handler = await HANDLERS[kind](state);
  return state;
}

const HANDLERS: Record<ProviderKind, (state: ProviderState) => Handler | Promise<Handler>> = {
  google: openIdHandler,
  microsoft: openIdHandler,
  github: githubHandler,
  apple: appleHandler,
};

function settingsOf({ kind, issuer, clientId, clientSecret }: ProviderState): Record<string, unknown> {
  const client = { type: kind, name: NAMES[kind], clientId };
  switch (kind) {
    case 'github': {
      const endpoints = {
        authorization: `${issuer}/login/oauth/authorize`,
        token: `${issuer}/login/oauth/access_token`,
        userInfo: `${issuer}/user`,
      };
      return { ...client, clientSecret, endpoints };
    }
    case 'apple':
      return { ...client, issuer, apple: APPLE_TEAM, privateKey: clientSecret };
    default:
      return { ...client, issuer, clientSecret };
  }
}

const NAMES: Record<ProviderKind, string> = {
  google: 'Google',
  microsoft: 'Microsoft',
  github: 'GitHub',
  apple: 'Apple',
};

const ENDPOINTS: readonly [RegExp, Endpoint][] = [
  [/^\/\.well-known\//, 'discovery'],
  [/^\/user\/emails/, 'emails'],
  [/^\/(?:me|user)$/, 'userInfo'],
  [/token$/, 'token'],
  [/(?:jwks|keys)$/, 'jwks'],
  [/\/(?:auth|authorize)/, 'authorization'],
];

function serve(
  state: ProviderState,
  held: (() => void)[],
  req: IncomingMessage,
  res: ServerResponse,
  answer: () => void,
): void {
  const path = (req.url ?? '/').replace(/\?.*/, '');
  state.requests.push(`${req.method} ${path}`);
  const endpoint = ENDPOINTS.find(([pattern]) => pattern.test(path))?.[1];
  switch (endpoint && state.misbehave.faults[endpoint]) {
    case 'down':
      return void req.socket.destroy();
    case 'slow':
      return void held.push(answer);
    case 'huge':
      return void res.writeHead(200, JSON_TYPE).end(JSON.stringify({ padding: 'x'.repeat(3_000_000) }));
    case 'redirect':
      return void res.writeHead(302, { location: `${state.issuer}/elsewhere` }).end();
    case 'html':
      return void res.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><p>Please wait.');
    case 'error':
      return void res.writeHead(500, JSON_TYPE).end('{}');
    default:
      answer();
  }
}

export const JSON_TYPE = { 'content-type': 'application/json' };

function stop(server: Server, state: ProviderState): Promise<void> {
  state.release();
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
