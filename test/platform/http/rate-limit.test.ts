/** The limits per IP address. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { after, describe, it } from 'node:test';
import { addHuman, tokenOf } from '../../directory/users/people.ts';
import { type Answer, type ApiOptions, errorId, startApi, type TestApi } from '../../support/api.ts';

describe('rate limits', () => {
  const started: TestApi[] = [];
  after(() => Promise.all(started.map((api) => api.stop())));
  async function start(env: ApiOptions['env'] = {}): Promise<TestApi> {
    const api = await startApi({ env });
    started.push(api);
    return api;
  }
  const SESSION = { checks: { user: { userId: 'missing' }, password: { password: 'x' } } };
  const me = (api: TestApi, headers = {}) => api.call('GET', '/management/v1/orgs/me', undefined, { headers });

  it('refuse too many requests of one address, each in its error format, and let probes pass', async () => {
    const api = await start({ RATE_LIMIT_REQUESTS: '3' });
    const answers = await Promise.all(Array.from({ length: 20 }, () => me(api)));
    assert(answers.some((a) => a.status === 200));
    const refused = answers.find((a) => a.status === 429);
    assert(refused);
    assert.deepEqual([refused.status, refused.body.code, errorId(refused)], [429, 8, 'RATE-LIMIT']);
    assert.equal(refused.headers.get('retry-after'), '1');
    assert.match(refused.headers.get('x-request-id') ?? '', /./);
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      for (let i = 0; i < 5; i++) assert.equal((await api.call('GET', path)).status, 200, path);
    }
  });

  it('count only password and code attempts per minute', async () => {
    const api = await start({ RATE_LIMIT_LOGINS: '3' });
    for (let i = 0; i < 3; i++) assert.equal((await api.call('POST', '/v2beta/sessions', SESSION)).status, 400);
    const refused = await api.call('POST', '/v2beta/sessions', SESSION);
    assert.deepEqual([refused.status, errorId(refused)], [429, 'RATE-LIMIT']);
    const seconds = Number(refused.headers.get('retry-after'));
    assert(seconds >= 1 && seconds <= 60, String(seconds));
    assert.equal((await me(api)).status, 200);

    const token = await api.call('POST', '/oauth/v2/token', 'grant_type=x', { token: null });
    assert.deepEqual([token.status, Object.keys(token.body)], [429, ['error', 'error_description']]);
    const page = await api.call('POST', '/ui/verify', 'code=x', { token: null });
    assert.equal(page.status, 429);
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/);
    for (const path of ['email/verify', 'phone/verify', 'password', 'password_reset']) {
      assert.equal((await api.call('POST', `/v2beta/users/missing/${path}`, {})).status, 429, path);
    }
  });

  it('count the same attempts however their address is written', async () => {
    const path = '/v2beta/users/missing/password';
    for (const target of [`${path}#`, `http://elsewhere.example${path}`, `${path}/?x=/`, path.toUpperCase()]) {
      const { url } = await start({ RATE_LIMIT_LOGINS: '1' });
      const statuses = [await sent(url, target), await sent(url, target), await sent(url, path)];
      assert.deepEqual(statuses, [401, 429, 429], target);
    }
    const { url } = await start({ RATE_LIMIT_LOGINS: '1' });
    const statuses = [await sent(url, `/console/api${path}`), await sent(url, path)];
    assert.deepEqual(statuses, [401, 429], 'the calls of the console too');
  });

  it('count user changes that try a secret or send a message, and no others', async () => {
    const limited = async (make: (api: TestApi, userId: string) => () => Promise<Answer>) => {
      const api = await start({ RATE_LIMIT_LOGINS: '2', LOGIN_DELAY_MS: '0' });
      const userId = await addHuman(api, (await api.setupOrg()).orgId, 'right');
      const call = make(api, userId);
      return [(await call()).status, (await call()).status, (await call()).status];
    };
    const path = (userId: string) => `/v2beta/users/human/${encodeURIComponent(userId)}`;
    const password = (secret: object) => ({ password: { password: { password: 'a new password' }, ...secret } });
    for (const secret of [{ currentPassword: 'wrong' }, { verificationCode: 'wrong' }]) {
      const statuses = await limited((api, userId) => () => api.call('PUT', path(userId), password(secret)));
      assert.deepEqual(statuses, [400, 400, 429], JSON.stringify(secret));
    }
    const managed = await limited((api, userId) => () => api.call('PUT', path(userId), password({})));
    assert.deepEqual(managed, [200, 200, 200]);
    for (const [method, of, body] of [
      ['PUT', path, { email: { email: 'a@b', sendCode: {} } }],
      ['POST', (userId: string) => `/v2beta/users/${encodeURIComponent(userId)}/email`, { email: 'a@b', sendCode: {} }],
      ['POST', (userId: string) => `/v2beta/users/${encodeURIComponent(userId)}/phone`, { phone: '+41791234567' }],
    ] as const) {
      const own = await limited((api, userId) => async () => {
        const token = await tokenOf(api, userId);
        return api.call(method, of(userId), body, { token });
      });
      assert.deepEqual(own, [200, 200, 429], of('u'));
      const another = await limited((api, userId) => () => api.call(method, of(userId), body));
      assert.deepEqual(another, [200, 200, 200], of('u'));
    }
  });

  it('do not read the body of a refused request', async () => {
    const api = await start({ RATE_LIMIT_LOGINS: '1' });
    await api.call('POST', '/v2beta/sessions', SESSION);
    assert.equal((await api.call('POST', '/v2beta/sessions', '{')).status, 429);
  });

  it('distinguish callers behind a known proxy; an IPv6 network counts as one caller', async () => {
    const api = await start({ RATE_LIMIT_LOGINS: '1', TRUST_PROXY: '1' });
    const from = async (address: string) =>
      (await api.call('POST', '/v2beta/sessions', SESSION, { headers: { 'x-forwarded-for': address } })).status;
    assert.deepEqual([await from('192.0.2.1'), await from('192.0.2.2'), await from('192.0.2.1')], [400, 400, 429]);
    assert.deepEqual(
      [await from('2001:db8::1'), await from('2001:db8::2'), await from('2001:db9::1')],
      [400, 429, 400],
    );
    const unknown = await start({ RATE_LIMIT_LOGINS: '1' });
    const answers = ['192.0.2.1', '192.0.2.2'].map((address) =>
      unknown.call('POST', '/v2beta/sessions', SESSION, { headers: { 'x-forwarded-for': address } }),
    );
    assert.deepEqual((await Promise.all(answers)).map((a) => a.status).sort(), [400, 429]);
  });

  it('by default allow what the contract promises, and more', async () => {
    const api = await start();
    const logins = Array.from({ length: 110 }, () => api.call('POST', '/v2beta/sessions', {}));
    const reads = Array.from({ length: 200 }, () => me(api));
    const statuses = new Set((await Promise.all([...logins, ...reads])).map((a) => a.status));
    assert.deepEqual([...statuses].sort(), [200, 400]);
  });

  it('are off at 0', async () => {
    const api = await start({ RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_LOGINS: '0' });
    const answers = await Promise.all(Array.from({ length: 700 }, () => api.call('POST', '/v2beta/sessions', {})));
    assert.deepEqual(new Set(answers.map((a) => a.status)), new Set([400]));
  });
});

/** The status of a POST whose request line has exactly this target. */
async function sent(url: string, target: string): Promise<number | undefined> {
  const { hostname, port } = new URL(url);
  const headers = { 'content-type': 'application/json' };
  const req = request({ hostname, port, path: target, method: 'POST', headers });
  req.end('{}');
  const [res] = (await once(req, 'response')) as [IncomingMessage];
  res.resume();
  return res.statusCode;
}
