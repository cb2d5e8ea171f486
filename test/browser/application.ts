/**
 * An application that users log in to through us: OAuth 2.0 authorization code with PKCE, written by hand with fetch.
 * It runs under another host name, so that the browser treats it as another site.
 */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestApi } from '../support/api.ts';

export interface Application {
  clientId: string;
  redirectUri: string;
  /** Address that starts a login; `more` adds request parameters such as `login_hint`. */
  start(more?: Record<string, string>): string;
  /** The parameters of all callbacks, the latest last. */
  callbacks: URLSearchParams[];
  /** The claims of all ID tokens, the latest last. */
  claims: Record<string, unknown>[];
  /** Whom the tokens of all callbacks name, the latest last. */
  subjects: string[];
  stop(): Promise<void>;
}

/**
 * Registers an application whose callback page greets the user by the name from the tokens.
 * @param issuer our public address
 */
export async function startApplication(
  api: Pick<TestApi, 'url' | 'call'>,
  name: string,
  issuer: string = api.url,
): Promise<Application> {
  const callbacks: URLSearchParams[] = [];
  const claims: Record<string, unknown>[] = [];
  const subjects: string[] = [];
  const verifiers = new Map<string, string>();
  let app: Application | undefined;
  const server = createServer((req, res) => {
    answer(req, res).catch((error: unknown) => res.writeHead(500).end(String(error)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  const redirectUri = `${origin}/callback`;

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', origin);
    if (url.pathname === '/start') return begin(url.searchParams, res);
    if (url.pathname !== '/callback') return void res.writeHead(204).end();
    callbacks.push(url.searchParams);
    const code = url.searchParams.get('code');
    const greeting = code ? `Welcome ${await nameOf(code)}` : `Not logged in: ${url.searchParams.get('error')}`;
    res.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
    res.end(`<!doctype html><html lang="en"><title>${name}</title><h1>${greeting}</h1>`);
  }

  function begin(more: URLSearchParams, res: ServerResponse): void {
    const verifier = randomBytes(32).toString('base64url');
    const state = randomBytes(8).toString('hex');
    verifiers.set(state, verifier);
    const parameters = new URLSearchParams({
      response_type: 'code',
      client_id: app?.clientId ?? '',
      redirect_uri: redirectUri,
      scope: 'openid profile',
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...Object.fromEntries(more),
    });
    res.writeHead(302, { location: `${issuer}/oauth/v2/authorize?${parameters}` }).end();
  }

  async function nameOf(code: string): Promise<string> {
    const verifier = verifiers.get(callbacks.at(-1)?.get('state') ?? '') ?? '';
    const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier };
    const body = new URLSearchParams({ ...grant, client_id: app?.clientId ?? '' });
    const tokens = await fetch(`${issuer}/oauth/v2/token`, { method: 'POST', body });
    const { access_token: token, id_token: id = '' } = (await tokens.json()) as Record<string, string | undefined>;
    claims.push(JSON.parse(Buffer.from(id.split('.')[1] ?? '', 'base64url').toString() || '{}'));
    const info = await fetch(`${issuer}/oidc/v1/userinfo`, { headers: { authorization: `Bearer ${token}` } });
    const { sub, name: greeted } = (await info.json()) as { sub?: string; name?: string };
    if (sub !== undefined) subjects.push(sub);
    return greeted ?? `nobody: ${info.status}`;
  }

  const client = {
    name,
    redirectUris: [redirectUri],
    postLogoutRedirectUris: [`${origin}/bye`],
    grantTypes: ['authorization_code'],
    authMethod: 'none',
  };
  const made = await api.call('POST', '/admin/v1/clients', client);
  if (made.status !== 200) throw new Error(`no client: ${JSON.stringify(made.body)}`);
  app = {
    clientId: made.body.clientId,
    redirectUri,
    start: (more = {}) => `${origin}/start?${new URLSearchParams(more)}`,
    callbacks,
    claims,
    subjects,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return app;
}
