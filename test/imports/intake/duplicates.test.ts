/** The same id or name twice in one body: the first one wins, whatever order the workers run in. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { createDuplicateFilter } from '../../../src/imports/entries/duplicate-filter.ts';
import { nameKey } from '../../../src/platform/fields.ts';
import fc from '../../support/fast-check.ts';
import {
  acceptBody,
  acceptImport,
  addOrgs,
  entry,
  errorIdOf,
  importRow,
  itemRows,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

const person = (userId: string, userName: string) => ({ ...entry('x', { userName }), userId });

describe('duplicates in one body', () => {
  let db: TestDatabase;
  before(async () => {
    db = await testDatabase({ name: 'duplicates' });
    await addOrgs(db.pool, 'org', 'other', 'a', 'a b');
  });
  beforeEach(() => wipe(db.pool));
  after(() => db.drop());

  async function outcomes(importId: string) {
    return (await itemRows(db.pool, importId)).map((i) => (i.state === 'pending' ? 'pending' : errorIdOf(i)));
  }
  async function accept(orgs: Record<string, unknown[]> | { orgId: string; humanUsers: unknown[] }[]) {
    const list = Array.isArray(orgs)
      ? orgs
      : Object.entries(orgs).map(([orgId, humanUsers]) => ({ orgId, humanUsers }));
    const importId = await acceptBody(db.pool, { dataOrgs: { orgs: list }, timeout: '1h' });
    return outcomes(importId);
  }

  it('are refused by id in the whole body, by name in one organization', async () => {
    const importId = await acceptImport(db.pool, [
      person('1', 'a'),
      person('1', 'b'),
      person('2', 'a'),
      person('3', 'c'),
      person('1', 'a'),
    ]);
    assert.deepEqual(await outcomes(importId), [
      'pending',
      'USER-ID-TAKEN',
      'USER-NAME-TAKEN',
      'pending',
      'USER-ID-TAKEN',
    ]);
    const { state, total, failed } = await importRow(db.pool, importId);
    assert.deepEqual([state, total, failed], ['running', 5, 3]);
    const items = await itemRows(db.pool, importId);
    assert.deepEqual([items[1]?.error.code, items[2]?.error.code], [6, 6]);
    assert.deepEqual(await accept({ org: [person('1', 'a')], other: [person('2', 'a'), person('1', 'z')] }), [
      'pending',
      'pending',
      'USER-ID-TAKEN',
    ]);
  });

  it('are found when a name is written differently', async () => {
    const names = ['Zoë', 'ZOË', 'zoe\u0308', 'Straße', 'STRASSE', 'ΑΣ', 'ας', 'ασ', 'İ', 'i̇', 'ﬁ', 'fi'];
    const expected = names.map((name, i) =>
      names.slice(0, i).some((n) => nameKey(n) === nameKey(name)) ? 'USER-NAME-TAKEN' : 'pending',
    );
    assert.deepEqual(expected.slice(0, 5), ['pending', 'USER-NAME-TAKEN', 'USER-NAME-TAKEN', 'pending', 'pending']);
    assert.deepEqual(await accept({ org: names.map((name, i) => person(`${i}`, name)) }), expected);
  });

  it('are found by email when there is no user name', async () => {
    const email = { email: 'Ann@Example.com', isEmailVerified: true };
    assert.deepEqual(
      await accept({ org: [entry('a', { userName: undefined, email }), entry('b', { userName: 'ann@example.com' })] }),
      ['pending', 'USER-NAME-TAKEN'],
    );
  });

  it('are found in an organization that appears twice in the body', async () => {
    const orgs = [
      { orgId: 'org', humanUsers: [person('1', 'a')] },
      { orgId: 'other', humanUsers: [person('2', 'a')] },
      { orgId: 'org', humanUsers: [person('3', 'A'), person('4', 'b')] },
    ];
    assert.deepEqual(await accept(orgs), ['pending', 'pending', 'USER-NAME-TAKEN', 'pending']);
    const { rows } = await db.pool.query('select failed from import_orgs order by org_index');
    assert.deepEqual(
      rows.map((r) => r.failed),
      [0, 0, 1],
    );
  });

  it('invalid entries do not count, as they take no id and no name', async () => {
    const invalid = { userId: '1', user: { userName: 'a' } };
    assert.deepEqual(await accept({ org: [invalid, person('1', 'a')] }), ['IMPORT-USER-INVALID', 'pending']);
  });

  it('an organization and a name are not confused when only their concatenation is equal', async () => {
    assert.deepEqual(
      await accept({ a: [person('1', 'b c'), person('2', 'c')], 'a b': [person('3', 'c'), person('4', 'c')] }),
      ['pending', 'pending', 'pending', 'USER-NAME-TAKEN'],
    );
  });

  it('are settled in body order, for any body', async () => {
    const user = fc.tuple(fc.nat(12), fc.constantFrom('a', 'A', 'b', 'ž', 'z\u030c', 'c', 'd'));
    const body = fc.array(fc.tuple(fc.constantFrom('org', 'other'), fc.array(user, { maxLength: 6 })), {
      minLength: 1,
      maxLength: 4,
    });
    await fc.assert(
      fc.asyncProperty(body, async (orgs) => {
        const flat = orgs.flatMap(([org, users]) =>
          users.map(([id, name]) => ({ id, name: `${org}/${nameKey(name)}` })),
        );
        fc.pre(flat.length > 0);
        await wipe(db.pool);
        const list = orgs.map(([orgId, users]) => ({
          orgId,
          humanUsers: users.map(([id, name]) => person(`${id}`, name)),
        }));
        const ids = flat.map((u, i) => flat.slice(0, i).some((e) => e.id === u.id));
        const names = flat.map((u, i) => flat.slice(0, i).some((e, j) => !ids[j] && e.name === u.name));
        assert.deepEqual(
          await accept(list),
          flat.map((_, i) => (ids[i] ? 'USER-ID-TAKEN' : names[i] ? 'USER-NAME-TAKEN' : 'pending')),
        );
      }),
      { numRuns: 25, endOnFailure: true },
    );
  });

  it('thousands of them take no longer than as many different users', async () => {
    const many = (make: (i: number) => unknown) => Array.from({ length: 8000 }, (_, i) => make(i));
    const start = performance.now();
    await acceptImport(
      db.pool,
      many((i) => person(`${i}`, `n${i}`)),
    );
    const different = performance.now() - start;
    const importId = await acceptImport(
      db.pool,
      many((i) => person(`${i}`, 'same')),
    );
    const same = performance.now() - start - different;
    assert.equal((await importRow(db.pool, importId)).failed, 7999);
    assert.ok(same < 8 * different + 2000, `${Math.round(same)} ms against ${Math.round(different)} ms`);
  });
});

describe('the duplicate filter', () => {
  it('finds every repeated key, and almost never suspects a new one', () => {
    const filter = createDuplicateFilter();
    const keys = Array.from({ length: 100_000 }, (_, i) => `user-${i >> 1}@exämple.com`);
    const suspected = keys.filter((key, i) => filter.add(key, i & 1)).length;
    assert.ok(suspected <= 5, `${suspected} of ${keys.length}`);
    assert.ok(keys.every((key, i) => filter.add(key, i & 1)));
  });

  it('knows the keys of full filters when it has begun the last, and suspects hardly any new one', () => {
    const filter = createDuplicateFilter();
    const most = 2_100_000;
    let suspected = 0;
    for (let i = 0; i < most; i++) if (filter.add(`user-${i}`, 1)) suspected++;
    assert.ok(suspected <= 2, `${suspected} of ${most}`);
    const [first, second, third] = [63_000, 1_073_000, 2_083_000];
    for (const i of [0, 999, 1000, 1001, first - 10, first + 10, second - 10, second + 10, third - 10, most - 1])
      assert.ok(filter.add(`user-${i}`, 1), `${i}`);
  });

  it('takes no more memory than a small import needs', () => {
    const before = process.memoryUsage().arrayBuffers;
    const filter = createDuplicateFilter();
    for (let i = 0; i < 60_000; i++) filter.add(`user-${i}`, 1);
    const bytes = process.memoryUsage().arrayBuffers - before;
    assert.ok(bytes < 2 ** 20, `${bytes} bytes`);
  });

  it('takes a key as text or as bytes, of any length', () => {
    for (const others of [0, 2000]) {
      const filter = createDuplicateFilter();
      for (let i = 0; i < others; i++) filter.add(`other-${i}`, 1);
      const keys = ['Žižek😀', 'x'.repeat(3000)];
      for (const key of keys) assert.ok(!filter.add(key, 1));
      for (const key of keys) {
        const bytes = Buffer.from(`"${key}"`);
        assert.ok(filter.addBytes(bytes, 1, bytes.length - 1, 1));
        assert.ok(!filter.addBytes(bytes, 0, bytes.length, 1));
      }
    }
  });

  it('suspects no new key of a small import, and tells the kinds apart', () => {
    const filter = createDuplicateFilter();
    const keys = Array.from({ length: 400 }, (_, i) => `user-${i}@exämple.com`);
    for (const kind of [0, 1]) assert.ok(keys.every((key) => !filter.add(key, kind)));
    for (const kind of [0, 1]) assert.ok(keys.every((key) => filter.add(key, kind)));
  });
});
