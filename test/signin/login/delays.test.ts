/** Counts of failed attempts: delays, locks, and when they end. A transaction stops the clock of the database. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type pg from 'pg';
import { transaction } from '../../../src/platform/db/pool.ts';
import { openSecrets } from '../../../src/platform/encryption.ts';
import { recordLogin } from '../../../src/signin/login/attempts.ts';
import {
  type AttemptCount,
  type AttemptKeys,
  attemptKeys,
  countAttempt,
  isLocking,
  sweepDelays,
  takeBack,
  type UserKeys,
  userKeys,
} from '../../../src/signin/login/delays.ts';
import { unique } from '../../support/answers.ts';
import { addOrgs } from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

/** Always the same, as two users of a random one may share a bucket. */
const secrets = openSecrets(Buffer.alloc(32, 7).toString('base64'));
const CONFIG = { LOCK_AFTER_FAILURES: 10, LOGIN_DELAY_MS: 100 };
const MINUTE = 60_000;

let db: TestDatabase;
before(async () => {
  db = await testDatabase({ name: 'delays' });
  await addOrgs(db.pool, 'org');
});
after(() => db.drop());

const of = (id: string | undefined, network = 'home') => userKeys(secrets, id, { network });
const keysOf = (loginName: string, network = 'home') => attemptKeys(secrets, { loginName }, { network });
const take = (on: pg.ClientBase | pg.Pool, loginName: string, network?: string, config = CONFIG) =>
  countAttempt(on, config, keysOf(loginName, network), of(undefined, network));

/** The attempt was right; `id` is that of an active user. */
async function forgive(
  on: pg.ClientBase | pg.Pool,
  keys: AttemptKeys,
  count: AttemptCount,
  user: UserKeys,
  id = user.id,
) {
  assert(id !== undefined);
  assert.equal(await recordLogin(on, { id, passwordSetAt: null }, { hasCode: true }, { keys, count, user }), 'active');
}

/** Lets this much time pass for all counts. */
const pass = (on: pg.ClientBase | pg.Pool, interval: string) =>
  on.query(
    `update login_delays set open_at = open_at - $1::interval, last_failure_at = last_failure_at - $1::interval`,
    [interval],
  );

/** Fails so often, waiting before each attempt until it may be checked; returns the waits. */
async function failing(on: pg.ClientBase, name: string, times: number, network?: string, config = CONFIG) {
  const waits: number[] = [];
  for (let i = 0; i < times; i++) {
    const { waitMs } = await take(on, name, network, config);
    waits.push(waitMs);
    if (waitMs === 0) continue;
    await pass(on, `${waitMs} ms`);
    assert.equal((await take(on, name, network, config)).waitMs, 0);
  }
  return waits;
}

test('the fifth attempt waits, each further one twice as long, and ten failures lock for a time that doubles', async () => {
  await transaction(db.pool, async (on) => {
    const waits = await failing(on, unique('ann'), 18);
    assert.deepEqual(waits.slice(0, 10), [0, 0, 0, 0, 100, 200, 400, 800, 1600, 2000]);
    const locks = [1, 2, 4, 8, 16, 32, 60, 60].map((minutes) => minutes * MINUTE);
    assert.deepEqual(waits.slice(10), locks);
    const off = { LOCK_AFTER_FAILURES: 0, LOGIN_DELAY_MS: 0 };
    assert.deepEqual(new Set(await failing(on, unique('ann'), 120, 'home', off)), new Set([0]));
  });
});

test('parallel attempts get one count, however many processes make them', async () => {
  const name = unique('ann');
  const slow = { ...CONFIG, LOGIN_DELAY_MS: 2000 };
  await transaction(db.pool, async (on) => {
    await failing(on, name, 4, 'home', slow);
    const places: AttemptCount[] = [];
    for (let i = 0; i < 5; i++) places.push(await take(on, name, 'home', slow));
    assert.deepEqual(
      places.map((p) => p.waitMs),
      Array(5).fill(2000),
    );
    await pass(on, '2 seconds');
    for (let i = 0; i < 5; i++) places.push(await take(on, name, 'home', slow));
    assert.deepEqual(
      places.slice(5).map((p) => p.waitMs),
      [0, 2000, 2000, 2000, 2000],
    );
  });
  const busy = unique('busy');
  const all = await Promise.all(
    Array.from({ length: 30 }, () => take(db.pool, busy, 'home', { ...CONFIG, LOGIN_DELAY_MS: 0 })),
  );
  const counted = all.flatMap(({ here }) => here ?? []).sort((a, b) => a - b);
  assert.deepEqual(counted, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 'no attempt more than one after the other');
});

test('an attempt that is taken back leaves count and delay as they were, unless a later one was counted', async () => {
  await transaction(db.pool, async (on) => {
    const name = unique('ann');
    const keys = keysOf(name);
    await takeBack(on, keys, await take(on, name));
    assert.equal((await on.query('select from login_delays where bucket = $1', [keys.here])).rowCount, 0);
    await failing(on, name, 9);
    await pass(on, '2 seconds');
    const count = await take(on, name);
    assert(isLocking(count, CONFIG));
    await takeBack(on, keys, count);
    assert.deepEqual(await take(on, name), { ...count, waitMs: 0 });
    await takeBack(on, keys, { ...count, here: 9, everywhere: 9 });
    assert.equal((await take(on, name)).waitMs, MINUTE);
  });
});

test('success forgets the failures from its network, and takes only itself back from those of all networks', async () => {
  await transaction(db.pool, async (on) => {
    const name = unique('ann');
    await failing(on, name, 3);
    await failing(on, name, 2, 'work');
    await forgive(on, keysOf(name), await take(on, name), of(undefined), await addUser());
    const { here, everywhere } = await take(on, name);
    assert.deepEqual([here, everywhere], [1, 6]);
    assert.equal((await take(on, name, 'work')).here, 3);
  });
});

test('names that compare as equal are counted together; others and ids separately', async () => {
  const one = await take(db.pool, 'Zoë');
  assert.deepEqual([one.here, (await take(db.pool, 'ZOE\u0308')).here, (await take(db.pool, 'zoe')).here], [1, 2, 1]);
  assert.equal(
    (await countAttempt(db.pool, CONFIG, attemptKeys(secrets, { userId: 'Zoë' }, { network: 'home' }), of(undefined)))
      .here,
    1,
  );
});

test('nothing that was entered is stored, and the table is bounded', async () => {
  await take(db.pool, 'my secret');
  const { rows } = await db.pool.query('select * from login_delays');
  assert(rows.every(({ bucket }) => Number.isSafeInteger(bucket) && bucket >= 0 && bucket < 2 ** 25));
  assert.deepEqual(Object.keys(rows[0]).sort(), ['bucket', 'failures', 'last_failure_at', 'open_at', 'user_key']);
  const other = openSecrets(Buffer.alloc(32, 8).toString('base64'));
  assert.notDeepEqual(
    attemptKeys(other, { loginName: 'my secret' }, { network: 'home' }),
    keysOf('my secret'),
    'keyed',
  );
});

test('an attack from many networks locks all, except those from which the user has logged in lately', async () => {
  const id = await addUser();
  const keys = (network: string) => attemptKeys(secrets, { userId: id }, { network });
  const from = (on: pg.ClientBase, network: string) => countAttempt(on, CONFIG, keys(network), of(id, network));
  for (const network of ['home', 'long ago']) {
    await forgive(db.pool, keys(network), { waitMs: 0, here: null, everywhere: null }, of(id, network));
  }
  await db.pool.query(`update login_networks set last_login_at = now() - interval '31 days' where network = $1`, [
    of(id, 'long ago').network,
  ]);
  await transaction(db.pool, async (on) => {
    for (let n = 0; n < 10; n++) {
      for (let i = 0; i < 10; i++) {
        await on.query('update login_delays set open_at = now() where bucket = $1', [keys(`bot ${n}`).here]);
        assert.equal((await from(on, `bot ${n}`)).waitMs, 0);
      }
    }
    for (const network of ['bot 11', 'long ago']) assert.equal((await from(on, network)).waitMs, MINUTE);
    assert.equal((await from(on, 'home')).waitMs, 0);
    const nobody = (network: string) =>
      countAttempt(on, CONFIG, attemptKeys(secrets, { userId: 'nobody' }, { network }), of(undefined, network));
    for (let n = 0; n < 100; n++) assert.equal((await nobody(`bot ${n}`)).waitMs, 0);
    assert.equal((await nobody('bot 100')).waitMs, MINUTE, 'unknown users alike');
  });
});

test('one network alone does not lock the others', async () => {
  await transaction(db.pool, async (on) => {
    const name = unique('ann');
    await failing(on, name, 20, 'a stale device');
    assert.deepEqual(await take(on, name, 'phone'), { waitMs: 0, here: 1, everywhere: 11 });
  });
});

test('only the user of the failures ends them early: not another one of the same name', async () => {
  const [ann, other] = [await addUser(), await addUser()];
  const name = unique('ann');
  const attempt = (on: pg.ClientBase, id: string) => countAttempt(on, CONFIG, keysOf(name), of(id));
  await transaction(db.pool, async (on) => {
    for (let i = 1; i < 4; i++) assert.equal((await attempt(on, ann)).here, i);
    const right = await attempt(on, other);
    await forgive(on, keysOf(name), right, of(other));
    assert.equal((await attempt(on, ann)).here, 4);
    await pass(on, '100 ms');
    await on.query(`update users set attempts_since = now() + interval '1 second' where id = $1`, [other]);
    assert.equal((await attempt(on, other)).here, 5);
  });
});

test('a new password or an unlock ends the failures and locks of its user', async () => {
  for (const column of ['password_changed_at', 'attempts_since']) {
    const id = await addUser();
    const attempt = (on: pg.ClientBase) => countAttempt(on, CONFIG, keysOf(id), of(id));
    await transaction(db.pool, async (on) => {
      await attempt(on);
      await on.query(`update login_delays set open_at = now() + interval '1 hour' where bucket = $1`, [
        keysOf(id).here,
      ]);
      assert.equal((await attempt(on)).waitMs, 60 * MINUTE);
      await on.query(`update users set ${column} = now() + interval '1 second' where id = $1`, [id]);
      assert.deepEqual(await attempt(on), { waitMs: 0, here: 1, everywhere: 1 });
    });
  }
});

test('counts restart after a day without failures, and are swept', async () => {
  await db.pool.query('delete from login_delays');
  await take(db.pool, 'old');
  await take(db.pool, 'old');
  await pass(db.pool, '24 hours 1 second');
  assert.equal((await take(db.pool, 'old')).here, 1);
  await take(db.pool, 'young');
  await db.pool.query(`update login_delays set last_failure_at = now() - interval '25 hours' where bucket = $1`, [
    keysOf('old').here,
  ]);
  assert.equal(await sweepDelays(db.pool), 1);
});

async function addUser(id = unique('u')): Promise<string> {
  await db.pool.query(
    `insert into users (id, org_id, kind, state, user_name, user_name_key, email, sequence)
     values ($1, 'org', 'human', 'active', $1, $1, 'a@b', 1)`,
    [id],
  );
  return id;
}
