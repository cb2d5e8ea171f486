/** Uploads in progress, and abandoned ones that the sweep removes. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { DataOrgsParser } from '../../../src/imports/entries/data-orgs.ts';
import { discard, sweepAbandoned } from '../../../src/imports/intake/accept.ts';
import { receiveImport } from '../../../src/imports/intake/intake.ts';
import { readProgress } from '../../../src/imports/status/progress.ts';
import {
  ADMIN,
  acceptImport,
  addOrgs,
  entries,
  importDeps,
  importRow,
  itemRows,
  setImport,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const OLD = `now() - interval '6 minutes'`;
const FIVE_MINUTES = 300_000;

describe('an upload', () => {
  let db: TestDatabase;
  before(async () => {
    db = await testDatabase({ name: 'sweep' });
    await addOrgs(db.pool, 'org');
  });
  beforeEach(() => wipe(db.pool));
  after(() => db.drop());

  describe('while the body comes in', () => {
    /** Receives four users, and inspects the import when two of them are written. */
    async function receive(inspect: (importId: string) => Promise<unknown>): Promise<string> {
      const text = JSON.stringify({ dataOrgs: { orgs: [{ orgId: 'org', humanUsers: entries(4) }] }, timeout: '1h' });
      const middle = text.indexOf('"id-u2"');
      async function* chunks() {
        yield Buffer.from(text.slice(0, middle));
        const { rows } = await db.pool.query(`select id from imports where state = 'receiving'`);
        await inspect(rows[0].id);
        yield Buffer.from(text.slice(middle));
      }
      return receiveImport(importDeps(db.pool), ADMIN, chunks(), { parser: new DataOrgsParser(), strict: false });
    }

    it('is invisible', async () => {
      const importId = await receive(async (id) => assert.equal(await readProgress(db.pool, id), undefined));
      assert.equal((await readProgress(db.pool, importId))?.counts.total, 4);
    });

    it('is not swept while it makes progress', async () => {
      const importId = await receive(async () => assert.equal(await sweepAbandoned(db.pool, FIVE_MINUTES), 0));
      assert.equal((await itemRows(db.pool, importId)).length, 4);
    });

    it('leaves neither an import nor orphaned users when it was swept meanwhile', async () => {
      const swept = receive(async (id) => {
        await setImport(db.pool, id, { changed_at: OLD });
        assert.equal(await sweepAbandoned(db.pool, FIVE_MINUTES), 1);
      });
      await assert.rejects(swept, { id: 'IMPORT-ABORTED', status: 'ABORTED' });
      const { rows } = await db.pool.query(
        'select (select count(*) from imports) + (select count(*) from import_items) as n',
      );
      assert.equal(rows[0].n, '0');
    });
  });

  it('that was abandoned is swept, and nothing else is', async () => {
    const states = [
      'running',
      'paused',
      'undoing',
      'succeeded',
      'completed_with_errors',
      'timed_out',
      'cancelled',
      'undone',
    ];
    const kept: string[] = [];
    for (const state of states) {
      const importId = await acceptImport(db.pool, entries(2));
      await setImport(db.pool, importId, { state: `'${state}'`, changed_at: OLD });
      kept.push(importId);
    }
    const fresh = await acceptImport(db.pool, entries(2));
    await setImport(db.pool, fresh, { state: `'receiving'`, changed_at: `now() - interval '4 minutes'` });
    for (let i = 0; i < 2; i++) {
      await setImport(db.pool, await acceptImport(db.pool, entries(2)), { state: `'receiving'`, changed_at: OLD });
    }
    assert.deepEqual(
      await Promise.all([1, 2].map(() => sweepAbandoned(db.pool, FIVE_MINUTES))).then((n) => n.every((x) => x <= 2)),
      true,
    );
    const { rows } = await db.pool.query(
      'select i.id, count(t.*)::int as items from imports i join import_items t on t.import_id = i.id group by i.id order by i.id',
    );
    assert.deepEqual(
      rows,
      [...kept, fresh].map((id) => ({ id, items: 2 })),
    );
    const { rows: all } = await db.pool.query('select count(*)::int as n from import_items');
    assert.equal(all[0].n, 2 * rows.length);
    assert.equal(await sweepAbandoned(db.pool, FIVE_MINUTES), 0);
  });

  it('that is accepted just after a sweep has selected it keeps its import and its users', async () => {
    const importId = await acceptImport(db.pool, entries(2));
    await discard(db.pool, importId);
    assert.equal((await importRow(db.pool, importId)).state, 'running');
    assert.equal((await itemRows(db.pool, importId)).length, 2);
  });
});
