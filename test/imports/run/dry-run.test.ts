/** `dryRun=true`: reports what the import would do, and stores nothing but the report. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { PAYLOAD } from '../../../src/imports/entries/item.ts';
import type { ExistingRule } from '../../../src/imports/entries/options.ts';
import { batchStore, specialStores } from '../../../src/imports/run/stores.ts';
import { readResult, readWithMore } from '../../../src/imports/status/result.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import fc from '../../support/fast-check.ts';
import { importFirst, SETTINGS, special } from '../../support/imports/existing.ts';
import {
  acceptBody,
  acceptImport,
  addOrgs,
  type Entry,
  entry,
  errorIdOf,
  HASH,
  importRow,
  itemRows,
  openWriterPool,
  tableCounts,
  wipe,
} from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';

describe('a dry run', () => {
  let db: TestDatabase;
  let writer: Pool;
  before(async () => {
    db = await testDatabase({ name: 'dry_run' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org', 'other');
  });
  beforeEach(() => wipe(db.pool));
  after(async () => {
    await writer.end();
    await db.drop();
  });

  const first = (...people: unknown[]) => importFirst(db.pool, writer, people);
  const dry = (importId: string, count: number) =>
    specialStores(writer, SETTINGS).dry.write(importId, [...Array(count).keys()]);
  const outcomes = async (importId: string) =>
    (await itemRows(db.pool, importId)).map((i) => errorIdOf(i) ?? i.changed ?? i.state);
  async function result(importId: string): Promise<Record<string, unknown>> {
    return readResult(db.pool, (await readWithMore(db.pool, importId)) ?? assert.fail());
  }

  it('reports invalid users, conflicts, hashes and mails, and writes nothing else', async () => {
    await first(entry('taken'));
    const before = await tableCounts(db.pool);
    const people = [
      entry('good'),
      entry('taken'),
      entry('twice'),
      { ...entry('twice'), userId: 'other' },
      entry('unverified', { email: { email: 'u@example.com' } }),
      entry('none', { hashedPassword: undefined }),
      entry('plain', { hashedPassword: undefined, password: 'correct horse', email: { email: 'p@example.com' } }),
      entry('locked', { hashedPassword: undefined }, { state: 'USER_STATE_LOCKED' }),
      entry('odd', { hashedPassword: { value: '$2e$10$abc' } }),
      entry('unknown', { hashedPassword: { value: 'sha1:abc' } }),
      7,
    ];
    const importId = await acceptImport(db.pool, people, { special: special('fail', true) });
    assert.deepEqual(await dry(importId, people.length), []);
    assert.deepEqual(await outcomes(importId), [
      'succeeded',
      'USER-ID-TAKEN',
      'succeeded',
      'USER-NAME-TAKEN',
      'succeeded',
      'succeeded',
      'succeeded',
      'succeeded',
      'IMPORT-USER-INVALID',
      'IMPORT-USER-INVALID',
      'IMPORT-USER-INVALID',
    ]);
    assert.deepEqual(await tableCounts(db.pool), before);
    const { state, dryRun, counts, mails, hashes, mailKinds } = await result(importId);
    assert.deepEqual(
      [state, dryRun, mails, mailKinds],
      [
        'IMPORT_STATE_COMPLETED_WITH_ERRORS',
        true,
        { pending: 3, held: 0, sent: 0, failed: 0 },
        { verification: 2, initialisation: 1 },
      ],
    );
    const { total, succeeded, failed } = counts as Record<string, number>;
    assert.deepEqual([total, succeeded, failed], [11, 6, 5]);
    assert.deepEqual(hashes, [
      { scheme: 'bcrypt', users: 5, verifiable: true },
      { scheme: '$2e$', users: 1, verifiable: false },
      { scheme: 'unknown', users: 1, verifiable: false },
    ]);
  });

  it('keeps the data of no user, not even of invalid ones', async () => {
    await first(entry('taken'));
    const people = [entry('a', { metadata: [{ key: 'k', value: 'QQ==' }] }), entry('taken'), { user: 7 }, entry('a')];
    const importId = await acceptImport(db.pool, people, { special: special('fail', true) });
    await dry(importId, people.length);
    for (const item of await itemRows(db.pool, importId)) {
      assert.deepEqual(
        PAYLOAD.filter((column) => item[column] !== null),
        [],
        `item ${item.ordinal}`,
      );
    }
  });

  it('counts the users it would skip and update, and names what would change', async () => {
    await first(entry('same'), entry('moved'), entry('else'));
    const people = [
      entry('same'),
      entry('moved', { email: { email: 'n@example.com' }, metadata: [{ key: 'k', value: 'QQ==' }] }),
      entry('else', {}, { state: 'USER_STATE_LOCKED' }),
      entry('fresh'),
    ];
    const before = (await db.pool.query('select * from users order by id')).rows;
    const importId = await acceptImport(db.pool, people, { special: special('update', true) });
    await dry(importId, 4);
    assert.deepEqual(await outcomes(importId), [
      'skipped',
      ['email.email', 'email.isEmailVerified', 'metadata'],
      ['state'],
      'succeeded',
    ]);
    assert.deepEqual((await db.pool.query('select * from users order by id')).rows, before);
    assert.equal((await importRow(db.pool, importId)).mails_due, 1);
    const skipping = await acceptImport(db.pool, people, { special: special('skip', true) });
    await dry(skipping, 4);
    assert.deepEqual(await outcomes(skipping), ['skipped', 'skipped', 'skipped', 'succeeded']);
  });

  it('hashes the passwords only of existing users that would be updated', async () => {
    await first(entry('old'));
    const plain = { hashedPassword: undefined, password: 'correct horse' };
    const people = [entry('old', plain), entry('new', plain)];
    const updating = await acceptImport(db.pool, people, { special: special('update', true) });
    assert.deepEqual(await dry(updating, 2), [0]);
    assert.deepEqual(await outcomes(updating), ['pending', 'succeeded']);
    const failing = await acceptImport(db.pool, people, { special: special('fail', true) });
    assert.deepEqual(await dry(failing, 2), []);
  });

  it('can be stopped like any import, and many workers count each item once', async () => {
    const people = Array.from({ length: 50 }, (_, i) => entry(`u${i}`, { email: { email: `u${i}@example.com` } }));
    const importId = await acceptImport(db.pool, people, { special: special('fail', true) });
    await db.pool.query(`update imports set state = 'paused' where id = $1`, [importId]);
    await assert.rejects(dry(importId, 50), { kind: 'not-running' });
    await db.pool.query(`update imports set state = 'running' where id = $1`, [importId]);
    await Promise.all([1, 2, 3].map(() => dry(importId, 50)));
    const row = await importRow(db.pool, importId);
    assert.deepEqual([row.state, row.succeeded, row.mails_due], ['succeeded', 50, 50]);
    assert.deepEqual((await result(importId)).mailKinds, { verification: 50, initialisation: 0 });
  });

  /** Few names, so that they collide within the body and with existing users. */
  const person = fc
    .record({
      name: fc.constantFrom('a', 'b', 'c'),
      id: fc.constantFrom('a', 'b', 'c', 'd', undefined),
      first: fc.constantFrom('Ann', 'Bea'),
      verified: fc.constantFrom(true, false, undefined),
      hash: fc.boolean(),
      state: fc.constantFrom('USER_STATE_ACTIVE', 'USER_STATE_LOCKED', undefined),
    })
    .map(({ name, id, first: firstName, verified, hash, state }): Entry => {
      const made = entry(name, {
        profile: { firstName, lastName: 'A.' },
        email: { email: `${name}@example.com`, isEmailVerified: verified },
        hashedPassword: hash ? { value: HASH } : undefined,
      });
      const { userId: _, ...rest } = made;
      return { ...rest, ...(id ? { userId: `id-${id}` } : {}), ...(state ? { state } : {}) };
    });
  const people = fc.array(person, { minLength: 1, maxLength: 4 });

  it('predicts what the import then does, for any body and any rule', async () => {
    await fc.assert(
      fc.asyncProperty(
        people,
        people,
        people,
        fc.constantFrom<ExistingRule>('fail', 'skip', 'update'),
        async (old, one, two, rule) => {
          await wipe(db.pool);
          await first(...old);
          const orgs = [
            { orgId: 'org', humanUsers: one },
            { orgId: 'other', humanUsers: two },
          ];
          const body = { dataOrgs: { orgs }, timeout: '1h' };
          const ordinals = [...Array(one.length + two.length).keys()];
          const judged = await acceptBody(db.pool, body, { special: special(rule, true) });
          await runAll(judged, (id) => specialStores(writer, SETTINGS).dry.write(id, ordinals));
          const real = await acceptBody(db.pool, body, { special: special(rule, false) });
          const store = rule === 'fail' ? batchStore(writer, SETTINGS) : specialStores(writer, SETTINGS)[rule];
          await runAll(real, (id) => store.write(id, ordinals));
          assert.deepEqual(await outcomes(judged), await outcomes(real));
          const [a, b] = [await importRow(db.pool, judged), await importRow(db.pool, real)];
          assert.deepEqual(
            [a.state, a.succeeded, a.skipped, a.failed, a.mails_due],
            [b.state, b.succeeded, b.skipped, b.failed, b.mails_due],
          );
        },
      ),
      { numRuns: 25, endOnFailure: true },
    );
  });

  /** An import without pending items has already ended. */
  async function runAll(importId: string, write: (importId: string) => Promise<unknown>): Promise<void> {
    if ((await importRow(db.pool, importId)).state === 'running') await write(importId);
  }
});
