import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { readProgress } from '../../../src/imports/status/progress.ts';
import {
  ADMIN,
  acceptBody,
  acceptImport,
  addOrgs,
  entries,
  entry,
  importRow,
  itemRows,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

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

  it('stores the same users, however the body is split', async () => {
    const users = Array.from({ length: 300 }, (_, i) =>
      entry(`Ünïque${i}`, i % 3 === 0 ? { phone: { phone: `${i}` } } : {}),
    );
    const odd = [
      entry('name', { email: { email: 'no address' } }),
      entry('unique7'),
      { ...entry('x'), userId: 'id-Ünïque8' },
      entry('y', { userName: 'üNÏQUE9' }),
      entry('z', { hashedPassword: { value: 'no hash' } }),
    ];
    const all = [...users, ...odd, ...entries(20)];
    const stored = await Promise.all(
      [400, 4096, 2 ** 20].map(async (chunk) => {
        const importId = await acceptImport(db.pool, all, { chunk });
        const { total, failed, warnings } = await importRow(db.pool, importId);
        const rows = await itemRows(db.pool, importId);
        return { total, failed, warnings, rows: rows.map(({ import_id: _, entry_sealed: __, ...row }) => row) };
      }),
    );
    assert.deepEqual([stored[0]?.total, stored[0]?.failed], [325, 4]);
    assert.deepEqual(stored[0], stored[2]);
    assert.deepEqual(stored[1], stored[2]);
  });

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

  it('ends an import at once when none of its users is valid', async () => {
    const importId = await acceptImport(db.pool, [null, 1, {}, [], { user: {} }]);
    const row = await importRow(db.pool, importId);
    assert.deepEqual([row.state, row.total, row.failed], ['completed_with_errors', 5, 5]);
    assert.ok(row.finished_at >= row.accepted_at);
    const { counts } = (await readProgress(db.pool, importId)) ?? assert.fail();
    assert.deepEqual([counts.failed, counts.pending], [5, 0]);
  });

  it('requires a caller who owns all organizations of the body', async () => {
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
});
