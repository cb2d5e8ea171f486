/** The same jobs twice, late or concurrently: an item settles once. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createBatchWriter } from '../../../src/imports/run/batch-writer.ts';
import { batchStore } from '../../../src/imports/run/stores.ts';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import {
  acceptImport,
  addOrgs,
  entries,
  importRow,
  itemRows,
  openWriterPool,
  tableCounts,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const SETTINGS = { codeTtlMs: 1000 };
const COUNT = 60;
const ALL = Array.from({ length: COUNT }, (_, i) => i);
const EXTRAS = {
  hashedPassword: undefined,
  metadata: [{ key: 'k', value: 'QQ==' }],
  idps: [{ configId: 'c', externalUserId: 'e' }],
};

describe('a repeated batch', () => {
  let db: TestDatabase;
  let writer: Pool;
  let importId: string;
  before(async () => {
    db = await testDatabase({ name: 'write_twice' });
    writer = openWriterPool(db.url, 8);
    await addOrgs(db.pool, 'org');
  });
  beforeEach(async () => {
    await wipe(db.pool);
    importId = await acceptImport(db.pool, entries(COUNT, EXTRAS));
  });
  after(async () => {
    await writer.end();
    await db.drop();
  });

  async function assertOnce() {
    const n = COUNT;
    assert.deepEqual(await tableCounts(db.pool), { users: n, events: n, metadata: n, links: n, codes: n, mails: n });
    const { succeeded, failed, mails_due, state } = await importRow(db.pool, importId);
    assert.deepEqual([state, succeeded, failed, mails_due], ['succeeded', n, 0, n]);
    const { rows } = await db.pool.query('select sum(succeeded)::int as n from import_orgs');
    assert.equal(rows[0].n, n);
    assert.ok((await itemRows(db.pool, importId)).every((i) => i.state === 'succeeded' && i.error === null));
  }

  it('changes nothing afterwards, not even an ended import', async () => {
    assert.equal(await writeBatch(writer, importId, ALL, SETTINGS), COUNT);
    const ended = await importRow(db.pool, importId);
    assert.equal(await writeBatch(writer, importId, ALL, SETTINGS), 0);
    await assertOnce();
    assert.deepEqual(await importRow(db.pool, importId), ended);
  });

  it('changes nothing at the same time on other connections', async () => {
    const settled = await Promise.all(Array.from({ length: 6 }, () => writeBatch(writer, importId, ALL, SETTINGS)));
    assert.equal(
      settled.reduce((a, b) => a + b),
      COUNT,
    );
    await assertOnce();
  });

  it('changes nothing when batches overlap in any way', async () => {
    const pieces = [ALL.slice(0, 40), ALL.slice(20), ALL.filter((i) => i % 2 === 0), ALL.filter((i) => i % 3 === 0)];
    const settled = await Promise.all(pieces.map((piece) => writeBatch(writer, importId, piece, SETTINGS)));
    assert.equal(
      settled.reduce((a, b) => a + b),
      COUNT,
    );
    await assertOnce();
  });

  it('changes nothing when two workers get the same jobs, some of them twice', async () => {
    const limits = {
      maxBatch: 7,
      maxFlushes: 4,
      maxFlushesPerImport: 3,
      fill: { items: 1, ms: 0 },
      retryMs: { first: 1, last: 10 },
    };
    const workers = [1, 2].map(() => createBatchWriter(batchStore(writer, SETTINGS), limits));
    // Some are twice in the same batch, as when a worker lost the lock of a job and got it again.
    const jobs = [...ALL.flatMap((o) => (o % 4 === 0 ? [o, o] : [o])), ...ALL.slice(0, 30)];
    const outcomes = await Promise.all(
      workers.flatMap((worker) => jobs.map((ordinal) => worker.add(importId, ordinal))),
    );
    assert.deepEqual(new Set(outcomes), new Set(['done']));
    await assertOnce();
  });
});
