import assert from 'node:assert/strict';
import test, { before } from 'node:test';
import { sweepAudit } from '../../src/directory/audit.ts';
import type { Pool } from '../../src/platform/db/pool.ts';
import { testDatabase } from '../support/stores/postgres.ts';

let pool: Pool;
before(async () => {
  ({ pool } = await testDatabase());
});

const plant = (n: number, age: string) =>
  pool.query(
    `insert into audit_events (type, actor_kind, created_at)
     select 'user.locked', 'system', now() - $2::interval from generate_series(1, $1)`,
    [n, age],
  );
const left = async () => (await pool.query('select count(*)::int as n from audit_events')).rows[0].n;

test('events older than the retention time are deleted, in several batches and by several processes', async () => {
  await plant(1003, '8 days');
  await plant(2, '6 days');
  assert.equal(await sweepAudit(pool, 0), 0);
  const swept = await Promise.all([sweepAudit(pool, 7), sweepAudit(pool, 7)]);
  assert.equal((swept[0] ?? 0) + (swept[1] ?? 0) + (await sweepAudit(pool, 7)), 1003);
  assert.equal(await left(), 2);
});
