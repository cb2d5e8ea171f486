/** A process gives up a duty whose rounds fail, with and without access to the database. */
import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { pino } from 'pino';
import type { Pool } from '../../src/platform/db/pool.ts';
import { openCondition } from '../../src/platform/lifecycle.ts';
import { openDuty } from '../../workers/loop.ts';
import { testDatabase } from '../support/stores/postgres.ts';
import { waitFor } from '../support/wait.ts';

const FAULT = new Error('the queue is unavailable');
const fails = async () => Promise.reject(FAULT);
const works = async () => 7;

test('a holder keeps its duty after one failure; after two in a row, another process gets it at once', async (t) => {
  const { pool, duty } = await open(t);
  const condition = openCondition();
  const [a, b] = [duty('a', pool, condition), duty('b', pool)];
  await assert.rejects(a.round(fails), FAULT);
  assert.equal(await a.round(works), 7);
  assert.deepEqual(condition.failures(), []);
  assert.notEqual(await b.round(works), 7);

  await assert.rejects(a.round(fails), FAULT);
  await assert.rejects(a.round(fails), FAULT);
  assert.equal(await b.round(works), 7);
  assert.notEqual(await a.round(works), 7);
  assert.deepEqual(
    condition.failures().map(({ part }) => part),
    ['a duty'],
  );
});

test('a single process that failed takes its duty again after a pause', async (t) => {
  const { pool, duty } = await open(t);
  const a = duty('a', pool);
  for (const _ of [1, 2]) await assert.rejects(a.round(fails), FAULT);
  assert.notEqual(await a.round(works), 7);
  await waitFor(async () => (await a.round(works)) === 7, { what: 'the end of its pause' });
});

test('a holder without access to the database cannot renew its lease; another process gets the duty when it expires', async (t) => {
  const { pool, duty } = await open(t);
  let isAway = false;
  const query = (async (...args: [string]) => (isAway ? fails() : pool.query(...args))) as Pool['query'];
  const [a, b] = [duty('a', { query } as Pool), duty('b', pool)];
  assert.equal(await a.round(works), 7);
  isAway = true;
  for (const _ of [1, 2]) await assert.rejects(a.round(fails), FAULT);
  await waitFor(
    async () => {
      await a.round(works).catch((fault) => assert.equal(fault, FAULT));
      return (await b.round(works)) === 7;
    },
    { what: 'the lease to expire', timeoutMs: 20_000 },
  );
});

async function open(t: TestContext) {
  const db = await testDatabase(t);
  t.after(() => db.drop());
  const logger = pino({ level: 'silent' });
  const duty = (holder: string, pool: Pool, condition = openCondition()) =>
    openDuty('a duty', { pool, logger, condition }, holder);
  return { pool: db.pool, duty };
}
