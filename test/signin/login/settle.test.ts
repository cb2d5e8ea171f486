/** The last step of a login: one statement, which forgets failures of active users only. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { openHasher } from '../../../src/passwords/hasher.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { recordLogin } from '../../../src/signin/login/attempts.ts';
import { checkLogin } from '../../../src/signin/login/check.ts';
import { attemptKeys, countAttempt, userKeys } from '../../../src/signin/login/delays.ts';
import { startApi, type TestApi } from '../../support/api.ts';

const NETWORK = '203.0.113.7';
const CONFIG = { LOCK_AFTER_FAILURES: 10, LOGIN_DELAY_MS: 100 };

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.stop());

/** A user with two failures and an attempt that is counted. */
async function tried() {
  const { userId } = await api.setupOrg();
  const { pool, secrets } = api.deps;
  const keys = attemptKeys(secrets, { userId }, { network: NETWORK });
  const user = userKeys(secrets, userId, { network: NETWORK });
  for (let n = 0; n < 2; n++) await countAttempt(pool, CONFIG, keys, user);
  const count = await countAttempt(pool, CONFIG, keys, user);
  const { rows } = await pool.query('select password_changed_at::text as at from users where id = $1', [userId]);
  return { login: { id: userId, passwordSetAt: rows[0].at as string | null }, counted: { keys, count, user } };
}

/** Failures that count here and everywhere, the number of networks, and whether the login was recorded. */
async function left({ login, counted: { keys } }: Awaited<ReturnType<typeof tried>>) {
  const { rows } = await api.deps.pool.query<{ counts: number[]; networks: number; seen: boolean }>(
    `select coalesce((select array_agg(failures order by bucket) from login_delays where bucket in ($2, $3)), '{}') as counts,
       (select count(*)::int from login_networks where user_id = $1) as networks,
       (select last_login_at is not null from users where id = $1) as seen`,
    [login.id, keys.here, keys.everywhere],
  );
  return rows[0];
}

test('an active user has no failures of the network any more, and the network is known', async () => {
  const one = await tried();
  assert.equal(await recordLogin(api.deps.pool, one.login, { hasCode: false }, one.counted), 'active');
  assert.deepEqual(await left(one), { counts: [2], networks: 1, seen: true });
});

const UNCHANGED = { counts: [3, 3], networks: 0, seen: false };

test('failures remain when the user is locked, or was given another password or deleted during the check', async () => {
  for (const [change, expected] of [
    [`update users set state = 'locked' where id = $1`, 'locked'],
    [`update users set state = 'inactive' where id = $1`, 'inactive'],
    [`update users set password_changed_at = now() where id = $1`, undefined],
  ] as const) {
    const one = await tried();
    await api.deps.pool.query(change, [one.login.id]);
    assert.equal(await recordLogin(api.deps.pool, one.login, { hasCode: false }, one.counted), expected);
    assert.deepEqual(await left(one), UNCHANGED, change);
  }
});

test('failures remain while the code of the second factor is missing', async () => {
  const one = await tried();
  await api.deps.pool.query(
    `insert into user_totp (user_id, secret, confirmed_at, last_step) values ($1, 'sealed', now(), 0)`,
    [one.login.id],
  );
  assert.equal(await recordLogin(api.deps.pool, one.login, { hasCode: false }, one.counted), 'code_missing');
  assert.deepEqual(await left(one), UNCHANGED);
  assert.equal(await recordLogin(api.deps.pool, one.login, { hasCode: true }, one.counted), 'active');
});

test('the right password takes three statements: the user, the count, and the last step', async () => {
  const { userId } = await api.setupOrg();
  const { pool } = api.deps;
  const hasher = openHasher({ threads: 1, bcryptCost: 10 });
  await pool.query('update users set password_hash = $2 where id = $1', [userId, await hasher.hash('correct horse')]);
  const sent: string[] = [];
  const counting = {
    query(query: { text: string }) {
      sent.push(query.text);
      return pool.query(query);
    },
  } as unknown as Pool;
  const login = () =>
    checkLogin(
      { ...api.deps, pool: counting, hasher },
      { user: { userId }, network: NETWORK },
      { password: 'correct horse' },
    );
  assert.equal((await login()).id, userId);
  await hasher.close();
  assert.equal(sent.length, 3, sent.join('\n\n'));
});
