/** Simulates an application and a browser for tests of the authorization server. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { API_SCOPE } from '../../src/contract/own-clients.ts';
import type { Answer, TestApi } from './api.ts';

export { API_SCOPE };

export interface TestClient {
  clientId: string;
  /** Absent for a public client. */
  clientSecret?: string;
  redirectUri: string;
}

const REDIRECT_URI = 'https://app.example.com/callback';
export const AFTER_LOGOUT = 'https://app.example.com/bye';

/** Registers an application with a secret; `fields` override its defaults. */
export async function addClient(api: TestApi, fields: Record<string, unknown> = {}): Promise<TestClient> {
  const body = {
    name: 'Test application',
    redirectUris: [REDIRECT_URI],
    postLogoutRedirectUris: [AFTER_LOGOUT],
    grantTypes: ['authorization_code', 'refresh_token'],
    authMethod: 'client_secret_basic',
    ...fields,
  };
  const answer = await api.call('POST', '/admin/v1/clients', body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return { ...answer.body, redirectUri: body.redirectUris[0] };
}

export type Form = Record<string, string>;

/** Posts a form. A client with a secret authenticates with HTTP Basic; otherwise the form includes the client id. */
export function post(api: TestApi, path: string, form: Form, client?: Omit<TestClient, 'redirectUri'>) {
  const isPublic = client && client.clientSecret === undefined;
  const body = new URLSearchParams({ ...(isPublic ? { client_id: client.clientId } : {}), ...form });
  return api.call('POST', path, String(body), {
    token: null,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(client?.clientSecret === undefined ? {} : { authorization: basic(client.clientId, client.clientSecret) }),
    },
  });
}

/** RFC 6749 section 2.3.1: both parts are form-encoded first. */
function basic(id: string, secret: string): string {
  const encoded = `${encodeURIComponent(id)}:${encodeURIComponent(secret)}`;
  return `Basic ${Buffer.from(encoded).toString('base64')}`;
}

export const tokenCall = (api: TestApi, form: Form, client?: Omit<TestClient, 'redirectUri'>): Promise<Answer> =>
  post(api, '/oauth/v2/token', form, client);

/** A browser that keeps cookies by name and path, and follows no redirects. */
export class Browser {
  readonly #jar = new Map<string, { value: string; path: string; header: string }>();
  readonly #route: (url: string) => string;

  /** @param route maps an address to the server behind it, like a proxy */
  constructor(route = (url: string) => url) {
    this.#route = route;
  }

  async fetch(url: string, init: RequestInit = {}): Promise<Response> {
    const { pathname } = new URL(url);
    const cookies = [...this.#jar.entries()].filter(([, cookie]) => pathname.startsWith(cookie.path));
    const cookie = cookies.map(([name, { value }]) => `${name}=${value}`).join('; ');
    const headers = { accept: 'text/html', ...(cookie ? { cookie } : {}), ...init.headers };
    const response = await fetch(this.#route(url), { redirect: 'manual', ...init, headers });
    for (const header of response.headers.getSetCookie()) this.#keep(header);
    return response;
  }

  /** The `Set-Cookie` header of a stored cookie. */
  setCookie(name: string): string | undefined {
    return this.#jar.get(name)?.header;
  }

  #keep(header: string): void {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(header) as RegExpExecArray as unknown as [string, string, string];
    const path = /;\s*path=([^;]+)/i.exec(header)?.[1] ?? '/';
    if (value === '') this.#jar.delete(name);
    else this.#jar.set(name, { value, path, header });
  }
}

export interface CodeFlow {
  code: string;
  verifier: string;
  /** Parameters of the application's address to which the browser was redirected. */
  params: URLSearchParams;
}

export interface AuthorizeOptions {
  scope?: string;
  /** Additional parameters of the authorization request. */
  params?: Form;
  browser?: Browser;
  /** The user whom the login pages report, if they are shown. */
  userId: string;
}

/** Sends a browser through the code flow; instead of showing the login pages, it reports their result. */
export async function codeFlow(api: TestApi, client: TestClient, options: AuthorizeOptions): Promise<CodeFlow> {
  const { browser = new Browser(), userId } = options;
  const verifier = randomBytes(32).toString('base64url');
  let response = await browser.fetch(authorizeUrl(api, client, verifier, options));
  const uid = loginUid(response);
  if (uid) response = await browser.fetch(await finishLogin(api, uid, userId));
  assert.equal(response.status, 303, await response.text());
  const params = new URL(response.headers.get('location') as string).searchParams;
  return { code: params.get('code') as string, verifier, params };
}

/** Where an application sends a browser. */
export function authorizeUrl(
  api: TestApi,
  client: TestClient,
  verifier: string,
  { scope = `openid ${API_SCOPE}`, params = {} }: Pick<AuthorizeOptions, 'scope' | 'params'> = {},
): string {
  const query = new URLSearchParams({
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    response_type: 'code',
    scope,
    code_challenge: challenge(verifier),
    code_challenge_method: 'S256',
    ...params,
  });
  return `${api.deps.config.baseUrl}/oauth/v2/authorize?${query}`;
}

export function challenge(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url');
}

/** The id of the login to which the browser is redirected, if it is. */
export function loginUid(response: Response): string | undefined {
  return /\/ui\/login\/([\w-]+)$/.exec(response.headers.get('location') ?? '')?.[1];
}

/** Completes the login as the login pages do; returns the address they redirect to. */
export async function finishLogin(api: TestApi, uid: string, userId: string, amr = ['pwd']): Promise<string> {
  const interaction = await api.deps.oauth.current().Interaction.find(uid);
  assert(interaction);
  interaction.result = { login: { accountId: userId, amr } };
  await interaction.save(60);
  return interaction.returnTo;
}

/** Redeems a code. */
export function redeem(api: TestApi, client: TestClient, { code, verifier }: CodeFlow): Promise<Answer> {
  const form = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: client.redirectUri };
  return tokenCall(api, form, client);
}

/** Runs the whole flow and returns the tokens. */
export async function tokensOf(api: TestApi, client: TestClient, options: AuthorizeOptions): Promise<Answer['body']> {
  const answer = await redeem(api, client, await codeFlow(api, client, options));
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

/** Status of an API call with a token. */
export async function statusWith(api: TestApi, token: string): Promise<number> {
  return (await api.call('GET', '/management/v1/orgs/me', undefined, { token })).status;
}
