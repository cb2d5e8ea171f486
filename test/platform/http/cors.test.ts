import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { startApi, type TestApi } from '../../support/api.ts';
import { API_SCOPE, addClient, tokensOf } from '../../support/oauth.ts';

const SPA = 'https://spa.example.com';
let api: TestApi;
before(async () => {
  api = await startApi({ env: { RATE_LIMIT_LOGINS: '2' } });
  await addClient(api, { authMethod: 'none', redirectUris: [`${SPA}/callback`, 'com.example.app:/callback'] });
});
after(() => api.stop());

function preflight(path: string, origin: string, method: string) {
  const headers = {
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': 'authorization',
  };
  return api.call('OPTIONS', path, undefined, { token: null, headers });
}

const allowedOrigin = (answer: { headers: Headers }) => answer.headers.get('access-control-allow-origin');

/** The members of a header that is a list, in lower case. */
const list = (headers: Headers, name: string) => (headers.get(name) ?? '').toLowerCase().split(', ');

test('a preflight request from a registered origin is answered without a token', async () => {
  for (const [path, method] of [
    ['/admin/v1/import', 'POST'],
    ['/v2beta/users/some-id', 'DELETE'],
    ['/v2beta/users/some-id/password', 'POST'],
    ['/zitadel.user.v2.UserService/GetUserByID', 'POST'],
    ['/oauth/v2/token', 'POST'],
    ['/oidc/v1/userinfo', 'GET'],
  ] as const) {
    const answer = await preflight(path, SPA, method);
    assert.equal(answer.status, 204, path);
    assert.equal(allowedOrigin(answer), SPA);
    assert(list(answer.headers, 'access-control-allow-methods').includes(method.toLowerCase()), path);
    const headers = list(answer.headers, 'access-control-allow-headers');
    for (const name of ['authorization', 'content-type', 'x-service-orgid', 'idempotency-key', 'connect-timeout-ms']) {
      assert(headers.includes(name), name);
    }
    assert(Number(answer.headers.get('access-control-max-age')) > 0);
    assert.equal(answer.headers.get('access-control-allow-credentials'), null);
    assert.equal(answer.headers.get('vary'), 'Origin');
  }
});

test('no other origin is allowed, and not the one of sandboxed pages and native apps', async () => {
  for (const origin of ['https://evil.example.com', `${SPA}:8443`, 'http://spa.example.com', 'null']) {
    const answer = await preflight('/admin/v1/import', origin, 'POST');
    assert.deepEqual([answer.status, allowedOrigin(answer), answer.headers.get('vary')], [403, null, 'Origin']);
    assert.equal(allowedOrigin(await api.call('GET', '/admin/v1/imports', undefined, { headers: { origin } })), null);
  }
});

test('responses and errors can be read by a registered origin, with the headers that it needs', async () => {
  const headers = { origin: SPA };
  const answers = [
    await api.call('GET', '/admin/v1/imports', undefined, { headers }),
    await api.call('GET', '/admin/v1/imports', undefined, { headers, token: 'wrong' }),
    await api.call('GET', '/management/v1/nowhere', undefined, { headers }),
    await api.call('PATCH', '/admin/v1/imports', undefined, { headers }),
  ];
  assert.deepEqual(
    answers.map((answer) => [answer.status, allowedOrigin(answer)]),
    [200, 401, 404, 405].map((status) => [status, SPA]),
  );
  for (const answer of answers) {
    const exposed = list(answer.headers, 'access-control-expose-headers');
    for (const name of ['x-request-id', 'location', 'retry-after', 'www-authenticate']) assert(exposed.includes(name));
    assert.equal(answer.headers.get('vary'), 'Origin');
  }
  assert.equal((await api.call('GET', '/admin/v1/imports')).headers.get('vary'), 'Origin');
});

test('every origin can read the discovery documents and the keys', async () => {
  for (const path of [
    '/.well-known/openid-configuration',
    '/.well-known/oauth-authorization-server',
    '/oauth/v2/keys',
  ]) {
    const origin = 'https://anybody.example.com';
    const asked = await preflight(path, origin, 'GET');
    assert.deepEqual([asked.status, allowedOrigin(asked)], [204, '*'], path);
    const read = await api.call('GET', path, undefined, { token: null, headers: { origin } });
    assert([origin, '*'].includes(allowedOrigin(read) as string), path);
  }
});

test('pages for people, health and metrics are not shared', async () => {
  for (const path of ['/ui/forgot', '/healthz', '/metrics', '/docs']) {
    const answer = await api.call('GET', path, undefined, { headers: { origin: SPA } });
    assert.deepEqual([answer.status, allowedOrigin(answer)], [200, null], path);
  }
});

test('a browser application calls the API with its own token', async () => {
  const org = await api.setupOrg({ roles: ['ORG_OWNER'] });
  const client = await addClient(api, { authMethod: 'none', redirectUris: ['https://new.example.com/callback'] });
  const { access_token: token } = await tokensOf(api, client, { userId: org.userId, scope: `openid ${API_SCOPE}` });
  // The origin is known at once, although another one was asked for a moment ago.
  const headers = { origin: 'https://new.example.com' };
  const answer = await api.call('GET', '/management/v1/orgs/me', undefined, { token, headers });
  assert.deepEqual([answer.status, allowedOrigin(answer)], [200, 'https://new.example.com']);
});

test('a page can read that it must wait', async () => {
  const attempts = [1, 2, 3].map(() => api.call('POST', '/v2beta/sessions', {}, { headers: { origin: SPA } }));
  const refused = (await Promise.all(attempts)).filter((answer) => answer.status === 429);
  assert(refused.length > 0);
  for (const answer of refused) assert.equal(allowedOrigin(answer), SPA);
});
