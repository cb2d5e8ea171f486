/** The optimistic path and the path with conflict handling give the same outcome. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { batchStore } from '../../../src/imports/run/stores.ts';
import { optimistically } from '../../../src/imports/run/write-batch.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import {
  acceptImport,
  addOrgs,
  entries,
  errorIdOf,
  importRow,
  itemRows,
  openWriterPool,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const conflict = Object.assign(new Error('taken'), { code: '23505' });

describe('a batch', () => {
  it('is written optimistically until one conflicts, then with conflict handling, separately for each import', async () => {
    const ways: string[] = [];
    let conflicts = false;
    const write = optimistically(async (importId, _ordinals, way) => {
      ways.push(`${importId} ${way}`);
      if (way === 'optimistic' && conflicts && importId === 'a') throw conflict;
      return 1;
    });
    await write('a', [0]);
    conflicts = true;
    await write('a', [1]);
    await write('a', [2]);
    await write('b', [0]);
    assert.deepEqual(ways, ['a optimistic', 'a optimistic', 'a fail', 'a fail', 'b optimistic']);
    for (let n = 0; n < 60; n++) await write('a', [n]);
    assert.equal(
      ways.filter((way) => way === 'a optimistic').length,
      3,
      'the optimistic path is tried again after a while',
    );
  });

  it('fails with the original error for any other reason', async () => {
    const other = Object.assign(new Error('away'), { code: '57P01' });
    await assert.rejects(optimistically(async () => Promise.reject(other))('a', [0]), other);
  });
});

describe('batches in the database', () => {
  let db: TestDatabase;
  let writer: Pool;
  before(async () => {
    db = await testDatabase({ name: 'optimistic' });
    writer = openWriterPool(db.url, 1);
    await addOrgs(db.pool, 'org');
  });
  beforeEach(() => wipe(db.pool));
  after(async () => {
    await writer.end();
    await db.drop();
  });
  const ordinals = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

  it('fail the existing users and write the others', async () => {
    const store = batchStore(writer, { codeTtlMs: 1000 });
    await store.write(await acceptImport(db.pool, entries(5)), ordinals(0, 5));
    const importId = await acceptImport(db.pool, entries(30));
    await store.write(importId, ordinals(0, 10));
    await store.write(importId, ordinals(10, 30));
    const { state, succeeded, failed } = await importRow(db.pool, importId);
    assert.deepEqual([state, succeeded, failed], ['completed_with_errors', 25, 5]);
    const items = await itemRows(db.pool, importId);
    assert.deepEqual(items.slice(0, 6).map(errorIdOf), [...Array(5).fill('USER-ID-TAKEN'), undefined]);
  });

  it('change the state of an item without touching an index', async () => {
    const importId = await acceptImport(db.pool, entries(200));
    await batchStore(writer, { codeTtlMs: 1000 }).write(importId, ordinals(0, 200));
    await writer.query('select pg_stat_force_next_flush()');
    const { rows } = await writer.query(
      `select n_tup_upd::int as all, n_tup_hot_upd::int as hot from pg_stat_user_tables where relname = 'import_items'`,
    );
    assert.ok(rows[0].hot >= 0.7 * rows[0].all, JSON.stringify(rows[0]));
  });
});
