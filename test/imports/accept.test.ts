import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { sweepAbandoned } from '../../src/imports/accept.ts';
import { receiveImport } from '../../src/imports/intake.ts';
import { DataOrgsParser } from '../../src/imports/parse.ts';
import { readProgress } from '../../src/imports/progress.ts';
import {
  ADMIN,
  acceptBody,
  acceptImport,
  addOrgs,
  entries,
  entry,
  importDeps,
  importRow,
  itemRows,
  setImport,
  wipe,
} from '../support/imports.ts';
import { type TestDatabase, testDatabase } from '../support/postgres.ts';

const OLD = `now() - interval '6 minutes'`;
const FIVE_MINUTES = 300_000;

describe('acceptance', () => {
  let db: TestDatabase;
  before(async () => {
    db = await testDatabase({ name: 'accept' });
    await addOrgs(db.pool, 'org', 'other');
  });
  beforeEach(() => wipe(db.pool));
  after(() => db.drop());

  async function orgRows(importId: string) {
    const { rows } = await db.pool.query(
      'select org_index, org_id, total, succeeded, failed from import_orgs where import_id = $1 order by org_index',
      [importId],
    );
    return rows;
  }

  it('counts users and invalid users for each organization of the body, in its order', async () => {
    const orgs = [
      { orgId: 'other', humanUsers: [entry('a'), 1, entry('b')] },
      { orgId: 'org' },
      { human_users: [null, entry('a')], org_id: 'org' },
      { orgId: 'other', humanUsers: [entry('c')], ids: 1 },
    ];
    const importId = await acceptBody(db.pool, { dataOrgs: { orgs }, timeout: '1h', x: {} });
    assert.deepEqual(await orgRows(importId), [
      { org_index: 0, org_id: 'other', total: 3, succeeded: 0, failed: 1 },
      { org_index: 1, org_id: 'org', total: 0, succeeded: 0, failed: 0 },
      { org_index: 2, org_id: 'org', total: 2, succeeded: 0, failed: 2 },
      { org_index: 3, org_id: 'other', total: 1, succeeded: 0, failed: 0 },
    ]);
    const row = await importRow(db.pool, importId);
    assert.deepEqual([row.state, row.kind, row.total, row.failed, row.succeeded], ['running', 'bulk', 6, 3, 0]);
    assert.deepEqual([row.created_by, row.resource_owner, row.timeout, row.finished_at], ['admin', 'home', '1h', null]);
    assert.deepEqual(
      (await itemRows(db.pool, importId)).map((i) => [i.ordinal, i.org_index, i.user_id]),
      [
        [0, 0, 'id-a'],
        [1, 0, null],
        [2, 0, 'id-b'],
        [3, 2, null],
        [4, 2, 'id-a'],
        [5, 3, 'id-c'],
      ],
    );
    assert.deepEqual(
      row.warnings.map((w: { path: string; count: number }) => [w.path, w.count]),
      [
        ['orgs[].ids', 1],
        ['x', 1],
      ],
    );
    const { rows } = await db.pool.query('select * from events where sequence = $1', [row.sequence]);
    const { type, editor, payload, aggregate_id, resource_owner } = rows[0];
    assert.deepEqual(
      [type, editor, payload, aggregate_id, resource_owner],
      ['import.accepted', 'admin', { total: 6 }, importId, 'home'],
    );
  });

  it('ends an import at once of which no user is valid', async () => {
    const importId = await acceptImport(db.pool, [null, 1, {}, [], { user: {} }]);
    const row = await importRow(db.pool, importId);
    assert.deepEqual([row.state, row.total, row.failed], ['completed_with_errors', 5, 5]);
    assert.ok(row.finished_at >= row.accepted_at);
    const { counts } = (await readProgress(db.pool, importId)) ?? assert.fail();
    assert.deepEqual([counts.failed, counts.pending], [5, 0]);
  });

  it('is by one owner of all its organizations', async () => {
    const caller = {
      ...ADMIN,
      isIamOwner: false,
      orgRoles: new Map([
        ['org', ['ORG_OWNER']],
        ['other', ['ORG_OWNER']],
      ]),
    };
    const orgs = ['org', 'other'].map((orgId) => ({ orgId, humanUsers: [entry(orgId)] }));
    const importId = await acceptBody(db.pool, { dataOrgs: { orgs }, timeout: '1h' }, { caller });
    assert.equal((await importRow(db.pool, importId)).state, 'running');
  });

  it('keeps the order of the body over many chunks, and a user of a megabyte', async () => {
    const wide = { firstName: 'x'.repeat(200), lastName: 'y'.repeat(200) };
    const list = Array.from({ length: 12_000 }, (_, i) => entry(`u${i}`, { profile: wide }));
    const large = { key: 'k', value: 'QUJD'.repeat(125_000) };
    list.splice(5000, 0, entry('large', { metadata: [large, { ...large, key: 'l' }] }));
    const importId = await acceptImport(db.pool, list);
    const { rows } = await db.pool.query('select user_name from import_items where import_id = $1 order by ordinal', [
      importId,
    ]);
    assert.deepEqual(
      rows.map((r) => r.user_name),
      list.map((e) => e.user.userName),
    );
    const { total, failed } = await importRow(db.pool, importId);
    assert.deepEqual([total, failed], [12_001, 0]);
    const [item] = (await itemRows(db.pool, importId)).filter((i) => i.user_name === 'large');
    assert.equal(item?.extras.metadata[1].value, large.value);
  });

  describe('while the body comes in', () => {
    /** Receives four users, with a look at the import when two of them are written. */
    async function receive(look: (importId: string) => Promise<unknown>): Promise<string> {
      const text = JSON.stringify({ dataOrgs: { orgs: [{ orgId: 'org', humanUsers: entries(4) }] }, timeout: '1h' });
      const middle = text.indexOf('"id-u2"');
      async function* chunks() {
        yield Buffer.from(text.slice(0, middle));
        const { rows } = await db.pool.query(`select id from imports where state = 'receiving'`);
        await look(rows[0].id);
        yield Buffer.from(text.slice(middle));
      }
      return receiveImport(importDeps(db.pool), ADMIN, chunks(), { parser: new DataOrgsParser(), strict: false });
    }

    it('is seen by nobody', async () => {
      const importId = await receive(async (id) => assert.equal(await readProgress(db.pool, id), undefined));
      assert.equal((await readProgress(db.pool, importId))?.counts.total, 4);
    });

    it('is not swept as long as it is alive', async () => {
      const importId = await receive(async () => assert.equal(await sweepAbandoned(db.pool, FIVE_MINUTES), 0));
      assert.equal((await itemRows(db.pool, importId)).length, 4);
    });

    it('leaves nothing when it was swept meanwhile: neither an import nor users without one', async () => {
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

  it('that was abandoned is swept, and nothing beside it', async () => {
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
});
