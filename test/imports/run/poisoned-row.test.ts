/** A row that PostgreSQL refuses fails alone. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { BatchFault, createBatchWriter } from '../../../src/imports/run/batch-writer.ts';
import { batchStore, storeOf } from '../../../src/imports/run/stores.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import {
  acceptImport,
  addOrgs,
  entries,
  errorIdOf,
  importRow,
  itemRows,
  openWriterPool,
  setImport,
  tableCounts,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const COUNT = 20;
const REFUSED = new BatchFault('data', undefined);
const ALL = Array.from({ length: COUNT }, (_, i) => i);

/** Rows that intake never lets through. */
const POISONS = {
  'metadata that is not base64': `extras = '{"metadata": [{"key": "k", "value": "!!!!"}]}'`,
  'a metadata key given twice': `extras = '{"metadata": [{"key": "k", "value": "QQ=="}, {"key": "k", "value": "QQ=="}]}'`,
  'no user name': 'user_name = null',
  'a name too large for an index': `user_name_key = (select string_agg(md5(i::text), '') from generate_series(1, 200) i)`,
};

describe('a poisoned row', () => {
  let db: TestDatabase;
  let pool: Pool;
  let importId: string;
  before(async () => {
    db = await testDatabase({ name: 'poisoned' });
    pool = openWriterPool(db.url);
    await addOrgs(db.pool, 'org');
  });
  beforeEach(async () => {
    await wipe(db.pool);
    importId = await acceptImport(db.pool, entries(COUNT));
  });
  after(async () => {
    await pool.end();
    await db.drop();
  });

  const poison = (ordinal: number, change: string) =>
    db.pool.query(`update import_items set ${change} where import_id = $1 and ordinal = $2`, [importId, ordinal]);
  function openWriter(faults: string[] = []) {
    const onFault = (fault: BatchFault) => faults.push(fault.kind);
    const limits = {
      maxBatch: 100,
      maxFlushes: 2,
      maxFlushesPerImport: 2,
      fill: { items: 1, ms: 0 },
      retryMs: { first: 1, last: 2 },
    };
    return createBatchWriter(batchStore(pool, { codeTtlMs: 1000 }), { ...limits, onFault });
  }

  for (const [what, change] of Object.entries(POISONS)) {
    it(`fails alone: ${what}`, async () => {
      for (const ordinal of [3, 4, 17]) await poison(ordinal, change);
      const faults: string[] = [];
      const writer = openWriter(faults);
      assert.deepEqual(new Set(await Promise.all(ALL.map((o) => writer.add(importId, o)))), new Set(['done']));
      assert.deepEqual(new Set(faults), new Set(['data']));
      const failed = (await itemRows(db.pool, importId)).filter((i) => i.state === 'failed');
      assert.deepEqual(
        failed.map((i) => [i.ordinal, errorIdOf(i), i.error.code]),
        [3, 4, 17].map((o) => [o, 'IMPORT-USER-REFUSED', 13]),
      );
      const row = await importRow(db.pool, importId);
      assert.deepEqual([row.state, row.succeeded, row.failed], ['completed_with_errors', COUNT - 3, 3]);
      const { rows } = await db.pool.query('select succeeded, failed from import_orgs where import_id = $1', [
        importId,
      ]);
      assert.deepEqual(rows, [{ succeeded: COUNT - 3, failed: 3 }]);
      const { users, events } = await tableCounts(db.pool);
      assert.deepEqual([users, events], [COUNT - 3, COUNT - 3]);
    });
  }

  it('fails alone when a bug affects only that row; all fail when it affects each row', async () => {
    const store = batchStore(pool, { codeTtlMs: 1000 });
    for (const isBad of [(o: number) => o === 11, () => true]) {
      const faults: string[] = [];
      const limits = { maxBatch: 100, maxFlushes: 2, maxFlushesPerImport: 2, fill: { items: 1, ms: 0 } };
      const stumbling = {
        ...store,
        async write(id: string, ordinals: number[]) {
          if (ordinals.some(isBad)) throw new TypeError('undefined is not a function');
          return store.write(id, ordinals);
        },
      };
      const id = await acceptImport(db.pool, entries(COUNT));
      const writer = createBatchWriter(stumbling, {
        ...limits,
        retryMs: { first: 1, last: 2 },
        onFault: ({ kind }) => faults.push(kind),
      });
      assert.deepEqual(new Set(await Promise.all(ALL.map((o) => writer.add(id, o)))), new Set(['done']));
      assert.deepEqual(new Set(faults), new Set(['other']));
      const failed = (await itemRows(db.pool, id)).filter((i) => i.state === 'failed');
      assert.deepEqual(
        failed.map((i) => [i.ordinal, errorIdOf(i), i.error.code]),
        ALL.filter(isBad).map((o) => [o, 'IMPORT-USER-FAULT', 13]),
      );
      const row = await importRow(db.pool, id);
      assert.deepEqual(
        [row.state, row.succeeded, row.failed],
        ['completed_with_errors', COUNT - failed.length, failed.length],
      );
    }
  });

  it('is not confused with a refused connection, which is retried', async () => {
    for (const code of ['28P01', '28000', '3D000', '57P03']) {
      const refusing = storeOf(pool, () => Promise.reject(Object.assign(new Error(), { code })));
      await assert.rejects(refusing.write(importId, ALL), { kind: 'retry' }, code);
    }
  });

  it('reveals nothing about the database in its error', async () => {
    await poison(0, POISONS['no user name']);
    await openWriter().add(importId, 0);
    const [item] = await itemRows(db.pool, importId);
    assert.doesNotMatch(JSON.stringify(item?.error), /null value|constraint|users|column|relation/);
  });

  it('is counted once, however often it is failed', async () => {
    const store = batchStore(pool, { codeTtlMs: 1000 });
    await Promise.all([1, 2, 3].map(() => store.poison(importId, 5, REFUSED)));
    const { state, failed } = await importRow(db.pool, importId);
    assert.deepEqual([state, failed], ['running', 1]);
  });

  it('stays pending when the import stopped before the row was failed', async () => {
    await setImport(db.pool, importId, { state: `'cancelled'` });
    await assert.rejects(batchStore(pool, { codeTtlMs: 1000 }).poison(importId, 5, REFUSED), { code: 'MU001' });
    assert.equal((await itemRows(db.pool, importId))[5]?.state, 'pending');
    assert.equal((await importRow(db.pool, importId)).failed, 0);
  });
});
