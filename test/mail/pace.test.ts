import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Db } from '../../src/db/pool.ts';
import { openPace } from '../../src/mail/pace.ts';
import { type TestDatabase, testDatabase } from '../support/postgres.ts';

describe('the pace of mails', () => {
  let db: TestDatabase;
  before(async () => {
    db = await testDatabase({ name: 'pace' });
  });
  beforeEach(() => db.pool.query('delete from mail_pace'));
  after(() => db.drop());

  /** When each of `count` turns came, in milliseconds, over all paces. */
  async function times(paces: (() => Promise<void>)[], count: number): Promise<number[]> {
    const turns = Array.from({ length: count }, async (_, n) => {
      await (paces[n % paces.length] as () => Promise<void>)();
      return performance.now();
    });
    return (await Promise.all(turns)).sort((a, b) => a - b);
  }
  const span = (at: number[]) => (at.at(-1) as number) - (at[0] as number);

  it('is one for all processes, even, and as fast as it may be', async () => {
    const paces = [openPace(db.pool, 100), openPace(db.pool, 100)];
    const at = await times(paces, 60);
    assert.ok(span(at) >= 580 && span(at) < 1000, `60 turns of 10 ms in ${span(at)} ms`);
    const halves = [span(at.slice(0, 30)), span(at.slice(30))];
    for (const ms of halves) assert.ok(ms > 200, `half of them in ${halves} ms`);
  });

  it('lets a lone one go at once, and saves nothing up', async () => {
    const pace = openPace(db.pool, 1);
    const began = performance.now();
    await pace();
    assert.ok(performance.now() - began < 500);
    await db.pool.query(`update mail_pace set free_at = now() - interval '1 hour'`);
    const at = await times([openPace(db.pool, 20)], 3);
    assert.ok(span(at) >= 95, `three turns of 50 ms in ${span(at)} ms`);
  });

  it('says when the database is away, to each who waits, and goes on after', async () => {
    const away = new Error('away');
    let isAway = true;
    const store = { query: (q: never) => (isAway ? Promise.reject(away) : db.pool.query(q)) } as unknown as Db;
    const pace = openPace(store, 100);
    const both = await Promise.allSettled([pace(), pace()]);
    assert.deepEqual(
      both.map((one) => one.status === 'rejected' && one.reason),
      [away, away],
    );
    isAway = false;
    await pace();
  });
});
