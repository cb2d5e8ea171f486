import assert from 'node:assert/strict';
import test, { before } from 'node:test';
import {
  ADDRESSES,
  DETAILED,
  NAME_CHARS,
  recordFailedSignIn,
  recordFailure,
} from '../../src/directory/sign-in-events.ts';
import type { Pool } from '../../src/platform/db/pool.ts';
import { inRequestContext } from '../../src/platform/request-context.ts';
import { testDatabase } from '../support/stores/postgres.ts';

let pool: Pool;
before(async () => {
  ({ pool } = await testDatabase());
});

const MINUTE = 60_000;

function fail(loginName: string, address: string, now: number, reason = 'unknown_user'): Promise<void> {
  const failure = { type: 'user.signin.failed' as const, payload: { reason, loginName } };
  return inRequestContext({ requestId: 'r', address }, () => recordFailure(pool, failure, now));
}

async function rows(): Promise<Record<string, unknown>[]> {
  const { rows } = await pool.query(
    'select payload, count, host(address) as address, last_at from audit_events order by sequence',
  );
  await pool.query('truncate audit_events');
  return rows;
}

test('equal failures within a minute share a row; another name, address, reason or minute has its own', async () => {
  for (let n = 0; n < 5; n++) await fail('ann', '203.0.113.1', n);
  await fail('bob', '203.0.113.1', 5);
  await fail('ann', '203.0.113.2', 6);
  await fail('ann', '203.0.113.1', 7, 'wrong_password');
  await fail('ann', '203.0.113.1', MINUTE);
  const found = await rows();
  assert.deepEqual(
    found.map(({ count }) => count),
    [5, 1, 1, 1, 1],
  );
  assert(found[0]?.last_at instanceof Date && found[1]?.last_at === null);
});

test('a flood of names and addresses fills a bounded number of rows, and each failure is counted', async () => {
  const names = 3 * DETAILED;
  const now = 10 * MINUTE;
  for (let n = 0; n < names; n++) await fail(`name-${n}`, '203.0.113.1', now);
  for (let n = 0; n < 2 * ADDRESSES; n++) await fail('ann', `198.51.${n >> 8}.${n & 255}`, now);
  const found = await rows();
  assert.equal(found.length, DETAILED + ADDRESSES + 1);
  assert.equal(
    found.reduce((sum, { count }) => sum + Number(count), 0),
    names + 2 * ADDRESSES,
  );
  const many = found.filter(({ payload }) => (payload as { reason: string }).reason === 'many');
  assert.deepEqual([many.length, many[0]?.address, many.at(-1)?.address], [ADDRESSES + 1, '203.0.113.1', null]);
  assert.equal(many[0]?.count, names - DETAILED);
});

test('a name that belongs to nobody is cut', async () => {
  await recordFailedSignIn(pool, 'unknown_user', undefined, { loginName: '😀'.repeat(500) });
  const [event] = await rows();
  assert.deepEqual(event?.payload, { reason: 'unknown_user', loginName: '😀'.repeat(NAME_CHARS) });
});
