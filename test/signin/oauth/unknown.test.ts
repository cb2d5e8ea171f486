/** What anybody can have stored, without having signed in. */
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { appendEvent } from '../../../src/platform/db/events.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import {
  AFTER_LOGOUT,
  addClient,
  authorizeUrl,
  Browser,
  loginUid,
  type TestClient,
  tokensOf,
} from '../../support/oauth.ts';

const VERIFIER = 'v'.repeat(43);
const LIMIT_KB = 20;
let api: TestApi;
let org: SetUp;
let client: TestClient;
before(async () => {
  api = await startApi({ env: { TRUST_PROXY: '1', RATE_LIMIT_UNKNOWN_KB: String(LIMIT_KB) } });
  org = await api.setupOrg();
  client = await addClient(api);
});
after(() => api.stop());

let lastAddress = 0;
/** An address that has nothing stored yet. */
const address = () => `203.0.113.${++lastAddress}`;
const stored = async () => {
  const { rows } = await api.deps.pool.query<{ bytes: number }>(
    'select coalesce(sum(length(payload::text)), 0)::int as bytes from oauth_models',
  );
  return rows[0]?.bytes ?? 0;
};
const authorize = (params: Record<string, string>, from: string, browser = new Browser()) =>
  browser.fetch(authorizeUrl(api, client, VERIFIER, { params }), { headers: { 'x-forwarded-for': from } });
const endSession = (state: string, from: string) =>
  new Browser().fetch(`${api.url}/oidc/v1/end_session?${new URLSearchParams({ state })}`, {
    headers: { 'x-forwarded-for': from, accept: 'application/json' },
  });
const device = (hint: string, from: string) =>
  fetch(`${api.url}/oauth/v2/device_authorization`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: 'muster-cli', scope: 'openid', login_hint: hint }),
    headers: { 'x-forwarded-for': from },
  });

test('parameters have 4 KB together; longer ones are refused before anything is stored', async () => {
  const before = await stored();
  const from = address();
  const long = 'x'.repeat(11_000);
  for (const name of ['state', 'nonce', 'login_hint', 'ui_locales']) {
    assert.equal((await authorize({ [name]: long }, from)).status, 400, name);
  }
  // Each is short enough alone.
  const parts = { state: 'x'.repeat(1500), nonce: 'x'.repeat(1500), login_hint: 'é'.repeat(750) };
  assert.equal((await authorize(parts, from)).status, 400);
  assert.equal((await endSession(long, from)).status, 400);
  const answer = await device(long, from);
  assert.deepEqual([answer.status, ((await answer.json()) as { error: string }).error], [400, 'invalid_request']);
  assert.equal(await stored(), before);
  const state = 'x'.repeat(3000);
  assert.ok(loginUid(await authorize({ state }, from)));
});

test('the hint of a sign-out, which is not stored, may be longer', async () => {
  const browser = new Browser();
  const { id_token: hint } = await tokensOf(api, client, { userId: org.userId, browser });
  const query = new URLSearchParams({
    id_token_hint: hint as string,
    post_logout_redirect_uri: AFTER_LOGOUT,
    state: 'x'.repeat(3900 - AFTER_LOGOUT.length),
  });
  assert.equal((await browser.fetch(`${api.url}/oidc/v1/end_session?${query}`)).status, 200);
});

for (const [name, send] of Object.entries({
  'sign-ins': (from: string) => authorize({ state: 'x'.repeat(3000) }, from),
  'sign-outs': (from: string) => endSession('x'.repeat(3000), from),
  'device codes': (from: string) => device('x'.repeat(3000), from),
})) {
  test(`a network has few ${name} stored in an hour, and others have theirs`, async () => {
    const [before, from] = [await stored(), address()];
    const answers: Response[] = [];
    for (let i = 0; i < 12; i++) answers.push(await send(from));
    const refused = answers.filter(({ status }) => status === 429);
    assert.ok(refused.length >= 6, answers.map(({ status }) => status).join(' '));
    assert.ok(Number(refused[0]?.headers.get('retry-after')) > 3500);
    assert.ok((await stored()) - before < LIMIT_KB * 1000);
    assert.notEqual((await send(address())).status, 429);
  });
}

test('who is signed in is counted too when they sign in again, and else goes on', async () => {
  const browser = new Browser();
  await tokensOf(api, client, { userId: org.userId, browser });
  const from = address();
  const answers: number[] = [];
  for (let i = 0; i < 12; i++) {
    answers.push((await authorize({ state: 'x'.repeat(3000), prompt: 'login' }, from, browser)).status);
  }
  assert.ok(answers.filter((status) => status === 429).length >= 6, answers.join(' '));
  const goesOn = await authorize({ state: 's' }, from, browser);
  assert.ok(new URL(goesOn.headers.get('location') ?? '').searchParams.get('code'));
});

test('all networks together have a hundred times as much', async () => {
  const { pool } = api.deps;
  // The only count that is that high.
  await pool.query(
    'update attempt_counts set attempts = 100 * $1 where attempts = (select max(attempts) from attempt_counts)',
    [LIMIT_KB],
  );
  assert.equal((await authorize({ state: 's' }, address())).status, 429);
});

test('users change their own account 200 times a day, and their managers go on', async () => {
  const { userId } = await api.setupOrg();
  const { pool } = api.deps;
  const of = { aggregateType: 'user', aggregateId: userId, resourceOwner: org.orgId } as const;
  const change = (editor: string) => appendEvent(pool, { ...of, type: 'user.human.changed', editor });
  for (let i = 0; i < 200; i++) await change(userId);
  await assert.rejects(change(userId), { id: 'RATE-LIMIT', http: 429 });
  await change('a manager');
});
