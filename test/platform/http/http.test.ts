import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import test, { after, before } from 'node:test';
import { gzipSync } from 'node:zlib';
import { LARGE_BODY, MOST_NESTED, SMALL_BODY } from '../../../src/platform/http/parse.ts';
import { type Answer, errorId, startApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.stop());

const SETUP = '/admin/v1/orgs/_setup';

function assertError(answer: Answer, http: number, code: number, id: string): void {
  assert.equal(answer.status, http);
  assert.equal(answer.body.code, code);
  assert.equal(errorId(answer), id);
  assert.equal(answer.body.details[0]['@type'], 'type.googleapis.com/service.v1.ErrorDetail');
  assert.equal(answer.body.details[0].message, answer.body.message);
  assert(answer.headers.get('x-request-id'));
}

test('every response has a request id: the id of the caller if it is valid', async () => {
  const given = await api.call('GET', '/healthz', undefined, { headers: { 'x-request-id': 'abc-123' } });
  assert.equal(given.headers.get('x-request-id'), 'abc-123');
  for (const bad of ['a b', 'x'.repeat(129), '<script>']) {
    const made = await api.call('GET', '/healthz', undefined, { headers: { 'x-request-id': bad } });
    assert.match(made.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
  }
});

test('responses do not name the framework and cannot be cached', async () => {
  const { headers } = await api.call('GET', '/management/v1/orgs/me');
  assert.equal(headers.get('x-powered-by'), null);
  assert.equal(headers.get('cache-control'), 'no-store');
});

test('malformed JSON is 400, and the response does not quote it', async () => {
  const answer = await api.call('POST', SETUP, '{"password": "hunter2"');
  assertError(answer, 400, 3, 'REQUEST-JSON');
  assert(!JSON.stringify(answer.body).includes('hunter2'));
});

test('a body that is not an object is 400', async () => {
  for (const body of ['[]', '7', '"x"', 'null']) assertError(await api.call('POST', SETUP, body), 400, 3, 'ORG-SETUP');
});

test('an absent body is read as an empty object', async () => {
  const answer = await api.call('POST', '/v2beta/users');
  assert.equal(answer.status, 200);
});

test('a wrong media type, charset or encoding is 415 code 3', async () => {
  const wrong: [id: string, headers: Record<string, string>][] = [
    ['REQUEST-MEDIA-TYPE', { 'content-type': 'text/plain' }],
    ['REQUEST-MEDIA-TYPE', { 'content-type': 'application/json; charset=latin1' }],
    ['REQUEST-MEDIA-TYPE', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['REQUEST-ENCODING', { 'content-type': 'application/json', 'content-encoding': 'rot13' }],
  ];
  for (const [id, headers] of wrong) {
    assertError(await api.call('POST', SETUP, '{}', { headers }), 415, 3, id);
  }
  const spelled = { 'content-type': 'application/json; charset=UTF-8' };
  assertError(await api.call('POST', SETUP, '{}', { headers: spelled }), 400, 3, 'ORG-SETUP');
});

const HUMANS = '/v2beta/users/human';
const bodyOf = (bytes: number) => JSON.stringify({ x: 'x'.repeat(bytes - '{"x":""}'.length) });

test('a body is read up to the limit of its operation; a larger one is 413 code 8', async () => {
  assertError(await api.call('POST', SETUP, bodyOf(SMALL_BODY.bytes)), 400, 3, 'ORG-SETUP');
  assertError(await api.call('POST', SETUP, bodyOf(SMALL_BODY.bytes + 1)), 413, 8, 'REQUEST-TOO-LARGE');
  assertError(await api.call('POST', HUMANS, bodyOf(LARGE_BODY.bytes)), 400, 3, 'USER-INVALID');
  assertError(await api.call('POST', HUMANS, bodyOf(LARGE_BODY.bytes + 1)), 413, 8, 'REQUEST-TOO-LARGE');
});

test('a body with too many values is 400, before it is parsed', async () => {
  const empties = (count: number) => `{"x":[${'{},'.repeat(count)}0`;
  // The body ends too early, which the parser would report.
  assertError(await api.call('POST', SETUP, empties(SMALL_BODY.values)), 400, 3, 'REQUEST-VALUES');
  assertError(await api.call('POST', HUMANS, empties(LARGE_BODY.values)), 400, 3, 'REQUEST-VALUES');
  assertError(await api.call('POST', SETUP, empties(100)), 400, 3, 'REQUEST-JSON');
  const most = { x: Array(SMALL_BODY.values - 2).fill('a,[{\\"') };
  assertError(await api.call('POST', SETUP, most), 400, 3, 'ORG-SETUP');
});

test('a body that nests too deep is 400, before it is parsed', async () => {
  const nested = (levels: number) => `{"x":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
  assertError(await api.call('POST', SETUP, nested(MOST_NESTED)), 400, 3, 'ORG-SETUP');
  assertError(await api.call('POST', SETUP, nested(MOST_NESTED + 1)), 400, 3, 'REQUEST-DEPTH');
  // The body ends too early, which the parser would report.
  assertError(await api.call('POST', HUMANS, `{"x":${'['.repeat(50_000)}`), 400, 3, 'REQUEST-DEPTH');
});

test('a compressed body is 415, as it may be a thousand times larger than what was sent', async () => {
  for (const path of [SETUP, HUMANS, '/v2beta/users', '/management/v1/users/human/_import']) {
    const headers = { 'content-encoding': 'gzip' };
    assertError(await api.call('POST', path, gzipSync('{}'), { headers }), 415, 3, 'REQUEST-ENCODING');
  }
});

test('a caller has at most two large bodies under way; small ones do not count', async () => {
  const { token } = await api.machine((await api.setupOrg()).orgId, ['ORG_OWNER']);
  const begin = () => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const sent = request(`${api.url}${HUMANS}`, { method: 'POST', headers });
    const answer = new Promise<IncomingMessage>((resolve, reject) => {
      sent.on('response', (res) => resolve(res.resume())).on('error', reject);
    });
    sent.write('{'); // of unknown length, so it may become large
    return { answer, end: () => sent.end('}') };
  };
  const begun = [begin(), begin(), begin()];
  const refused = await Promise.race(begun.map(({ answer }) => answer));
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '1']);

  const large = bodyOf(SMALL_BODY.bytes + 1);
  assertError(await api.call('POST', HUMANS, large, { token }), 429, 8, 'REQUEST-BODIES');
  assertError(await api.call('POST', HUMANS, {}, { token }), 400, 3, 'USER-INVALID');
  assertError(await api.call('POST', HUMANS, large), 400, 3, 'USER-INVALID'); // of another caller
  for (const { end } of begun) end();
  const statuses = await Promise.all(begun.map(async ({ answer }) => (await answer).statusCode));
  assert.deepEqual(statuses.sort(), [400, 400, 429]);
  assertError(await api.call('POST', HUMANS, large, { token }), 400, 3, 'USER-INVALID');
});

test('invalid UTF-8, NUL and lone surrogates are 400', async () => {
  const broken = Buffer.from([...Buffer.from('{"queries":[],"x":"'), 0xff, 0xfe, ...Buffer.from('"}')]);
  assertError(await api.call('POST', '/v2beta/users', broken), 400, 3, 'REQUEST-JSON');
  for (const escaped of ['\\u0000', '\\ud800']) {
    const answer = await api.call('POST', '/v2beta/users', `{"x":"${escaped}"}`);
    assertError(answer, 400, 3, 'USER-SEARCH');
    assert.equal(answer.body.details[1].fieldViolations[0].field, 'x');
  }
});

test('an unknown path is 404 code 5', async () => {
  for (const path of ['/nowhere', '/v2beta/nowhere', '/admin/v1/orgs/a/b']) {
    assertError(await api.call('GET', path), 404, 5, 'REQUEST-PATH');
  }
});

test('a wrong method on a known path is 405 code 12 with the supported methods', async () => {
  const one = await api.call('GET', SETUP);
  assertError(one, 405, 12, 'REQUEST-METHOD');
  assert.equal(one.headers.get('allow'), 'OPTIONS, POST');
  const two = await api.call('PATCH', '/v2beta/users/some-id');
  assertError(two, 405, 12, 'REQUEST-METHOD');
  assert.equal(two.headers.get('allow'), 'DELETE, GET, HEAD, OPTIONS');
  assertError(await api.call('POST', '/healthz', {}, { token: null }), 405, 12, 'REQUEST-METHOD');
});

test('TRACE does not return the request', async () => {
  const traced = request(`${api.url}/management/v1/me`, {
    method: 'TRACE',
    headers: { authorization: 'Bearer SECRET' },
  });
  const [response] = (await once(traced.end(), 'response')) as [IncomingMessage];
  assert([401, 405].includes(response.statusCode as number));
  assert(!(await text(response)).includes('SECRET'));
});

test('a path without parameters has only its own methods, although it also matches a path with parameters', async () => {
  for (const [method, path] of [
    ['GET', HUMANS],
    ['DELETE', `${HUMANS}/`],
    ['DELETE', '/admin/v1/members/_search'],
  ] as const) {
    const answer = await api.call(method, path);
    assertError(answer, 405, 12, 'REQUEST-METHOD');
    assert.equal(answer.headers.get('allow'), 'OPTIONS, POST');
    assert.equal((await api.call(method, path, undefined, { token: null })).status, 401);
  }
  // An id can still be read when it is the last part of such a path.
  const user = { userId: 'human', profile: { givenName: 'A', familyName: 'B' }, email: { email: 'a@example.com' } };
  assert.equal((await api.call('POST', HUMANS, user, { orgId: (await api.setupOrg()).orgId })).status, 200);
  assert.equal((await api.call('GET', '/v2beta/users/%68uman')).body.user.userId, 'human');
});

test('OPTIONS answers the methods of each path, without a token', async () => {
  for (const [path, allowed] of [
    [HUMANS, 'OPTIONS, POST'],
    ['/v2beta/users/x/password', 'OPTIONS, POST'],
    ['/admin/v1/policies/password/age', 'GET, HEAD, OPTIONS, PUT'],
    ['/oauth/v2/token', 'OPTIONS, POST'],
    ['/oauth/v2/keys', 'GET, HEAD, OPTIONS'],
    ['/healthz', 'GET, HEAD, OPTIONS'],
  ]) {
    const answer = await api.call('OPTIONS', path as string, undefined, { token: null });
    assert.deepEqual([answer.status, answer.headers.get('allow')], [204, allowed], path);
  }
});

test('without a valid token every path but the public ones is 401, before the path and the body are checked', async () => {
  for (const [method, path, body] of [
    ['POST', SETUP, '{'],
    ['GET', '/v2beta/nowhere', undefined],
    ['PUT', '/management/v1/orgs/me', '{}'],
    ['GET', '/nowhere', undefined],
    ['GET', '/', undefined],
  ] as const) {
    for (const token of [null, 'wrong']) {
      const answer = await api.call(method, path, body, { token });
      assertError(answer, 401, 16, 'AUTH-TOKEN');
      assert.match(answer.headers.get('www-authenticate') ?? '', token ? /^Bearer error="invalid_token"/ : /^Bearer$/);
    }
  }
  for (const path of ['/docs/nowhere', '/.well-known/nowhere', '/ui/nowhere', '/oauth/nowhere']) {
    assert.equal((await api.call('GET', path, undefined, { token: null })).status, 404, path);
  }
});

test('an invalid percent-encoding or id in the path is 400', async () => {
  assertError(await rawGet('/v2beta/users/%ZZ'), 400, 3, 'REQUEST-PATH');
  assertError(await api.call('GET', '/v2beta/users/a%00b'), 400, 3, 'REQUEST-ID');
  assertError(await api.call('GET', `/v2beta/users/${'x'.repeat(201)}`), 400, 3, 'REQUEST-ID');
});

/** Sends the path unchanged; fetch would correct it. */
function rawGet(path: string): Promise<Answer> {
  const headers = { authorization: `Bearer ${api.token}` };
  return new Promise((resolve, reject) => {
    request(api.url, { path, headers }, async (res) => {
      let text = '';
      for await (const chunk of res.setEncoding('utf8')) text += chunk;
      const sent = new Headers(Object.entries(res.headers).map(([k, v]) => [k, String(v)] as [string, string]));
      resolve({ status: res.statusCode ?? 0, body: JSON.parse(text), headers: sent });
    })
      .on('error', reject)
      .end();
  });
}

test('/healthz and /readyz answer without a token', async () => {
  for (const path of ['/healthz', '/readyz']) {
    const answer = await api.call('GET', path, undefined, { token: null });
    assert.deepEqual([answer.status, answer.body], [200, { status: 'ok' }]);
  }
});
