/** A browser's part of a login over plain HTTP: cookies by path, no redirects followed, the hidden fields of forms. */
import { createHash, randomBytes } from 'node:crypto';
import type { TestApi } from '../../support/api.ts';

export interface Shown {
  status: number;
  text: string;
  headers: Headers;
}

export interface Visitor {
  get(path: string, headers?: Record<string, string>): Promise<Shown>;
  post(path: string, fields: Record<string, string>, headers?: Record<string, string>): Promise<Shown>;
  /** Starts a login for the client; returns the path of its page. */
  begin(clientId: string, more?: Record<string, string>): Promise<string>;
}

export const REDIRECT_URI = 'https://app.example.com/callback';

/** A client that exists only in the database: nothing runs at its address. */
export async function addClient(api: TestApi, client: Record<string, unknown> = {}): Promise<string> {
  const made = await api.call('POST', '/admin/v1/clients', {
    name: 'Acme',
    redirectUris: [REDIRECT_URI],
    grantTypes: ['authorization_code'],
    authMethod: 'none',
    ...client,
  });
  if (made.status !== 200) throw new Error(JSON.stringify(made.body));
  return made.body.clientId;
}

export function visitor(api: TestApi): Visitor {
  const cookies: { name: string; value: string; path: string }[] = [];

  async function ask(method: string, path: string, init: RequestInit): Promise<Shown> {
    const mine = cookies.filter((c) => path.startsWith(c.path)).map((c) => `${c.name}=${c.value}`);
    const headers = { ...(init.headers as Record<string, string>), cookie: mine.join('; ') };
    const response = await fetch(api.url + path, { ...init, method, headers, redirect: 'manual' });
    for (const line of response.headers.getSetCookie()) keep(line);
    return { status: response.status, text: await response.text(), headers: response.headers };
  }

  function keep(line: string): void {
    const [pair = '', ...attributes] = line.split('; ');
    const path = attributes.find((a) => a.toLowerCase().startsWith('path='))?.slice(5) ?? '/';
    const at = pair.indexOf('=');
    const cookie = { name: pair.slice(0, at), value: pair.slice(at + 1), path };
    const old = cookies.findIndex((c) => c.name === cookie.name && c.path === path);
    cookies.splice(old < 0 ? cookies.length : old, old < 0 ? 0 : 1, cookie);
  }

  return {
    get: (path, headers = {}) => ask('GET', path, { headers }),
    post: (path, fields, headers = {}) => ask('POST', path, { headers, body: new URLSearchParams(fields) }),
    async begin(clientId, more = {}) {
      const challenge = createHash('sha256').update(randomBytes(32)).digest('base64url');
      const parameters = {
        response_type: 'code',
        client_id: clientId,
        redirect_uri: REDIRECT_URI,
        scope: 'openid',
        code_challenge: challenge,
        code_challenge_method: 'S256',
        ...more,
      };
      const { headers } = await ask('GET', `/oauth/v2/authorize?${new URLSearchParams(parameters)}`, {});
      return new URL(headers.get('location') ?? '', api.url).pathname;
    },
  };
}

/** The hidden fields of the first form with this step. */
export function hiddenOf(page: Shown, step: string): Record<string, string> {
  const forms = page.text.split('<form').slice(1);
  const form = forms.find((f) => f.includes(`name="step" value="${step}"`)) ?? '';
  const fields = form.slice(0, form.indexOf('</form>')).matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g);
  return Object.fromEntries(Array.from(fields, ([, name, value]) => [name, value]));
}

/** The page without the parts that differ each time. */
export function comparable({ text }: Shown): string {
  return text
    .replace(/nonce="[^"]*"/g, '')
    .replace(/name="(?:token|proof)" value="[^"]*"/g, '')
    .replace(/login[/=][\w-]+|action="[\w-]+"/g, '');
}
