/** An accepted body is stored the same with the fast path as without it. */
import assert from 'node:assert/strict';
import { after, before, it, mock } from 'node:test';
import { ShapedLines } from '../../../../src/imports/intake/fast/alike-lines.ts';
import fc from '../../../support/fast-check.ts';
import { acceptImport, addOrgs, importRow, itemRows, type Row, wipe } from '../../../support/imports/imports.ts';
import { commonEntries } from '../../../support/imports/shaped.ts';
import { type TestDatabase, testDatabase } from '../../../support/stores/postgres.ts';

let db: TestDatabase;
before(async () => {
  db = await testDatabase({ name: 'both_ways' });
  await addOrgs(db.pool, 'org');
});
after(() => db.drop());

const NEW_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** What is stored, without the new ids of the import and of users, and the texts that are encrypted anew each time. */
async function storedOf(entries: object[], chunk: number, withoutFastPath: boolean) {
  const importId = await acceptImport(db.pool, entries, { chunk, withoutFastPath });
  const { state, total, failed, skipped, warnings } = await importRow(db.pool, importId);
  const { rows: orgs } = await db.pool.query<Row>(
    'select org_index, org_id, total, failed, skipped from import_orgs where import_id = $1 order by org_index',
    [importId],
  );
  const items = (await itemRows(db.pool, importId)).map(({ import_id: _, entry_sealed: sealed, ...row }) => ({
    ...row,
    user_id: NEW_ID.test(row.user_id) ? 'new' : row.user_id,
    hasEntry: sealed !== null,
  }));
  return { state, total, failed, skipped, warnings, orgs, items };
}

it('an import is stored the same, with and without the fast path', async () => {
  const add = mock.method(ShapedLines.prototype, 'add');
  const written = () => add.mock.calls.filter(({ result }) => result === true).length;
  await fc.assert(
    fc
      .asyncProperty(commonEntries, fc.integer({ min: 200, max: 3000 }), async (some, chunk) => {
        const entries = Array<object[]>(5).fill(some).flat();
        const fast = await storedOf(entries, chunk, false);
        const before = add.mock.callCount();
        assert.deepEqual(fast, await storedOf(entries, chunk, true));
        assert.equal(add.mock.callCount(), before);
      })
      .afterEach(() => wipe(db.pool)),
    { numRuns: 60 },
  );
  assert.ok(written() > 100, `only ${written()} lines were written by the fast path`);
});
