/** Users from the APIs of other systems, each played by a server that speaks the documented protocol. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { gzipSync } from 'node:zlib';
import { auth0 } from '../../../../src/sources/pull/systems/auth0.ts';
import { keycloak } from '../../../../src/sources/pull/systems/keycloak.ts';
import { kratos } from '../../../../src/sources/pull/systems/kratos.ts';
import { okta } from '../../../../src/sources/pull/systems/okta.ts';
import { type FakeAnswer, type FakeRequest, startFake } from '../../../support/pull/fake.ts';
import { readAll } from '../../../support/pull/read.ts';

const DENIED = { name: 'PullError', trouble: 'denied' };

test('Okta: pages by the Link header, its limit, changes, a place to go on', async (t) => {
  const users = [1, 2, 3, 4, 5].map((n) => ({
    id: `00u${n}`,
    status: 'ACTIVE',
    lastUpdated: `2026-0${n}-01T00:00:00.000Z`,
  }));
  let limited = 1;
  const { url, requests } = await startFake(t, ({ url, headers }): FakeAnswer | undefined => {
    if (url.pathname !== '/api/v1/users') return undefined;
    if (headers.authorization !== 'SSWS good') return { status: 401, body: { errorSummary: 'Invalid token provided' } };
    if (limited-- > 0)
      return { status: 429, headers: { 'retry-after': '0' }, body: { errorSummary: 'API call exceeded' } };
    const since = /^lastUpdated gt "(.+)"$/.exec(url.searchParams.get('search') ?? '')?.[1] ?? '';
    const found = users.filter(({ lastUpdated }) => lastUpdated > since);
    const [from, limit] = [Number(url.searchParams.get('after') ?? 0), Number(url.searchParams.get('limit'))];
    const self = `<${url.href}>; rel="self"`;
    const next = new URL(url);
    next.searchParams.set('after', String(from + limit));
    const link = from + limit < found.length ? `${self}, <${next.href}>; rel="next"` : self;
    return { headers: { link }, body: found.slice(from, from + limit) };
  });
  const options = { host: url, 'page-size': '2' };
  const secrets = { token: 'good' };
  const { pages, records } = await readAll(okta, { options, secrets });
  assert.deepEqual(
    records.map(({ id }) => id),
    ['00u1', '00u2', '00u3', '00u4', '00u5'],
  );
  assert.equal(requests.length, 4);
  const rest = await readAll(okta, { options, secrets, cursor: pages[0]?.cursor });
  assert.deepEqual(
    rest.records.map(({ id }) => id),
    ['00u3', '00u4', '00u5'],
  );
  const changed = await readAll(okta, { options, secrets, since: '2026-03-15T00:00:00.000Z' });
  assert.deepEqual(
    changed.records.map(({ id }) => id),
    ['00u4', '00u5'],
  );
  await assert.rejects(readAll(okta, { options, secrets: { token: 'bad' } }), {
    ...DENIED,
    message: 'Okta answered 401: Invalid token provided.',
  });
});

function tokenFor(request: FakeRequest, given: Record<string, string>): FakeAnswer {
  const form = Object.fromEntries(new URLSearchParams(request.body));
  const isRight = Object.entries({ grant_type: 'client_credentials', ...given }).every(
    ([name, value]) => form[name] === value,
  );
  if (!isRight) return { status: 401, body: { error: 'invalid_client', error_description: 'Wrong client' } };
  return { body: { access_token: 'bearer-1', expires_in: 300, token_type: 'Bearer' } };
}

test('Keycloak: a client of a realm, pages by offset', async (t) => {
  const users = Array.from({ length: 5 }, (_, n) => ({
    id: `u${n}`,
    username: `u${n}`,
    enabled: true,
    createdTimestamp: n,
  }));
  const { url, requests } = await startFake(t, (request) => {
    const { pathname, searchParams } = request.url;
    if (pathname === '/realms/my%20shop/protocol/openid-connect/token')
      return tokenFor(request, { client_id: 'reader', client_secret: 'good' });
    if (pathname !== '/admin/realms/my%20shop/users') return undefined;
    if (request.headers.authorization !== 'Bearer bearer-1') return { status: 401 };
    const first = Number(searchParams.get('first'));
    return { body: users.slice(first, first + Number(searchParams.get('max'))) };
  });
  const options = { host: url, realm: 'my shop', 'client-id': 'reader', 'page-size': '2' };
  const { pages, records } = await readAll(keycloak, { options, secrets: { secret: 'good' } });
  assert.deepEqual([pages.length, records.length], [3, 5]);
  assert.equal(requests.filter(({ method }) => method === 'POST').length, 1);
  await assert.rejects(readAll(keycloak, { options, secrets: { secret: 'bad' } }), {
    ...DENIED,
    message: 'Keycloak answered 401: Wrong client.',
  });
});

test('Auth0: a job is started, waited for, and its file is read', async (t) => {
  const users = Array.from({ length: 1500 }, (_, n) => ({ user_id: `auth0|${n}`, email: `a${n}@example.com` }));
  let polls = 0;
  let file = gzipSync(users.map((user) => `${JSON.stringify(user)}\n`).join(''));
  const { url, requests } = await startFake(t, (request) => {
    const { pathname } = request.url;
    if (pathname === '/oauth/token')
      return tokenFor(request, { client_id: 'm2m', client_secret: 'good', audience: `${url}/api/v2/` });
    if (pathname === '/file.json.gz') return { body: file };
    if (request.headers.authorization !== 'Bearer bearer-1') return { status: 401 };
    if (pathname === '/api/v2/jobs/users-exports') return { body: { id: 'job_1', status: 'pending' } };
    if (pathname !== '/api/v2/jobs/job_1') return undefined;
    return { body: { id: 'job_1', status: polls++ > 0 ? 'completed' : 'processing', location: `${url}/file.json.gz` } };
  });
  const options = { host: url, 'client-id': 'm2m', connection: 'con_1' };
  const secrets = { secret: 'good' };
  const { pages, records } = await readAll(auth0, { options, secrets });
  assert.deepEqual(
    pages.map(({ records }) => records.length),
    [1000, 500],
  );
  assert.deepEqual(records.at(-1), users.at(-1));
  const order = JSON.parse(requests.find(({ url }) => url.pathname.endsWith('users-exports'))?.body ?? '{}');
  assert.deepEqual([order.format, order.connection_id, order.fields[0]], ['json', 'con_1', { name: 'user_id' }]);
  // The storage of the file must not get the token.
  assert.equal(requests.find(({ url }) => url.pathname === '/file.json.gz')?.headers.authorization, undefined);
  file = file.subarray(0, file.length / 2);
  await assert.rejects(readAll(auth0, { options, secrets }), { name: 'PullError', trouble: 'unreachable' });
  await assert.rejects(readAll(auth0, { options, secrets: { secret: 'bad' } }), DENIED);
});

test('Kratos: pages by token, with the credentials that the source reads', async (t) => {
  const all = Array.from({ length: 5 }, (_, n) => ({ id: `id-${n}`, schema_id: 'default', traits: {} }));
  const { url, requests } = await startFake(t, ({ url, headers }): FakeAnswer | undefined => {
    if (url.pathname !== '/admin/identities') return undefined;
    if (headers.authorization !== 'Bearer ory_pat_1')
      return { status: 401, body: { error: { message: 'Unauthorized' } } };
    const [from, size] = [Number(url.searchParams.get('page_token') ?? 0), Number(url.searchParams.get('page_size'))];
    const link =
      from + size < all.length ? `</admin/identities?page_size=${size}&page_token=${from + size}>; rel="next"` : '';
    return { headers: link === '' ? {} : { link }, body: all.slice(from, from + size) };
  });
  const options = { host: url, 'page-size': '2' };
  const secrets = { token: 'ory_pat_1' };
  const { pages, records } = await readAll(kratos, { options, secrets });
  assert.deepEqual(records, all);
  assert.deepEqual(requests[0]?.url.searchParams.getAll('include_credential'), [
    'password',
    'oidc',
    'totp',
    'code',
    'webauthn',
    'passkey',
    'lookup_secret',
  ]);
  assert.equal((await readAll(kratos, { options, secrets, cursor: pages[1]?.cursor })).records.length, 1);
  await assert.rejects(readAll(kratos, { options }), { ...DENIED, message: 'Kratos answered 401: Unauthorized.' });
});
