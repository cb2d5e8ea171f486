/** Counts of failed logins: the delay of answers, and when counts end. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { pino } from 'pino';
import { readConfig } from '../../src/config.ts';
import { isAttempt } from '../../src/identity/login/attempts.ts';
import { countFailure, failureDelayMs, sweepFailures } from '../../src/identity/login/failures.ts';
import { deleteUser } from '../../src/users/store.ts';
import { startMaintenance } from '../../workers/maintenance.ts';
import { type TestDatabase, testDatabase } from '../support/stores/postgres.ts';
import { waitFor } from '../support/wait.ts';

let db: TestDatabase;
before(async () => {
  db = await testDatabase({ name: 'failures' });
});
after(() => db.drop());

const addUser = (id: string) =>
  db.pool.query(
    `insert into users (id, org_id, kind, state, user_name, user_name_key, email, sequence)
     values ($1, 'org', 'human', 'active', $1, $1, 'a@b', 1)`,
    [id],
  );

test('the delay begins with the fourth failure, doubles, and is at most two seconds', () => {
  const delays = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 5000].map((n) => failureDelayMs(n, 100));
  assert.deepEqual(delays, [0, 0, 0, 100, 200, 400, 800, 1600, 2000, 2000, 2000]);
  assert.deepEqual([failureDelayMs(4, 0), failureDelayMs(5000, 0)], [0, 0]);
});

test('names that compare as equal are counted together; others and ids separately', async () => {
  await countFailure(db.pool, { loginName: 'Zoë' }, undefined);
  assert.deepEqual(await countFailure(db.pool, { loginName: 'ZOE\u0308' }, undefined), { typed: 2, user: 0 });
  assert.deepEqual(await countFailure(db.pool, { loginName: 'zoe' }, undefined), { typed: 1, user: 0 });
  assert.deepEqual(await countFailure(db.pool, { userId: 'Zoë' }, undefined), { typed: 1, user: 0 });
});

test('nothing that was entered is stored', async () => {
  await countFailure(db.pool, { loginName: 'my secret' }, undefined);
  const { rows } = await db.pool.query('select * from login_delays');
  assert(rows.every((row) => Number.isSafeInteger(row.bucket) && row.bucket >= 0 && row.bucket < 2 ** 20));
  assert.deepEqual(Object.keys(rows[0]).sort(), ['bucket', 'failures', 'last_failure_at']);
});

test('no failure is lost among parallel ones', async () => {
  await addUser('busy');
  const counts = await Promise.all(
    Array.from({ length: 30 }, (_, i) => countFailure(db.pool, { loginName: `busy${i % 2}` }, 'busy')),
  );
  assert.deepEqual(
    counts.map((c) => c.user).sort((a, b) => a - b),
    Array.from({ length: 30 }, (_, i) => i + 1),
  );
});

test('a deleted user has no count, and a new user with the same id starts from zero', async () => {
  await addUser('gone');
  await countFailure(db.pool, { userId: 'gone' }, 'gone');
  await deleteUser(db.pool, { id: 'gone', orgId: 'org' }, 'system');
  assert.equal((await countFailure(db.pool, { userId: 'gone' }, 'gone')).user, 0);
  await addUser('gone');
  assert.equal((await countFailure(db.pool, { userId: 'gone' }, 'gone')).user, 1);
});

test('counts restart after a day without failures, and are swept', async () => {
  await addUser('old');
  await addUser('young');
  const both = async () => {
    await countFailure(db.pool, { loginName: 'old' }, 'old');
    return countFailure(db.pool, { loginName: 'young' }, 'young');
  };
  await db.pool.query('delete from login_failures; delete from login_delays');
  await both();
  await both();
  const age = `set last_failure_at = now() - interval '24 hours 1 second'`;
  await db.pool.query(`update login_failures ${age}; update login_delays ${age}`);
  assert.deepEqual(await both(), { typed: 1, user: 1 });
  await db.pool.query(`update login_failures ${age} where user_id = 'old'`);
  assert.equal(await sweepFailures(db.pool), 1);
  const { rows } = await db.pool.query('select user_id from login_failures');
  assert.deepEqual(rows, [{ user_id: 'young' }]);
  await db.pool.query(`update login_delays ${age}`);
  assert.equal(await sweepFailures(db.pool), 2);
});

test('the role maintenance removes counts that are past their time', async () => {
  await countFailure(db.pool, { loginName: 'long ago' }, undefined);
  await db.pool.query(`update login_delays set last_failure_at = now() - interval '2 days'`);
  const maintenance = startMaintenance({
    pool: db.pool,
    config: readConfig({}),
    logger: pino({ level: 'silent' }),
  });
  const isSwept = async () => (await db.pool.query('select 1 from login_delays')).rowCount === 0;
  await waitFor(isSwept, { what: 'the old count to be gone' });
  await maintenance.stop();
});

test('attempts with passwords and codes are distinguished from other requests', () => {
  const is = (method: string, originalUrl: string) => isAttempt({ method, originalUrl } as never);
  for (const path of [
    '/v2beta/sessions',
    '/V2beta/Sessions/?x=1',
    '/v2beta/users/auth0%7C1/email/verify',
    '/v2beta/users/a/phone/verify',
    '/v2beta/users/a/password',
    '/v2beta/users/a/password_reset',
    '/v2beta/users/a/totp/verify',
    '/oauth/v2/token',
    '/ui/login/abc',
    '/ui/reset',
  ]) {
    assert(is('POST', path), path);
    assert(!is('GET', path), path);
  }
  for (const path of [
    '/v2beta/users',
    '/v2beta/users/human',
    '/v2beta/users/a/lock',
    '/oauth/v2/keys',
    '/v2beta/sessionsx',
  ]) {
    assert(!is('POST', path), path);
  }
});
