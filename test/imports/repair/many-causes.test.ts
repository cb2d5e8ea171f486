/** Counting the causes of many failed users: exact, with a few statements, in bounded memory. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pino from 'pino';
import { openCausesReader } from '../../../src/imports/repair/causes.ts';
import { readProgress } from '../../../src/imports/status/progress.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { acceptImport, addOrgs } from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

describe('the causes of many failed users', () => {
  let db: TestDatabase;
  let importId: string;
  before(async () => {
    db = await testDatabase({ name: 'many-causes' });
    await addOrgs(db.pool, 'org');
    importId = await acceptImport(db.pool, [null]);
  });
  after(() => db.drop());

  /** Adds failed items from an ordinal on. @param message an SQL expression of `n`, the ordinal */
  async function plant(from: number, count: number, message: string): Promise<void> {
    await db.pool.query(
      `insert into import_items (import_id, ordinal, org_index, state, error)
       select $1, n, 0, 'failed', jsonb_build_object('code', 3, 'message', ${message},
         'details', jsonb_build_array(jsonb_build_object('id', 'X')))
       from generate_series($2::int, $2::int + $3::int - 1) n`,
      [importId, from, count],
    );
    await db.pool.query(
      `update imports set (total, failed) = (select count(*), count(*) from import_items where import_id = $1) where id = $1`,
      [importId],
    );
  }

  /** Reads the causes without what was remembered. */
  async function read() {
    const progress = (await readProgress(db.pool, importId)) ?? assert.fail();
    const pages: number[] = [];
    const counted = {
      async query(statement: { name?: string }, ...more: unknown[]) {
        const answer: { rows: unknown[] } = await db.pool.query(statement as never, ...(more as []));
        if (statement.name === 'errors-page') pages.push(answer.rows.length);
        return answer;
      },
    } as unknown as Pool;
    const { failed, causes, moreCauses } = await openCausesReader(counted, pino({ level: 'silent' })).read(progress);
    return {
      failed,
      causes: causes.map((one) => [one.message, one.count, one.first.map((f) => f.index)]),
      moreCauses,
      pages,
    };
  }

  it('are counted with a few statements while they are alike', async () => {
    await plant(1, 30_000, `'of ' || n % 3`);
    const { failed, causes, pages } = await read();
    assert.equal(failed, 30_001);
    assert.deepEqual(causes.slice(0, 3), [
      ['of 1', 10_000, [1, 4, 7, 10, 13]],
      ['of 2', 10_000, [2, 5, 8, 11, 14]],
      ['of 0', 10_000, [3, 6, 9, 12, 15]],
    ]);
    assert.ok(pages.length <= 3, `${pages.length} statements`);
  });

  it('are counted in small pages where each is different, and in large ones again after that', async () => {
    await plant(30_001, 6000, `'only of ' || n`);
    await plant(36_001, 30_000, `'of ' || n % 3`);
    const { failed, causes, moreCauses, pages } = await read();
    assert.equal(failed, 66_001);
    assert.deepEqual(
      causes.slice(0, 3).map(([message, count]) => [message, count]),
      [
        ['of 1', 20_000],
        ['of 2', 20_000],
        ['of 0', 20_000],
      ],
    );
    assert.equal(moreCauses, 1900, 'of the 2000 that are kept');
    assert.ok(Math.max(...pages) <= 2503, `${Math.max(...pages)} errors at once`);
    assert.ok(pages.length <= 16, `${pages.length} statements`);
  });

  it('are still told when they cannot be counted again, which is logged', async () => {
    const progress = (await readProgress(db.pool, importId)) ?? assert.fail();
    let isBroken = false;
    const pool = {
      query: (...given: unknown[]) =>
        isBroken ? Promise.reject(new Error('no connection')) : db.pool.query(...(given as [never])),
    } as unknown as Pool;
    const logged: string[] = [];
    const reader = openCausesReader(pool, pino({ level: 'warn' }, { write: (line) => logged.push(line) }));
    const { failed } = await reader.read(progress);
    isBroken = true;
    const grown = { ...progress, counts: { ...progress.counts, failed: failed + 1 } };
    await waitFor(
      async () => {
        assert.equal((await reader.read(grown)).failed, failed);
        return logged.length > 0;
      },
      { what: 'a line in the log' },
    );
    assert.match(String(logged[0]), new RegExp(`"importId":"${importId}".*causes of an import could not be counted`));
  });
});
