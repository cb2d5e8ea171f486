/** Users that already exist: their items fail with the right error id, and the other items are written. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import { type Pool, transaction } from '../../../src/platform/db/pool.ts';
import {
  acceptBody,
  acceptImport,
  addOrgs,
  entry,
  errorIdOf,
  importRow,
  itemRows,
  openWriterPool,
  tableCounts,
  wipe,
  writerWaits,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

describe('a conflict with existing users', () => {
  let db: TestDatabase;
  let writer: Pool;
  before(async () => {
    db = await testDatabase({ name: 'conflict' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org', 'other');
  });
  beforeEach(async () => {
    await wipe(db.pool);
    await write(await acceptImport(db.pool, [entry('taken')]), 1);
  });
  after(async () => {
    await writer.end();
    await db.drop();
  });

  const write = (importId: string, count: number) =>
    writeBatch(
      writer,
      importId,
      Array.from({ length: count }, (_, i) => i),
      { codeTtlMs: 1000 },
    );
  async function outcomes(importId: string) {
    return (await itemRows(db.pool, importId)).map((i) => [i.state, errorIdOf(i)]);
  }

  it('is reported as one of the id or of the name', async () => {
    const importId = await acceptImport(db.pool, [
      entry('before'),
      { ...entry('free'), userId: 'id-taken' },
      entry('free2', { userName: 'TAKEN' }),
      entry('after'),
    ]);
    assert.equal(await write(importId, 4), 4);
    assert.deepEqual(await outcomes(importId), [
      ['succeeded', undefined],
      ['failed', 'USER-ID-TAKEN'],
      ['failed', 'USER-NAME-TAKEN'],
      ['succeeded', undefined],
    ]);
    const row = await importRow(db.pool, importId);
    assert.deepEqual([row.state, row.succeeded, row.failed], ['completed_with_errors', 2, 2]);
    const { users, events } = await tableCounts(db.pool);
    assert.deepEqual([users, events], [3, 3]);
    assert.equal((await itemRows(db.pool, importId))[1]?.error.code, 6);
  });

  it('of both id and name is reported as one of the id', async () => {
    const importId = await acceptImport(db.pool, [entry('taken')]);
    await write(importId, 1);
    assert.deepEqual(await outcomes(importId), [['failed', 'USER-ID-TAKEN']]);
  });

  it('of names exists only within an organization; an id is unique in the whole instance', async () => {
    const orgs = [
      {
        orgId: 'other',
        humanUsers: [
          { ...entry('taken'), userId: 'fresh' },
          { ...entry('new'), userId: 'id-taken' },
        ],
      },
    ];
    const importId = await acceptBody(db.pool, { dataOrgs: { orgs }, timeout: '1h' });
    await write(importId, 2);
    assert.deepEqual(await outcomes(importId), [
      ['succeeded', undefined],
      ['failed', 'USER-ID-TAKEN'],
    ]);
  });

  it('keeps the data of the failed item, so that it can be retried', async () => {
    const importId = await acceptImport(db.pool, [
      entry('x', { userName: 'taken', metadata: [{ key: 'k', value: 'QQ==' }] }),
    ]);
    const [before] = await itemRows(db.pool, importId);
    await write(importId, 1);
    const [failed] = await itemRows(db.pool, importId);
    assert.deepEqual({ ...failed, state: 'pending', error: null }, before);
  });

  it('is also detected while the other user is being written: the batch waits for the outcome', async () => {
    const importId = await acceptImport(db.pool, [entry('a'), entry('b')]);
    const rival = `insert into users (id, org_id, kind, state, user_name, user_name_key, email, sequence)
      values ('rival', 'org', 'human', 'active', 'a', 'a', 'r@example.com', 1)`;
    let batch: Promise<number> | undefined;
    await transaction(db.pool, async (tx) => {
      await tx.query(rival);
      batch = write(importId, 2);
      await waitFor(() => writerWaits(db.pool), { what: 'the batch to wait for the rival' });
    });
    assert.equal(await batch, 2);
    assert.deepEqual(await outcomes(importId), [
      ['failed', 'USER-NAME-TAKEN'],
      ['succeeded', undefined],
    ]);
  });

  it('two imports with the same users in opposite order both finish', async () => {
    const people = Array.from({ length: 50 }, (_, i) => entry(`p${i}`));
    const one = await acceptImport(db.pool, people);
    const two = await acceptImport(db.pool, people.toReversed());
    const tries = await Promise.allSettled([write(one, 50), write(two, 50)]);
    for (const [i, importId] of [one, two].entries()) {
      const { status, reason } = tries[i] as PromiseRejectedResult;
      if (status === 'rejected') {
        assert.equal(reason.code, '40P01', 'a deadlock, after which the writer retries');
        await write(importId, 50);
      }
    }
    const rows = [await importRow(db.pool, one), await importRow(db.pool, two)];
    assert.deepEqual(
      rows.map((r) => r.succeeded + r.failed),
      [50, 50],
    );
    assert.equal(rows[0]?.succeeded + rows[1]?.succeeded, 50);
    assert.equal((await tableCounts(db.pool)).users, 51);
  });
});
