import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Db } from '../../src/db/pool.ts';
import { openRateLimiter, type RateLimiter } from '../../src/mail/rate-limiter.ts';
import { type TestDatabase, testDatabase } from '../support/stores/postgres.ts';
import { waitFor } from '../support/wait.ts';

describe('the pace of mails', () => {
  let db: TestDatabase;
  before(async () => {
    db = await testDatabase({ name: 'pace' });
  });
  beforeEach(() => db.pool.query('delete from mail_pace'));
  after(() => db.drop());

  /** When each of `count` turns came, in milliseconds, over all paces. */
  async function times(paces: RateLimiter[], count: number): Promise<number[]> {
    const turns = Array.from({ length: count }, async (_, n) => {
      assert.equal(await (paces[n % paces.length] as RateLimiter).turn(), true);
      return performance.now();
    });
    return (await Promise.all(turns)).sort((a, b) => a - b);
  }
  const span = (at: number[]) => (at.at(-1) as number) - (at[0] as number);

  it('is one for all processes, even, and as fast as it may be', async () => {
    const paces = [openRateLimiter(db.pool, 100), openRateLimiter(db.pool, 100)];
    const at = await times(paces, 60);
    assert.ok(span(at) >= 500, `60 turns of 10 ms in ${span(at)} ms`);
    const halves = [span(at.slice(0, 30)), span(at.slice(30))];
    for (const ms of halves) assert.ok(ms > 200, `half of them in ${halves} ms`);
  });

  it('takes no more of the time than it needs', async () => {
    await db.pool.query(`insert into mail_pace values ('mails', now() + interval '30 seconds')`);
    const before = await freeAt();
    const paces = [openRateLimiter(db.pool, 100), openRateLimiter(db.pool, 100)];
    const turns = Array.from({ length: 60 }, (_, n) => (paces[n % 2] as RateLimiter).turn());
    await waitFor(async () => (await freeAt()) - before >= 599, { what: '60 moments' });
    for (const pace of paces) pace.stop();
    assert.deepEqual(new Set(await Promise.all(turns)), new Set([false]));
    assert.ok((await freeAt()) - before <= 601, 'they are of 10 ms each');
  });
  /** The next moment that nobody has, in milliseconds. */
  const freeAt = async (): Promise<number> =>
    (await db.pool.query('select extract(epoch from free_at)::float8 * 1000 as ms from mail_pace')).rows[0].ms;

  it('lets a lone one go at once, and saves nothing up', async () => {
    const pace = openRateLimiter(db.pool, 0.01);
    const began = performance.now();
    await pace.turn();
    assert.ok(performance.now() - began < 50_000, 'the next one would go after 100 s');
    await db.pool.query(`update mail_pace set free_at = now() - interval '1 hour'`);
    const at = await times([openRateLimiter(db.pool, 20)], 3);
    assert.ok(span(at) >= 60, `three turns of 50 ms in ${span(at)} ms`);
  });

  it('is never more than a minute ahead, whatever became of the clock and of those who asked', async () => {
    await db.pool.query(`insert into mail_pace values ('mails', now() + interval '3 hours')`);
    const pace = openRateLimiter(db.pool, 10);
    const turn = pace.turn();
    await waitFor(async () => (await ahead()) < 62, { what: 'a free moment within a minute' });
    pace.stop();
    assert.equal(await turn, false, 'who is stopped does not go');
    assert.equal(await pace.turn(), false, 'nor who asks after');
  });
  const ahead = async () =>
    (await db.pool.query('select extract(epoch from free_at - now())::float8 as s from mail_pace')).rows[0].s;

  it('says when the database is away, to each who waits, and goes on after', async () => {
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
