/**
 * Fair scheduling: a small import is done at once, however many users of a large one are waiting before it.
 *
 * Compares the order in which users were written (that of their sequences), not times. The large import is
 * held where it is until the small ones wait in the queue.
 */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { must, type Service } from '../processes/service.ts';
import { waitFor } from '../wait.ts';
import { bulk, people } from './bodies.ts';
import { beginHeld, holdImport, waitingBatches } from './hold.ts';
import { jobsInProgress } from './in-progress.ts';
import { usersOf } from './outcome.ts';

const PLACES = 4;
/**
 * Settings with which every job of the big import fits into the queue, and waits there before all later jobs. The
 * rescuer would take the held import for a stuck one, and add its jobs again.
 */
export const TURNS = { WORKER_CONCURRENCY: `${PLACES}`, DISPATCH_WINDOW: '4000', RESCUE_AFTER_MS: '600000' };
const BIG = 2000;
const BEGUN = 200;

/** @param service has the settings TURNS and one worker */
export async function smallImportsEndFirst(t: TestContext, service: Service): Promise<void> {
  const [one, other] = [await service.newOrg(), await service.newOrg()];
  const { pool } = service;
  const { importId: big, gates } = await beginHeld(service, bulk(one.orgId, people('big', BIG)), [BEGUN]);
  await waitingBatches(pool, 1);
  const left = async () => BIG - (await usersOf(pool, big));
  const isQueued = async () => (await service.depth()) === (await left());
  await waitFor(isQueued, { what: 'the jobs of the big one' });
  // None of its batches can be written now, also none without an item at the gate. A free place would go to a small one.
  const release = await holdImport(pool, big);
  const isFull = async () => (await isQueued()) && (await jobsInProgress(service)) === PLACES;
  await waitFor(isFull, { what: 'jobs of the big one in all places' });

  const small = (await must(service.importBody(bulk(other.orgId, people('small', 10))))).body.importId;
  const [{ user } = assert.fail()] = people('single', 1);
  const single = service.call('POST', '/management/v1/users/human/_import', user, { orgId: other.orgId });
  const all = (await left()) + 11;
  await waitFor(async () => (await service.depth()) === all, { what: 'the jobs of the small ones' });
  for (const gate of gates) await gate.commit();
  await release();
  const result = await service.waitForEnd(big);
  assert.equal((await single).status, 200);
  assert.equal((await service.waitForEnd(small)).state, 'IMPORT_STATE_SUCCEEDED');

  /** How many users of the big import were written before the last user with such a name. */
  async function bigBefore(names: string): Promise<number> {
    const { rows } = await pool.query<{ n: number }>(
      `select count(*)::int as n from users where import_id = $1
         and sequence < (select max(sequence) from users where user_name like $2)`,
      [big, names],
    );
    return rows[0]?.n ?? BIG;
  }

  await t.test('ends long before a big one that was accepted first', async () => {
    const n = await bigBefore('small%');
    assert.ok(n < BIG / 2, `after ${n} of the big one`);
  });

  await t.test('of a single user does too', async () => {
    const n = await bigBefore('single%');
    assert.ok(n < BIG / 2, `after ${n} of the big one`);
  });

  await t.test('does not harm the big one, which continues to its end', () => {
    assert.deepEqual([result.state, result.counts.succeeded], ['IMPORT_STATE_SUCCEEDED', BIG]);
  });
}
