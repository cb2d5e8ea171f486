import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { cancelImport, pauseImport, retryImport } from '../../../src/imports/control/control.ts';
import { dispatchRound, pointerJob } from '../../../src/imports/run/dispatch.ts';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import { readProgress } from '../../../src/imports/status/progress.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import {
  ADMIN,
  acceptBody,
  addAdmin,
  addOrgs,
  entry,
  errorIdOf,
  importRow,
  itemRows,
  openWriterPool,
  queueLog,
  setImport,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const PAST = `clock_timestamp() - interval '1 millisecond'`;

describe('a retry', () => {
  let db: TestDatabase;
  let writer: Pool;
  let importId: string;
  before(async () => {
    db = await testDatabase({ name: 'retry' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org', 'other');
  });
  /**
   * An import whose items 1 (of `org`) and 4 (of `other`) conflict with users of an earlier one, and whose item 2 is
   * invalid.
   */
  beforeEach(async () => {
    await wipe(db.pool);
    await addAdmin(db.pool);
    const first = await accept([entry('taken')], [entry('held')]);
    await settle(first, [0, 1]);
    importId = await accept([entry('a'), entry('taken'), null], [entry('b'), entry('held')]);
    await settle(importId, [0, 1, 3, 4]);
  });
  after(async () => {
    await writer.end();
    await db.drop();
  });

  const accept = (org: unknown[], other: unknown[]) =>
    acceptBody(db.pool, {
      dataOrgs: {
        orgs: [
          { orgId: 'org', humanUsers: org },
          { orgId: 'other', humanUsers: other },
        ],
      },
      timeout: '1h',
    });
  const settle = (id: string, ordinals: number[]) => writeBatch(writer, id, ordinals, { codeTtlMs: 1000 });
  const retry = (timeout?: string) => retryImport(db.pool, ADMIN, importId, { timeout, max: '24h' });
  const progress = async () => (await readProgress(db.pool, importId)) ?? assert.fail();
  const free = (...ids: string[]) => db.pool.query('delete from users where id = any($1)', [ids]);
  async function dispatched(): Promise<string[]> {
    const queues = queueLog();
    await dispatchRound({ pool: db.pool, queues }, { window: 100, slice: 100 });
    return queues.added;
  }
  async function events(): Promise<string[]> {
    const { rows } = await db.pool.query(
      `select type from events where aggregate_type = 'import' and aggregate_id = $1 order by sequence`,
      [importId],
    );
    return rows.map((r) => r.type);
  }

  it('retries exactly the items that conflicted; invalid ones stay failed', async () => {
    assert.equal((await progress()).state, 'IMPORT_STATE_COMPLETED_WITH_ERRORS');
    await free('id-taken', 'id-held');
    await retry();
    const { state, counts, orgs } = await progress();
    assert.equal(state, 'IMPORT_STATE_RUNNING');
    assert.deepEqual([counts.total, counts.pending, counts.succeeded, counts.failed], [5, 2, 2, 1]);
    assert.deepEqual(
      orgs.map((o) => [o.orgId, o.counts.pending, o.counts.succeeded, o.counts.failed]),
      [
        ['org', 1, 1, 1],
        ['other', 1, 1, 0],
      ],
    );
    const reopened = await itemRows(db.pool, importId);
    assert.deepEqual(
      reopened.map((i) => [i.state, i.error === null]),
      [
        ['succeeded', true],
        ['pending', true],
        ['failed', false],
        ['succeeded', true],
        ['pending', true],
      ],
    );
    assert.deepEqual(
      await dispatched(),
      [1, 4].map((o) => pointerJob(importId, o, 1).id),
    );
    assert.equal(await settle(importId, [1, 4]), 2);
    const done = await progress();
    assert.deepEqual(
      [done.state, done.counts.succeeded, done.counts.failed],
      ['IMPORT_STATE_COMPLETED_WITH_ERRORS', 4, 1],
    );
    assert.deepEqual(await events(), ['import.accepted', 'import.retried']);
  });

  it('fails items again, at every retry, while their conflict remains', async () => {
    for (let i = 0; i < 2; i++) {
      await retry();
      await settle(importId, [1, 4]);
      const { state, counts } = await progress();
      assert.deepEqual([state, counts.failed, counts.succeeded], ['IMPORT_STATE_COMPLETED_WITH_ERRORS', 3, 2]);
      assert.equal(errorIdOf((await itemRows(db.pool, importId))[1]), 'USER-ID-TAKEN');
    }
    await free('id-taken', 'id-held');
    await retry();
    await settle(importId, [1, 4]);
    assert.equal((await progress()).counts.failed, 1);
  });

  it('is idempotent, while the import runs and after all of it has succeeded', async () => {
    importId = await accept([entry('taken')], [entry('held')]);
    await settle(importId, [0, 1]);
    await free('id-taken', 'id-held');
    await retry();
    await settle(importId, [0]);
    const running = await importRow(db.pool, importId);
    await retry();
    await retry('2h');
    assert.deepEqual(await importRow(db.pool, importId), running);
    await settle(importId, [1]);
    const succeeded = await importRow(db.pool, importId);
    assert.equal(succeeded.state, 'succeeded');
    await retry();
    assert.deepEqual(await importRow(db.pool, importId), succeeded);
    assert.deepEqual(await events(), ['import.accepted', 'import.retried']);
  });

  it('changes nothing when there is nothing to retry', async () => {
    await db.pool.query(`update import_items set user_name_key = null where import_id = $1`, [importId]);
    const before = await importRow(db.pool, importId);
    await retry();
    assert.deepEqual(await importRow(db.pool, importId), before);
    assert.deepEqual(await events(), ['import.accepted']);
  });

  it('requires a timeout when the deadline has passed, and refuses an invalid one', async () => {
    const badTimeout = { id: 'IMPORT-TIMEOUT', status: 'INVALID_ARGUMENT' };
    await assert.rejects(retry('25h'), badTimeout);
    await setImport(db.pool, importId, { deadline: PAST });
    await assert.rejects(retry(), badTimeout);
    assert.equal((await importRow(db.pool, importId)).failed, 3, 'nothing was reopened');
    await retry('1h');
    assert.equal((await progress()).state, 'IMPORT_STATE_RUNNING');
  });

  it('also continues with the pending items of a stopped import', async () => {
    importId = await accept([entry('c'), entry('taken')], [entry('d')]);
    await settle(importId, [1]);
    for (const stop of [cancelImport, pauseImport]) {
      await stop(db.pool, ADMIN, importId);
      await retry();
      const { state, counts } = await progress();
      assert.deepEqual([state, counts.pending, counts.failed], ['IMPORT_STATE_RUNNING', 3, 0]);
      await settle(importId, [1]);
    }
    await setImport(db.pool, importId, { deadline: PAST });
    await retry('1h');
    assert.equal((await progress()).counts.pending, 3);
  });

  it('is refused for an import that runs, has succeeded or is undone', async () => {
    const unfit = { id: 'IMPORT-STATE', status: 'FAILED_PRECONDITION', http: 400 };
    for (const other of ['running', 'succeeded', 'undoing', 'undone']) {
      await setImport(db.pool, importId, { state: `'${other}'` });
      await assert.rejects(retry(), unfit, other);
    }
    await setImport(db.pool, importId, { state: `'completed_with_errors'`, erased_to: '0' });
    await assert.rejects(retry(), { id: 'IMPORT-ERASED', status: 'FAILED_PRECONDITION' });
    assert.deepEqual(await events(), ['import.accepted']);
  });
});
