import assert from 'node:assert/strict';
import test from 'node:test';
import { startApi } from '../../support/api.ts';

const HEADER = 'strict-transport-security';
/** Paths of each kind: operations, health, documentation, pages, the authorization server, and their errors. */
const PATHS = [
  '/healthz',
  '/readyz',
  '/metrics',
  '/openapi.json',
  '/docs',
  '/ui/forgot',
  '/ui/none',
  '/ui/device',
  '/v2beta/users/x',
  '/none',
  '/%',
  '/oauth/v2/keys',
  '/oauth/v2/token',
  '/oauth/%',
  '/oidc/v1/userinfo',
  '/oauth/v2/authorize',
  '/.well-known/openid-configuration',
  '/ui/login/none',
];

test('with an https address, every response requires https for a year, without preload', async (t) => {
  const api = await startApi({ env: { BASE_URL: 'https://id.example.com' } });
  t.after(() => api.stop());
  for (const method of ['GET', 'OPTIONS', 'PATCH']) {
    for (const path of PATHS) {
      const { headers, status } = await api.call(method, path);
      assert.equal(headers.get(HEADER), 'max-age=31536000; includeSubDomains', `${method} ${path} (${status})`);
    }
  }
  t.mock.method(api.deps.pool, 'query', () => Promise.reject(new Error('broken')));
  for (const path of ['/v2beta/users/x', '/oauth/v2/authorize?client_id=x', '/ui/login/none', '/readyz']) {
    const { headers, status } = await api.call('GET', path);
    assert.equal(headers.get(HEADER), 'max-age=31536000; includeSubDomains', `${path} (${status}) when broken`);
  }
});

test('no response can be framed, run as something else, or name its address to others', async (t) => {
  const api = await startApi();
  t.after(() => api.stop());
  for (const path of PATHS) {
    const { headers, status } = await api.call('GET', path);
    const at = `${path} (${status})`;
    assert.equal(headers.get('x-content-type-options'), 'nosniff', at);
    assert.match(headers.get('referrer-policy') ?? '', /^(?:no-referrer|same-origin)$/, at);
    for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"]) {
      assert(headers.get('content-security-policy')?.includes(rule), `${rule}: ${at}`);
    }
  }
});

test('with an https address, cookies of sessions have names that only this host can set', async (t) => {
  const api = await startApi({ env: { BASE_URL: 'https://id.example.com' } });
  t.after(() => api.stop());
  const { headers } = await api.call('GET', '/oidc/v1/end_session', undefined, { headers: { accept: 'text/html' } });
  const cookies = headers.getSetCookie();
  assert(cookies.some((cookie) => cookie.startsWith('__Host-muster_session=')));
  for (const cookie of cookies)
    assert.match(cookie, /^__Host-[^;]+; path=\/; (?:.*; )?samesite=lax; secure; httponly(?:;|$)/i);
});

test('with an http address, no response mentions it', async (t) => {
  const api = await startApi();
  t.after(() => api.stop());
  for (const path of PATHS) assert.equal((await api.call('GET', path)).headers.get(HEADER), null, path);
});
