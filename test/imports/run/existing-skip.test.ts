/** `onExisting=skip`: existing users are not changed, so the same file can be imported again. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { specialStores } from '../../../src/imports/run/stores.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { importFirst, SETTINGS, special } from '../../support/imports/existing.ts';
import {
  acceptBody,
  acceptImport,
  addOldWorker,
  addOrgs,
  entries,
  entry,
  errorIdOf,
  importRow,
  itemRows,
  openWriterPool,
  tableCounts,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const SKIP = special('skip');

describe('an import that skips existing users', () => {
  let db: TestDatabase;
  let writer: Pool;
  before(async () => {
    db = await testDatabase({ name: 'existing_skip' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org', 'other');
  });
  beforeEach(() => wipe(db.pool));
  after(async () => {
    await writer.end();
    await db.drop();
  });

  const first = (...people: unknown[]) => importFirst(db.pool, writer, people);
  const write = (importId: string, count: number) =>
    specialStores(writer, SETTINGS).skip.write(importId, [...Array(count).keys()]);
  const outcomes = async (importId: string) => (await itemRows(db.pool, importId)).map((i) => errorIdOf(i) ?? i.state);

  it('accepts the same body again without any effect', async () => {
    const people = entries(20, { metadata: [{ key: 'k', value: 'QQ==' }], email: { email: 'a@example.com' } });
    await first(...people);
    const before = await tableCounts(db.pool);
    const again = await acceptImport(db.pool, people, { special: SKIP });
    assert.deepEqual(await write(again, 20), []);
    assert.deepEqual(await tableCounts(db.pool), before);
    const row = await importRow(db.pool, again);
    assert.deepEqual([row.state, row.total, row.skipped, row.succeeded, row.failed], ['succeeded', 20, 20, 0, 0]);
    assert.ok(row.finished_at);
    const { rows } = await db.pool.query('select sum(skipped)::int as n from import_orgs where import_id = $1', [
      again,
    ]);
    assert.equal(rows[0].n, 20);
  });

  it('writes new users, skips existing ones, and keeps the data of neither', async () => {
    await first(entry('old'));
    const importId = await acceptImport(db.pool, [entry('new'), entry('old', { userName: 'renamed' })], {
      special: SKIP,
    });
    await write(importId, 2);
    assert.deepEqual(await outcomes(importId), ['succeeded', 'skipped']);
    const { rows } = await db.pool.query('select user_name from users order by user_name');
    assert.deepEqual(
      rows.map((r) => r.user_name),
      ['new', 'old'],
    );
    const kept = (await itemRows(db.pool, importId)).map((i) => [i.email, i.password_hash, i.extras, i.error]);
    assert.deepEqual(kept, Array(2).fill([null, null, null, null]));
  });

  for (const read of ['compact', 'by old workers'])
    it(`also matches users by name, and shows the id of the match if the entry has none, in items that are read ${read}`, async () => {
      if (read !== 'compact') await addOldWorker(db.pool);
      await first(entry('ann'));
      const { userId: _, ...unnamed } = entry('Ann');
      const other = { ...entry('x', { userName: 'ANN' }), userId: 'another' };
      const importId = await acceptImport(db.pool, [other], { special: SKIP });
      await write(importId, 1);
      const second = await acceptImport(db.pool, [unnamed], { special: SKIP });
      await write(second, 1);
      const shown = [...(await itemRows(db.pool, importId)), ...(await itemRows(db.pool, second))];
      assert.deepEqual(
        shown.map((i) => [i.state, i.user_id]),
        [
          ['skipped', 'another'],
          ['skipped', 'id-ann'],
        ],
      );
    });

  it('fails an entry whose id belongs to another organization or to a machine user', async () => {
    await first(entry('ann'));
    await db.pool.query(
      `insert into users (id, org_id, kind, state, user_name, user_name_key, sequence)
       values ('robot', 'other', 'machine', 'active', 'robot', 'robot', 1)`,
    );
    const humanUsers = [entry('ann'), { ...entry('r'), userId: 'robot' }, entry('robot')];
    const body = { dataOrgs: { orgs: [{ orgId: 'other', humanUsers }] }, timeout: '1h' };
    const importId = await acceptBody(db.pool, body, { special: SKIP });
    await write(importId, 3);
    assert.deepEqual(await outcomes(importId), ['USER-ID-TAKEN', 'USER-ID-TAKEN', 'USER-NAME-TAKEN']);
    assert.equal((await importRow(db.pool, importId)).state, 'completed_with_errors');
  });

  it('skips a user that appears twice in the body, but not in another organization', async () => {
    const orgs = [
      { orgId: 'org', humanUsers: [entry('a'), entry('b'), entry('a'), { ...entry('b'), userId: 'c' }, 7] },
      { orgId: 'other', humanUsers: [entry('a'), { ...entry('b'), userId: 'd' }] },
    ];
    const importId = await acceptBody(db.pool, { dataOrgs: { orgs }, timeout: '1h' }, { special: SKIP });
    const row = await importRow(db.pool, importId);
    assert.deepEqual([row.state, row.total, row.skipped, row.failed], ['running', 7, 2, 2]);
    await write(importId, 7);
    assert.deepEqual(await outcomes(importId), [
      'succeeded',
      'succeeded',
      'skipped',
      'skipped',
      'IMPORT-USER-INVALID',
      'USER-ID-TAKEN',
      'succeeded',
    ]);
    const ended = await importRow(db.pool, importId);
    assert.deepEqual([ended.state, ended.succeeded, ended.skipped], ['completed_with_errors', 3, 2]);
    const [, , skipped] = await itemRows(db.pool, importId);
    assert.deepEqual([skipped?.email, skipped?.password_hash], [null, null]);
  });

  it('hashes no password of an existing user', async () => {
    await first(entry('old'));
    const plain = { hashedPassword: undefined, password: 'correct horse' };
    const importId = await acceptImport(db.pool, [entry('old', plain), entry('new', plain)], { special: SKIP });
    assert.deepEqual(await write(importId, 2), [1]);
    assert.deepEqual(await outcomes(importId), ['skipped', 'pending']);
    assert.equal((await itemRows(db.pool, importId))[0]?.password_sealed, null);
  });

  it('writes nothing once the import does not run', async () => {
    await first(entry('old'));
    const importId = await acceptImport(db.pool, [entry('old'), entry('new')], { special: SKIP });
    await db.pool.query(`update imports set state = 'cancelled' where id = $1`, [importId]);
    await assert.rejects(write(importId, 2), { kind: 'not-running' });
    assert.deepEqual(await outcomes(importId), ['pending', 'pending']);
    assert.equal((await tableCounts(db.pool)).users, 1);
  });
});
