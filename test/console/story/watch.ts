/** Starts the import of the story and watches its page, while gates hold it at a third and at two thirds. */
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { holdItems, holdWriting } from '../../support/imports/hold.ts';
import type { Held } from '../../support/stores/locks.ts';
import { waitFor } from '../../support/wait.ts';
import { assertDrawn, badge, type Progress, progressOf } from './page.ts';
import { n, PATIENCE_MS, type Plan } from './plan.ts';

/** Follows the import to its end. @param start presses the button */
export async function watchRun(page: Page, pool: Pool, plan: Plan, start: () => Promise<void>): Promise<string> {
  const { total, failing } = plan;
  const third = Math.floor(total / 3);
  const writing = await holdWriting(pool);
  await start();
  await page.waitForURL(/\/console\/imports\/\d+$/);
  const importId = String(page.url().split('/').at(-1));
  const atThird = await holdItems(pool, importId, third, 2 * third);
  const atTwoThirds = await holdItems(pool, importId, 2 * third);
  await badge(page, 'Running');
  await page.evaluate('window.isSame = true');
  await writing.commit();
  const first = await heldAt(page, pool, importId, atThird, 0);
  await atThird.commit();
  const second = await heldAt(page, pool, importId, atTwoThirds, first.succeeded);
  await atTwoThirds.commit();
  await badge(page, 'Completed with errors');
  const last = await shown(page, 'no open user', ({ open }) => assert.equal(open, 0));
  for (const progress of [first, second, last]) assertDrawn(progress, total);
  assert(first.succeeded <= third && second.succeeded <= 2 * third, 'the gates hold the import');
  assert(Number(first.widths[0]) < Number(second.widths[0]), 'the bar moves');
  assert.notEqual(first.line, second.line, 'the chart moves');
  assert.deepEqual([last.total, last.succeeded, last.skipped, last.failed], [n(total), total - failing, 0, failing]);
  assert.equal(await page.evaluate('window.isSame'), true, 'the page was not loaded again');
  return importId;
}

/**
 * What the page shows while a batch waits for the gate and more than `before` users are written. Batches of users before
 * the gate may still be in progress, so page and table are read again until they agree.
 */
async function heldAt(page: Page, pool: Pool, importId: string, gate: Held, before: number): Promise<Progress> {
  const pid = (await gate.db.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid;
  const sql = `select succeeded from imports where id = $1 and succeeded > $2 and exists (
      select from pg_stat_activity a where application_name = 'muster-writer' and $3 = any(pg_blocking_pids(a.pid)))`;
  return shown(page, 'the users before the gate', async ({ succeeded, line }) => {
    const { rows } = await pool.query<{ succeeded: number }>(sql, [importId, before, pid]);
    assert.deepEqual([succeeded, line !== ''], [rows[0]?.succeeded, true]);
  });
}

/** @param check throws while the page does not show it */
async function shown(page: Page, what: string, check: (progress: Progress) => void | Promise<void>): Promise<Progress> {
  const look = async () => {
    const progress = await progressOf(page);
    await check(progress);
    return progress;
  };
  return waitFor(look, { what: `a page that shows ${what}`, timeoutMs: PATIENCE_MS });
}
