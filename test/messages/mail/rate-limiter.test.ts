import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { openRateLimiter, type RateLimiter } from '../../../src/messages/mail/relay.ts';
import type { Db } from '../../../src/platform/db/pool.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

describe('the rate limiter of mails', () => {
  let db: TestDatabase;
  before(async () => {
    db = await testDatabase({ name: 'pace' });
  });
  beforeEach(() => db.pool.query('delete from mail_pace'));
  after(() => db.drop());

  /** When each of `count` turns came, in milliseconds since they were asked for, over all limiters. */
  async function times(paces: RateLimiter[], count: number): Promise<number[]> {
    const began = performance.now();
    const turns = Array.from({ length: count }, async (_, n) => {
      assert.equal(await (paces[n % paces.length] as RateLimiter).turn(), true);
      return performance.now() - began;
    });
    return (await Promise.all(turns)).sort((a, b) => a - b);
  }

  it('is shared by all processes, even, and as fast as allowed', async () => {
    const paces = [openRateLimiter(db.pool, 100), openRateLimiter(db.pool, 100)];
    const at = await times(paces, 60);
    // A tenth of a second's worth may go at once.
    for (const [n, ms] of at.entries()) assert.ok(ms >= n * 10 - 100, `turn ${n} of 10 ms after ${ms} ms`);
  });

  it('takes no more slots than it needs', async () => {
    await db.pool.query(`insert into mail_pace values ('mails', now() + interval '30 seconds')`);
    const before = await freeAt();
    const paces = [openRateLimiter(db.pool, 100), openRateLimiter(db.pool, 100)];
    const turns = Array.from({ length: 60 }, (_, n) => (paces[n % 2] as RateLimiter).turn());
    await waitFor(async () => (await freeAt()) - before >= 599, { what: '60 slots' });
    for (const pace of paces) pace.stop();
    assert.deepEqual(new Set(await Promise.all(turns)), new Set([false]));
    assert.ok((await freeAt()) - before <= 601, 'each is 10 ms long');
  });
  /** The next free slot, in milliseconds. */
  const freeAt = async (): Promise<number> =>
    (await db.pool.query('select extract(epoch from free_at)::float8 * 1000 as ms from mail_pace')).rows[0].ms;

  it('lets a single mail go at once, and does not save up unused slots', async () => {
    const pace = openRateLimiter(db.pool, 0.01);
    const began = performance.now();
    await pace.turn();
    assert.ok(performance.now() - began < 50_000, 'the next one would wait 100 s');
    await db.pool.query(`update mail_pace set free_at = now() - interval '1 hour'`);
    const [, , third = 0] = await times([openRateLimiter(db.pool, 20)], 3);
    assert.ok(third >= 60, `three turns of 50 ms in ${third} ms`);
  });

  it('is never more than a minute ahead, even after clock changes and crashes', async () => {
    await db.pool.query(`insert into mail_pace values ('mails', now() + interval '3 hours')`);
    const pace = openRateLimiter(db.pool, 10);
    const turn = pace.turn();
    await waitFor(async () => (await ahead()) < 62, { what: 'a free slot within a minute' });
    pace.stop();
    assert.equal(await turn, false, 'a stopped limiter does not let waiting mails go');
    assert.equal(await pace.turn(), false, 'nor later ones');
  });
  const ahead = async () =>
    (await db.pool.query('select extract(epoch from free_at - now())::float8 as s from mail_pace')).rows[0].s;

  it('reports an unavailable database to each waiting caller, and works again afterwards', async () => {
    const away = new Error('away');
    let isAway = true;
    const store = { query: (q: never) => (isAway ? Promise.reject(away) : db.pool.query(q)) } as unknown as Db;
    const pace = openRateLimiter(store, 100);
    const both = await Promise.allSettled([pace.turn(), pace.turn()]);
    assert.deepEqual(
      both.map((one) => one.status === 'rejected' && one.reason),
      [away, away],
    );
    isAway = false;
    await pace.turn();
  });
});
