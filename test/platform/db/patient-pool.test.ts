/** A server that refuses connections, because others have them. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { openPool, type Pool, REFUSED_MS } from '../../../src/platform/db/pool.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

const ALLOWED = 2;
const role = `few_${randomBytes(5).toString('hex')}`;

describe('a pool whose server has no connection left', () => {
  let db: TestDatabase;
  let url: string;
  const pools: Pool[] = [];
  const open = (max: number) => {
    const pool = openPool(url, { max });
    pools.push(pool);
    return pool;
  };
  const close = async (pool: Pool) => {
    await pool.end();
    pools.splice(pools.indexOf(pool), 1);
  };

  before(async () => {
    db = await testDatabase({ name: 'refused' });
    const password = randomBytes(12).toString('hex');
    await db.pool.query(`create role ${role} login password '${password}' connection limit ${ALLOWED}`);
    const own = new URL(db.url);
    own.username = role;
    own.password = password;
    own.searchParams.delete('user');
    url = own.toString();
  });
  after(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    await waitFor(async () => (await sessions()) === 0, { what: 'the sessions to end' });
    await db.pool.query(`drop role ${role}`);
    await db.drop();
  });
  async function sessions() {
    const { rows } = await db.pool.query('select count(*)::int from pg_stat_activity where usename = $1', [role]);
    return rows[0].count as number;
  }

  it('does more at once than there are connections', async () => {
    const pool = open(8);
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => pool.query('select $1::int as i', [i])));
    assert.deepEqual(
      answers.map(({ rows }) => rows[0].i),
      Array.from({ length: 40 }, (_, i) => i),
    );
    await close(pool);
  });

  it('waits for one that another pool gives back', async () => {
    const other = open(ALLOWED);
    const held = await Promise.all(Array.from({ length: ALLOWED }, () => other.connect()));
    const mine = open(1);
    const answer = mine.query('select 1 as one');
    // Between its attempts to connect, the pool has no connection.
    await waitFor(async () => mine.totalCount === 0, { what: 'a refusal' });
    for (const client of held) client.release();
    assert.equal((await answer).rows[0].one, 1);
    await Promise.all([close(mine), close(other)]);
  });

  it('gets those that another pool of the process uses again and again', async () => {
    const other = open(ALLOWED);
    const useAll = () => Promise.all(Array.from({ length: ALLOWED }, () => other.query('select pg_sleep(0.01)')));
    await useAll();
    let isOver = false;
    const using = (async () => {
      while (!isOver) {
        await useAll();
        await setTimeout(50); // far less than the time after which an unused connection is closed
      }
    })();
    const mine = open(1);
    const { rows } = await mine.query('select 1 as one').finally(() => {
      isOver = true;
    });
    assert.equal(rows[0].one, 1);
    await using;
    await Promise.all([close(mine), close(other)]);
  });

  it('fails after a while with the code of the server', { timeout: 60_000 }, async () => {
    const other = open(ALLOWED);
    const held = await Promise.all(Array.from({ length: ALLOWED }, () => other.connect()));
    const mine = open(4);
    const start = performance.now();
    await assert.rejects(mine.query('select 1'), { code: '53300' });
    assert.ok(performance.now() - start >= REFUSED_MS - 100);
    for (const client of held) client.release();
  });
});
