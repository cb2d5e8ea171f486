import assert from 'node:assert/strict';
import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import test, { after, before, describe } from 'node:test';
import { pino } from 'pino';
import { listen } from '../../../src/platform/http/server.ts';
import { openProvider } from '../../../src/signin/oauth/provider.ts';
import { buildApp } from '../../../src/start/app.ts';
import { startApi, type TestApi } from '../../support/api.ts';
import {
  addClient,
  authorizeUrl,
  Browser,
  codeFlow,
  finishLogin,
  loginUid,
  post,
  redeem,
} from '../../support/oauth.ts';

const PUBLIC = 'https://id.example.com/idp';

describe('behind a proxy that terminates TLS and removes a path', () => {
  let api: TestApi;
  before(async () => {
    api = await startApi({ env: { BASE_URL: PUBLIC, TRUST_PROXY: '1' } });
  });
  after(() => api.stop());
  const route = (url: string) => url.replace(PUBLIC, api.url);

  test('all addresses are based on the issuer, whatever the request says', async () => {
    const lies = { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'ftp', forwarded: 'host=evil.example' };
    const { body } = await api.call('GET', '/.well-known/openid-configuration', undefined, { headers: lies });
    assert.equal(body.issuer, PUBLIC);
    const addresses = Object.entries(body).filter(([name]) => /_endpoint$|_uri$/.test(name));
    assert(addresses.length >= 7);
    for (const [name, address] of addresses) assert((address as string).startsWith(`${PUBLIC}/o`), name);
    const { body: direct } = await byHost('evil.example', '/.well-known/openid-configuration');
    assert.equal(JSON.parse(direct).token_endpoint, `${PUBLIC}/oauth/v2/token`);
  });

  /** With a custom Host header, which fetch does not send. */
  async function byHost(host: string, path: string): Promise<{ body: string }> {
    const response = await new Promise<NodeJS.ReadableStream>((resolve, reject) => {
      get(api.url + path, { headers: { host } }, resolve).on('error', reject);
    });
    return { body: await text(response) };
  }

  test('the code flow stays at the public address, with cookies only for it', async () => {
    const org = await api.setupOrg();
    const client = await addClient(api);
    const browser = new Browser(route);
    const asked = await browser.fetch(authorizeUrl(api, client, 'v'.repeat(43)));
    const uid = loginUid(asked) as string;
    assert.equal(asked.headers.get('location'), `${PUBLIC}/ui/login/${uid}`);
    const back = await finishLogin(api, uid, org.userId);
    assert(back.startsWith(`${PUBLIC}/oauth/v2/authorize/`));
    const isScoped = (name: string, path: string) =>
      assert.match(
        browser.setCookie(name) as string,
        new RegExp(`; path=${path}; .*samesite=lax; secure; httponly`, 'i'),
      );
    isScoped('__Secure-muster_interaction', `/idp/ui/login/${uid}`);
    isScoped('__Secure-muster_resume', new URL(back).pathname);
    await browser.fetch(back);
    isScoped('__Secure-muster_session', '/idp');
    const flow = await codeFlow(api, client, { userId: org.userId, browser });
    const { body } = await redeem(api, client, flow);
    assert.equal((await api.call('GET', '/oidc/v1/userinfo', undefined, { token: body.access_token })).status, 200);
    const form = { method: 'POST', body: new URLSearchParams({ client_id: 'x' }) };
    const fromElsewhere = { ...form, headers: { 'sec-fetch-site': 'cross-site' } };
    const redirect = await browser.fetch(`${PUBLIC}/oauth/v2/authorize`, fromElsewhere);
    assert.equal(redirect.headers.get('location'), `${PUBLIC}/oauth/v2/authorize?client_id=x`);
    const device = await post(api, '/oauth/v2/device_authorization', { scope: 'openid' }, { clientId: 'muster-cli' });
    assert.equal(device.body.verification_uri, `${PUBLIC}/ui/device`);
    const asking = await (await browser.fetch(`${PUBLIC}/ui/device`)).text();
    assert(asking.includes(`action="${PUBLIC}/ui/device"`));
    const page = await (await browser.fetch(`${PUBLIC}/oidc/v1/end_session`)).text();
    assert(page.includes(`action="${PUBLIC}/oidc/v1/end_session/confirm"`));
  });
});

describe('errors', () => {
  let api: TestApi;
  before(async () => {
    api = await startApi();
  });
  after(() => api.stop());

  test('an unknown address or method gives an error in the form of RFC 6749', async () => {
    for (const [method, path, status, allow] of [
      ['GET', '/oauth/v2/token', 405, 'OPTIONS, POST'],
      ['DELETE', '/oauth/v2/authorize?client_id=x', 405, 'GET, HEAD, OPTIONS, POST'],
      ['PUT', '/oidc/v1/userinfo', 405, 'GET, HEAD, OPTIONS, POST'],
      ['GET', '/oauth/v2/nothing', 404, null],
      ['GET', '/oidc', 404, null],
      ['GET', '/oauth/v2/authorize/%ff', 400, null],
    ] as const) {
      const answer = await api.call(method, path, undefined, { token: null, headers: { accept: 'text/html' } });
      assert.deepEqual(
        [answer.status, answer.body.error, answer.headers.get('allow')],
        [status, 'invalid_request', allow],
      );
      assert(answer.headers.get('x-request-id'));
    }
    assert.equal((await api.call('POST', '/.well-known/openid-configuration')).status, 405);
  });

  test('a program gets JSON even if it requests HTML; only people get pages', async () => {
    const headers = { accept: 'text/html', 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await api.call('POST', '/oauth/v2/token', 'grant_type=x&client_id=nobody', { headers, token: null });
    assert.deepEqual([answer.status, answer.body.error], [401, 'invalid_client']);
  });

  test('a body that cannot be read is an invalid request', async () => {
    const urlencoded = 'application/x-www-form-urlencoded';
    for (const [type, body] of [
      ['application/json', '{}'],
      [`${urlencoded}; charset=nonsense`, 'a=b'],
      [urlencoded, `a=${'x'.repeat(100_000)}`],
      [urlencoded, 'grant_type=a&grant_type=b&client_id=c'],
    ] as const) {
      const answer = await api.call('POST', '/oauth/v2/token', body, {
        token: null,
        headers: { 'content-type': type },
      });
      assert([400, 401].includes(answer.status), `${type}: ${answer.status}`);
      assert.match(answer.body.error, /^invalid_(request|client)$/);
    }
  });

  /** The same service with a database that answers like this. */
  async function withFault(t: { after(fn: () => unknown): void }, fault: Error) {
    let isBroken = false;
    const pool = new Proxy(api.deps.pool, {
      get(pool, key) {
        if (isBroken && key === 'query') return () => Promise.reject(fault);
        const value: unknown = Reflect.get(pool, key);
        return typeof value === 'function' ? value.bind(pool) : value; // the pool has private fields
      },
    });
    const logged: Record<string, unknown>[] = [];
    const logger = pino({ level: 'error' }, { write: (line: string) => void logged.push(JSON.parse(line)) });
    const deps = { ...api.deps, pool, logger };
    const app = buildApp({ ...deps, oauth: await openProvider(deps) });
    isBroken = true;
    const server = await listen(app, { host: '127.0.0.1', port: 0 });
    t.after(() => server.stop(1000));
    return { url: `http://127.0.0.1:${server.port}`, logged };
  }

  const authorize = '/oauth/v2/authorize?client_id=x&response_type=code&scope=openid&redirect_uri=https://a.example/';
  const bodies = [
    ['/oauth/v2/token', 'grant_type=refresh_token&refresh_token=x&client_id=x'],
    ['/oauth/v2/introspect', 'token=x&client_id=x'],
    ['/oauth/v2/revoke', 'token=x&client_id=x'],
  ] as const;

  test('a database that does not answer is 503, and the request may be retried', async (t) => {
    const { url } = await withFault(t, Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }));
    for (const [path, body] of bodies) {
      const answer = await fetch(url + path, { method: 'POST', body: new URLSearchParams(body) });
      assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1'], path);
      assert.equal(((await answer.json()) as { error: string }).error, 'temporarily_unavailable');
    }
    const page = await fetch(url + authorize, { headers: { accept: 'text/html', cookie: 'muster_session=x' } });
    assert.equal(page.status, 503);
    assert.match(await page.text(), /error on our side/);
  });

  test('an internal error is logged with the request id, and its details are hidden', async (t) => {
    const { url, logged } = await withFault(t, new Error('select secret from somewhere'));
    const asked = [
      ...bodies.map(([path, body]) => [path, { method: 'POST', body: new URLSearchParams(body) }] as const),
      [authorize, {}] as const,
      [authorize, { headers: { accept: 'text/html' } }] as const,
      ['/oidc/v1/userinfo', { headers: { authorization: 'Bearer x' } }] as const,
      ['/oidc/v1/end_session', { headers: { accept: 'text/html' } }] as const,
    ];
    for (const [path, init] of asked) {
      const answer = await fetch(url + path, init);
      const body = await answer.text();
      assert.equal(answer.status, 500, path);
      assert.match(body, /server_error|error on our side/);
      assert(!/select|somewhere|\.ts/.test(body), body);
      const id = answer.headers.get('x-request-id');
      assert(
        logged.some((line) => line.requestId === id && JSON.stringify(line).includes('select secret')),
        path,
      );
    }
  });
});

describe('applications in a browser', () => {
  let api: TestApi;
  before(async () => {
    api = await startApi();
  });
  after(() => api.stop());

  test('may call from the origin of their redirect URI, and from nowhere else', async () => {
    const spa = await addClient(api, { authMethod: 'none' });
    const withSecret = await addClient(api);
    const call = async (clientId: string, origin: string) => {
      const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token: 'x', client_id: clientId });
      const answer = await fetch(`${api.url}/oauth/v2/token`, { method: 'POST', body, headers: { origin } });
      return answer.headers.get('access-control-allow-origin');
    };
    assert.equal(await call(spa.clientId, 'https://app.example.com'), 'https://app.example.com');
    assert.equal(await call(spa.clientId, 'https://evil.example.com'), null);
    assert.equal(await call(withSecret.clientId, 'https://app.example.com'), null);
    const preflight = { origin: 'https://app.example.com', 'access-control-request-method': 'POST' };
    const answer = await fetch(`${api.url}/oauth/v2/token`, { method: 'OPTIONS', headers: preflight });
    assert.deepEqual([answer.status, answer.headers.get('access-control-allow-methods')], [204, 'OPTIONS, POST']);
  });
});
