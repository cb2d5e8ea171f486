import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { errorIdOf } from '../../../src/contract/causes.ts';
import { ITEM_STATES } from '../../../src/contract/import-results.ts';
import type { ImportResult } from '../../../src/contract/import-types.ts';
import { writeBatch } from '../../../src/imports/run/write-batch.ts';
import { type ItemsQuery, readItems, searchItems } from '../../../src/imports/status/items.ts';
import { readProgress } from '../../../src/imports/status/progress.ts';
import { readResult, readWithMore } from '../../../src/imports/status/result.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import {
  acceptBody,
  acceptImport,
  addOrgs,
  entries,
  entry,
  openWriterPool,
  setImport,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

describe('the items of an import', () => {
  let db: TestDatabase;
  let writer: Pool;
  let importId: string;
  before(async () => {
    db = await testDatabase({ name: 'items' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org', 'other');
    const orgs = [
      { orgId: 'org', humanUsers: [entry('a'), null, entry('b'), entry('a')] },
      { orgId: 'other', humanUsers: [entry('c'), { userId: 'x\tž', user: { userName: 'bad', email: {} } }] },
      { orgId: 'org', humanUsers: [entry('d')] },
    ];
    importId = await acceptBody(db.pool, { dataOrgs: { orgs }, timeout: '1h' });
    await writeBatch(writer, importId, [0, 4], { codeTtlMs: 1000 });
  });
  after(async () => {
    await writer.end();
    await db.drop();
  });

  const whole = async (id: string) => (await readWithMore(db.pool, id)) ?? assert.fail();
  const progress = async () => (await readProgress(db.pool, importId)) ?? assert.fail();
  async function page(query: Partial<ItemsQuery> = {}) {
    return readItems(db.pool, await progress(), { pageSize: 100, from: 0, ...query });
  }
  const indices = async (query: Partial<ItemsQuery> = {}) => (await page(query)).items.map((i) => i.index);

  it('are found by what an address, a user name or an id begins with', async () => {
    assert.deepEqual(await indices({ query: 'id-a' }), [0, 3]);
    assert.deepEqual(await indices({ query: 'ID-A' }), [], 'case counts for ids');
    assert.deepEqual(await indices({ query: 'A@Example' }), [0, 3], 'written, and failed with its address');
    assert.deepEqual(await indices({ query: 'C' }), [4]);
    assert.deepEqual(await indices({ query: 'BA' }), [5], 'the user name of an invalid entry');
    assert.deepEqual(await indices({ query: 'a@', state: 'FAILED' }), [3]);
    assert.deepEqual(await indices({ query: 'c@', orgId: 'org' }), []);
    assert.deepEqual(await indices({ query: '%' }), []);
    const first = await page({ query: 'id-', pageSize: 2 });
    assert.deepEqual([first.items.map((i) => i.index), first.next], [[0, 2], 3]);
    assert.deepEqual(await indices({ query: 'id-', from: first.next as number }), [3, 4, 6]);
  });

  it('are found by address also if more users have it than can be looked up in advance', async () => {
    await db.pool.query(
      `insert into users (id, org_id, kind, state, user_name, user_name_key, email, email_key, sequence)
       select 'many' || n, 'other', 'human', 'active', 'many' || n, 'many' || n, 'a@example.com' || n, 'a@example.com' || n, -1
       from generate_series(1, 2500) n`,
    );
    assert.deepEqual(await indices({ query: 'a@example' }), [0, 3]);
    await db.pool.query(`delete from users where id like 'many%'`);
  });

  it('are searched in stretches that take as long on a slow server as on a fast one', async (t) => {
    let clock = 0;
    t.mock.method(performance, 'now', () => clock);
    /** Reads a page from a server that takes this long for a thousand items; returns how many items each stretch has. */
    async function stretches(msPerThousand: number): Promise<number[]> {
      const lengths: number[] = [];
      const server = {
        async query({ name, values }: { name: string; values: number[] }) {
          if (name !== 'search-items') return { rows: [] };
          const length = (values[2] as number) - (values[1] as number);
          lengths.push(length);
          clock += (length * msPerThousand) / 1000;
          return { rows: [] };
        },
      } as unknown as Pool;
      const of = { importId: '1', dryRun: false, counts: { total: 1_000_000 } } as ImportResult;
      const { next } = await searchItems(server, { of, orgIds: [] }, 50, { from: 0, text: 'nobody' });
      assert.equal(
        next,
        lengths.reduce((sum, n) => sum + n, 0),
      );
      return lengths;
    }
    assert.deepEqual(await stretches(0.4), [5000, 10_000, 20_000, 40_000, 80_000, 80_000, 80_000]);
    assert.deepEqual(await stretches(2), [5000, 10_000, 20_000, 20_000, 20_000]);
    assert.deepEqual(await stretches(10), [5000, 5000, 5000]);
  });

  it('are listed in body order, each with its ids and its error', async () => {
    const { items, next } = await page();
    assert.equal(next, undefined);
    assert.deepEqual(
      items.map(({ error, signIn: _, ...item }) => [...Object.values(item), errorIdOf(error) || undefined]),
      [
        [0, 'org', 'id-a', 'a', 'ITEM_STATE_SUCCEEDED', undefined],
        [1, 'org', '', '', 'ITEM_STATE_FAILED', 'IMPORT-USER-INVALID'],
        [2, 'org', 'id-b', 'b', 'ITEM_STATE_PENDING', undefined],
        [3, 'org', 'id-a', 'a', 'ITEM_STATE_FAILED', 'USER-ID-TAKEN'],
        [4, 'other', 'id-c', 'c', 'ITEM_STATE_SUCCEEDED', undefined],
        [5, 'other', 'x\tž', 'bad', 'ITEM_STATE_FAILED', 'IMPORT-USER-INVALID'],
        [6, 'org', 'id-d', 'd', 'ITEM_STATE_PENDING', undefined],
      ],
    );
    assert.deepEqual(Object.keys(items[0] ?? {}), ['index', 'orgId', 'userId', 'userName', 'state', 'signIn']);
    assert.deepEqual([items[1]?.error?.code, items[3]?.error?.code], [3, 6]);
  });

  it('are listed in pages that contain each of them once', async () => {
    for (const pageSize of [1, 2, 3, 6, 7, 8]) {
      const seen: number[] = [];
      let from: number | undefined = 0;
      while (from !== undefined) {
        const { items, next } = await page({ pageSize, from });
        assert.ok(items.length >= 1 && items.length <= pageSize);
        seen.push(...items.map((i) => i.index));
        from = next;
      }
      assert.deepEqual(seen, [0, 1, 2, 3, 4, 5, 6]);
    }
    assert.deepEqual(await page({ from: 7 }), { items: [], next: undefined });
    assert.deepEqual(await page({ from: 999_999_999_999_999 }), { items: [], next: undefined });
  });

  it('can be filtered by state, organization and id, together and in pages', async () => {
    assert.deepEqual(await indices({ state: 'FAILED' }), [1, 3, 5]);
    assert.deepEqual(await indices({ state: 'SUCCEEDED' }), [0, 4]);
    assert.deepEqual(await indices({ state: 'PENDING' }), [2, 6]);
    for (const state of ['TIMED_OUT', 'CANCELLED', 'SKIPPED', 'UNDONE'])
      assert.deepEqual(await indices({ state }), [], state);
    assert.deepEqual(await indices({ orgId: 'org' }), [0, 1, 2, 3, 6]);
    assert.deepEqual(await indices({ orgId: 'other', state: 'FAILED' }), [5]);
    assert.deepEqual(await indices({ userId: 'id-a' }), [0, 3]);
    assert.deepEqual(await indices({ userId: 'id-a', state: 'FAILED', orgId: 'org' }), [3]);
    assert.deepEqual(await indices({ userId: 'x\tž' }), [5]);
    for (const stranger of ['nobody', '', "' or true --"]) {
      assert.deepEqual(await indices({ userId: stranger }), [], JSON.stringify(stranger));
      assert.deepEqual(await indices({ orgId: stranger }), [], JSON.stringify(stranger));
    }
    const first = await page({ state: 'FAILED', pageSize: 2 });
    assert.deepEqual([first.items.map((i) => i.index), first.next], [[1, 3], 5]);
    assert.deepEqual(await indices({ state: 'FAILED', pageSize: 2, from: 5 }), [5]);
  });

  it('that are pending read as timed out or cancelled when the import is', async () => {
    for (const state of ['timed_out', 'cancelled', 'running']) {
      await setImport(db.pool, importId, { state: `'${state}'` });
      const open = state === 'running' ? 'PENDING' : state.toUpperCase();
      assert.deepEqual(
        (await page()).items.filter((i) => i.state === `ITEM_STATE_${open}`).map((i) => i.index),
        [2, 6],
      );
      const found: Record<string, number[]> = {};
      for (const each of ITEM_STATES) found[each] = await indices({ state: each });
      const none = Object.fromEntries(ITEM_STATES.map((s) => [s, []]));
      assert.deepEqual(found, { ...none, SUCCEEDED: [0, 4], FAILED: [1, 3, 5], [open]: [2, 6] });
    }
  });

  it("are summarised in the result in the ecosystem's form", async () => {
    const result = await readResult(db.pool, await whole(importId));
    assert.deepEqual(result.success, {
      orgs: [
        { orgId: 'org', humanUserIds: ['id-a'] },
        { orgId: 'other', humanUserIds: ['id-c'] },
      ],
    });
    const errors = result.errors as { type: string; id: string; message: string }[];
    assert.deepEqual(
      errors.map(({ type, id }) => [type, id]),
      [
        ['human_user', ''],
        ['human_user', 'id-a'],
        ['human_user', 'x\tž'],
      ],
    );
    assert.match(errors[2]?.message ?? '', /user\.profile: is required; user\.email\.email: is required/);
    assert.deepEqual(result.warnings, []);
  });

  it('are in the result with at most a hundred errors and a thousand successes', async () => {
    await wipe(db.pool);
    const large = await acceptImport(db.pool, [...Array(101).fill(null), ...entries(1001)]);
    await writeBatch(
      writer,
      large,
      Array.from({ length: 1001 }, (_, i) => 101 + i),
      { codeTtlMs: 1000 },
    );
    const result = await readResult(db.pool, await whole(large));
    assert.equal((result.errors as unknown[]).length, 100);
    const { orgs } = result.success as { orgs: { humanUserIds: string[] }[] };
    assert.deepEqual([orgs.length, orgs[0]?.humanUserIds.length, orgs[0]?.humanUserIds[0]], [1, 1000, 'id-u0']);
  });

  it('are searched only up to the known number: an import that has just begun costs as little as one that ends', async () => {
    await wipe(db.pool);
    const begun = await acceptImport(db.pool, entries(4000));
    await writeBatch(writer, begun, [0, 1, 2], { codeTtlMs: 1000 });
    let searches = 0;
    const counted = {
      query(statement: { name: string }) {
        if (statement.name === 'first-successes') searches++;
        return db.pool.query(statement as never);
      },
    } as unknown as Pool;
    const result = await readResult(counted, await whole(begun));
    const { orgs } = result.success as { orgs: { humanUserIds: string[] }[] };
    assert.deepEqual([orgs[0]?.humanUserIds, searches], [['id-u0', 'id-u1', 'id-u2'], 1]);
  });
});
