import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { RatePoint } from '../../../src/contract/import-types.ts';
import { retryImport } from '../../../src/imports/control/control.ts';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import { readProgress } from '../../../src/imports/status/progress.ts';
import { MAX_POINTS, readRates, sampleRates } from '../../../src/imports/status/rates.ts';
import { removeRound } from '../../../src/imports/upkeep/retention.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import {
  ADMIN,
  acceptImport,
  addAdmin,
  addOrgs,
  entry,
  openWriterPool,
  setImport,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

describe('the rates of an import', () => {
  let db: TestDatabase;
  let writer: Pool;
  before(async () => {
    db = await testDatabase({ name: 'rates' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org');
  });
  beforeEach(async () => {
    await wipe(db.pool);
    await addAdmin(db.pool);
  });
  after(async () => {
    await writer.end();
    await db.drop();
  });

  const settle = (id: string, ordinals: number[]) => writeBatch(writer, id, ordinals, { codeTtlMs: 1000 });
  /** As if the import had run for so long. */
  const ranFor = (id: string, seconds: number) =>
    setImport(db.pool, id, { accepted_at: `clock_timestamp() - interval '${seconds}.1 s'` });
  async function sampled(id: string, seconds: number): Promise<void> {
    await ranFor(id, seconds);
    await sampleRates(db.pool);
  }
  function sums(points: RatePoint[]): number[] {
    const total = (name: 'succeeded' | 'skipped' | 'failed') => points.reduce((sum, p) => sum + p[name], 0);
    return [total('succeeded'), total('skipped'), total('failed')];
  }

  it('are sampled for an import that has run for less than no time, as the clock was set back', async () => {
    const id = await acceptImport(db.pool, [entry('a')]);
    await ranFor(id, -3600);
    await sampleRates(db.pool);
    assert.deepEqual(await readRates(db.pool, id), []);
  });

  it('count the users of each interval, and of those not sampled yet, so that they sum to the counts', async () => {
    const id = await acceptImport(
      db.pool,
      ['a', 'b', 'c', 'd', 'e'].map((name) => entry(name)),
    );
    assert.deepEqual(await readRates(db.pool, id), []);
    await settle(id, [0]);
    await sampled(id, 1);
    await sampleRates(db.pool); // the first sample of a second counts
    await settle(id, [1, 2]);
    await sampled(id, 3);
    await settle(id, [3]);
    await ranFor(id, 4);
    const points = await readRates(db.pool, id);
    assert.deepEqual(
      points.map((p) => [p.succeeded, Math.round(p.seconds)]),
      [
        [1, 1],
        [2, 2],
        [1, 1],
      ],
    );
    const [, second = assert.fail()] = points;
    assert.equal(second.usersPerSecond, Math.round((2 / second.seconds) * 10) / 10, JSON.stringify(second));
    assert.match(points[0]?.at ?? '', /^\d{4}-.+Z$/);
  });

  it('stay correct across a retry, and are kept after the end until the import is removed', async () => {
    const id = await acceptImport(db.pool, [entry('a'), entry('a'), 7, entry('b')]);
    await settle(id, [0]);
    await sampled(id, 1);
    await settle(id, [3]);
    await retryImport(db.pool, ADMIN, id, { timeout: undefined, max: '24h' });
    await settle(id, [1]);
    const result = await readProgress(db.pool, id);
    assert.deepEqual([result?.counts.succeeded, result?.counts.failed], [2, 2]);
    const points = await readRates(db.pool, id);
    assert.ok(points.every((p) => p.succeeded >= 0 && p.failed >= 0));
    assert.deepEqual(sums(points), [2, 0, 3], 'the user who was retried failed twice');

    await setImport(db.pool, id, { finished_at: `now() - interval '10 days'`, erased_to: 'total' });
    while (await removeRound(db.pool, 1000));
    assert.equal((await db.pool.query('select from import_rates where import_id = $1', [id])).rowCount, 0);
  });

  it('never have more than the most points: they thin out by doubling the interval', async () => {
    const id = await acceptImport(db.pool, [entry('a'), entry('b')]);
    await settle(id, [0]);
    await db.pool.query(
      `insert into import_rates select $1, t, clock_timestamp(), t * 1000, 1, 0, 0 from generate_series(0, ${MAX_POINTS - 2}) t`,
      [id],
    );
    await sampled(id, MAX_POINTS - 1);
    const { rows } = await db.pool.query('select tick from import_rates where import_id = $1 order by tick', [id]);
    assert.deepEqual(
      rows.map((r) => r.tick),
      Array.from({ length: MAX_POINTS / 2 }, (_, i) => 2 * i),
    );
    for (const tick of [4 * MAX_POINTS, 100 * MAX_POINTS, 86_400]) {
      await sampled(id, tick);
      assert.ok((await readRates(db.pool, id)).length <= MAX_POINTS);
    }
    assert.deepEqual(sums(await readRates(db.pool, id)), [1, 0, 0]);
  });
});
