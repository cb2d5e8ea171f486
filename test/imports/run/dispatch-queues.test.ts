/** Dispatching to the real queues: the window, and the recovery when a queue loses everything. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, it, type TestContext } from 'node:test';
import type { ItemPointer } from '../../../src/imports/entries/item.ts';
import { openQueues, type Queues } from '../../../src/imports/queue/queues.ts';
import { dispatchRound } from '../../../src/imports/run/dispatch.ts';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import { rescueRound } from '../../../src/imports/upkeep/rescue.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import {
  acceptImport,
  addOrgs,
  entries,
  importRow,
  openWriterPool,
  tableCounts,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { redisUrl, requireOrSkip } from '../../support/stores/redis.ts';
import { waitFor } from '../../support/wait.ts';

const WINDOW = 20;
const COUNT = 70;

for (const kind of ['postgres', 'redis'] as const) {
  describe(`dispatch on ${kind}`, () => {
    let db: TestDatabase;
    let writer: Pool;
    let queues: Queues | undefined;
    before(async () => {
      db = await testDatabase({ name: `dispatch_${kind}` });
      writer = openWriterPool(db.url);
      await addOrgs(db.pool, 'org');
    });
    beforeEach(() => wipe(db.pool));
    afterEach(async () => {
      await queues?.close();
      queues = undefined;
    });
    after(async () => {
      await writer.end();
      await db.drop();
    });

    function open(t: TestContext): Queues | undefined {
      if (kind === 'redis' && !requireOrSkip(t, 'redis')) return undefined;
      const QUEUE_PREFIX = `t${randomBytes(6).toString('hex')}`;
      queues = openQueues({ DATABASE_URL: db.url, QUEUE_PREFIX, REDIS_URL: kind === 'redis' ? redisUrl() : undefined });
      assert.equal(queues.kind, kind);
      return queues;
    }
    const round = (to: Queues) => dispatchRound({ pool: db.pool, queues: to }, { window: WINDOW, slice: 8 });
    const restart = (importId: string) =>
      db.pool.query('update import_dispatch set next_ordinal = 0, dispatched = 0 where import_id = $1', [importId]);

    it('identifies a job by its id: a job added twice is there once', async (t) => {
      const to = open(t);
      if (!to) return;
      const importId = await acceptImport(db.pool, entries(COUNT));
      for (let i = 0; i < 4; i++) await round(to);
      assert.equal(await to.depth('imports'), WINDOW);
      await restart(importId);
      for (let i = 0; i < 4; i++) await round(to);
      assert.equal(await to.depth('imports'), WINDOW);
    });

    it('never queues more than the window, and completes the whole import', async (t) => {
      const to = open(t);
      if (!to) return;
      const importId = await acceptImport(db.pool, entries(COUNT));
      const seen = new Set<number>();
      const worker = to.work<ItemPointer>(
        'imports',
        async ({ data }) => {
          seen.add(data.o);
          await writeBatch(writer, data.i, [data.o], { codeTtlMs: 1000 });
        },
        { concurrency: 5 },
      );
      let most = 0;
      try {
        await waitFor(
          async () => {
            await round(to);
            most = Math.max(most, await to.depth('imports'));
            return (await importRow(db.pool, importId)).state === 'succeeded';
          },
          { what: 'the import' },
        );
      } finally {
        await worker.stop();
      }
      assert.ok(most > 0 && most <= WINDOW + 5, `${most} jobs: the window, and the jobs about to leave`);
      assert.equal(seen.size, COUNT);
      assert.equal((await tableCounts(db.pool)).users, COUNT);
    });

    it('queues at most three windows when no worker takes jobs and the rescuer runs repeatedly', async (t) => {
      const to = open(t);
      if (!to) return;
      await acceptImport(db.pool, entries(COUNT));
      const queue = { depth: () => to.depth('imports'), mostHeld: WINDOW };
      for (let times = 0; times < 6; times++) {
        for (let i = 0; i < 4; i++) await round(to);
        await db.pool.query(`update imports set changed_at = now() - interval '1 hour'`);
        await db.pool.query(`update import_dispatch set moved_at = now() - interval '1 hour'`);
        await rescueRound(db.pool, { rescueAfterMs: 30_000, abandonedAfterMs: 3_600_000, queue });
      }
      const depth = await to.depth('imports');
      assert.ok(depth > WINDOW && depth <= 3 * WINDOW, `${depth} jobs`);
    });

    it('is restarted by the rescuer after the queue lost everything', async (t) => {
      const to = open(t);
      if (!to) return;
      await acceptImport(db.pool, entries(COUNT));
      for (let i = 0; i < 4; i++) await round(to);
      await to.drop('imports');
      await round(to);
      assert.equal(await to.depth('imports'), 0, 'the dispatcher cannot know');
      await db.pool.query(`update imports set changed_at = now() - interval '1 minute'`);
      await db.pool.query(`update import_dispatch set moved_at = now() - interval '1 minute'`);
      await rescueRound(db.pool, { rescueAfterMs: 30_000, abandonedAfterMs: 3_600_000 });
      for (let i = 0; i < 4; i++) await round(to);
      assert.equal(await to.depth('imports'), WINDOW);
    });
  });
}
