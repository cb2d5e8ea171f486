/** What became of users and imports is counted where it is committed. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Registry } from 'prom-client';
import { cancelImport } from '../../src/imports/control/control.ts';
import { undoImport, undoRound } from '../../src/imports/control/undo.ts';
import { batchStore, specialStores } from '../../src/imports/run/stores.ts';
import { expireImport } from '../../src/imports/upkeep/rescue.ts';
import { importOutcomes } from '../../src/operate/metrics.ts';
import type { Pool } from '../../src/platform/db/pool.ts';
import { SETTINGS, special } from '../support/imports/existing.ts';
import { ADMIN, acceptImport, addOrgs, entry, openWriterPool, setImport } from '../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../support/stores/postgres.ts';
import { sample } from './served.ts';

describe('outcomes of imports', () => {
  let db: TestDatabase;
  let writer: Pool;
  const registry = new Registry();
  before(async () => {
    db = await testDatabase({ name: 'outcome_metrics' });
    writer = openWriterPool(db.url);
    await addOrgs(db.pool, 'org');
    importOutcomes(registry);
  });
  after(async () => {
    await writer.end();
    await db.drop();
  });

  async function values(): Promise<Record<string, number>> {
    const text = await registry.metrics();
    const users = ['succeeded', 'skipped', 'failed', 'undone'].map((o) => [
      o,
      'muster_import_users_total',
      'outcome',
      o,
    ]);
    const ends = ['succeeded', 'completed_with_errors', 'timed_out', 'cancelled', 'undone'].map((s) => [
      `ended ${s}`,
      'muster_imports_ended_total',
      'state',
      s,
    ]);
    const named = [...users, ...ends].map(([key, name, label, value]) => [
      key,
      sample(text, `${name}{${label}="${value}"}`),
    ]);
    const runs = sample(text, 'muster_import_duration_seconds_count{kind="bulk"}');
    return Object.fromEntries([...named, ['runs', runs]]);
  }

  /** What `work` adds to the counters; those that it does not change are left out. */
  async function added(work: () => Promise<unknown>): Promise<Record<string, number>> {
    const earlier = await values();
    await work();
    const changes = Object.entries(await values()).map(([key, n]) => [key, n - (earlier[key] ?? 0)] as const);
    return Object.fromEntries(changes.filter(([, n]) => n !== 0));
  }
  const stores = () => ({ fail: batchStore(writer, SETTINGS), ...specialStores(writer, SETTINGS) });
  const all = (count: number) => [...Array(count).keys()];

  it('count users that are invalid or repeated at acceptance, and the others when their batch is committed', async () => {
    let id = '';
    const people = [entry('ann'), entry('ben'), entry('ann'), 7, entry('cid')];
    assert.deepEqual(await added(async () => (id = await acceptImport(db.pool, people))), { failed: 2 });
    assert.deepEqual(await added(() => stores().fail.write(id, [0, 1])), { succeeded: 2 });
    assert.deepEqual(await added(() => stores().fail.write(id, all(5))), {
      succeeded: 1,
      'ended completed_with_errors': 1,
      runs: 1,
    });
    assert.deepEqual(
      await added(() =>
        stores()
          .fail.write(id, all(5))
          .catch(() => {}),
      ),
      {},
      'a repeated batch',
    );
  });

  it('count an import without a valid user as ended at its acceptance', async () => {
    const ended = { failed: 1, 'ended completed_with_errors': 1, runs: 1 };
    assert.deepEqual(await added(() => acceptImport(db.pool, [7])), ended);
  });

  it('count conflicts, skips and updates', async () => {
    const run = (rule: 'fail' | 'skip' | 'update', people: unknown[]) =>
      added(async () => {
        const id = await acceptImport(db.pool, people, { special: special(rule) });
        await stores()[rule].write(id, all(people.length));
      });
    const done = { runs: 1, 'ended succeeded': 1 };
    assert.deepEqual(await run('fail', [entry('ann'), entry('dan')]), {
      succeeded: 1,
      failed: 1,
      'ended completed_with_errors': 1,
      runs: 1,
    });
    assert.deepEqual(await run('skip', [entry('ann'), entry('eve')]), { succeeded: 1, skipped: 1, ...done });
    const renamed = { profile: { firstName: 'Anna', lastName: 'Arbor' } };
    const people = [entry('ann', renamed), entry('ben'), entry('fay')];
    assert.deepEqual(await run('update', people), { succeeded: 2, skipped: 1, ...done });
  });

  it('count a user that PostgreSQL refuses as failed', async () => {
    const id = await acceptImport(db.pool, [entry('gus')]);
    const fault = { kind: 'data' } as Parameters<ReturnType<typeof batchStore>['poison']>[2];
    const refused = await added(() => stores().fail.poison(id, 0, fault));
    assert.deepEqual(refused, { failed: 1, 'ended completed_with_errors': 1, runs: 1 });
  });

  it('count a dry run as an import, but not its users', async () => {
    const dry = await added(async () => {
      const id = await acceptImport(db.pool, [entry('hal'), 7], { special: special('fail', true) });
      await stores().dry.write(id, [0]);
    });
    assert.deepEqual(dry, { 'ended completed_with_errors': 1, runs: 1 });
  });

  it('count a deadline once, whoever notices it', async () => {
    const id = await acceptImport(db.pool, [entry('ida')]);
    await setImport(db.pool, id, { deadline: `clock_timestamp() - interval '1 second'` });
    const late = await added(() => Promise.all([expireImport(db.pool, id), expireImport(db.pool, id)]));
    assert.deepEqual(late, { 'ended timed_out': 1, runs: 1 });
  });

  it('count what is cancelled and what is undone', async () => {
    const cancelled = await acceptImport(db.pool, [entry('kim')]);
    const cancel = () => cancelImport(db.pool, ADMIN, cancelled);
    assert.deepEqual(await added(cancel), { 'ended cancelled': 1, runs: 1 });
    assert.deepEqual(await added(cancel), {}, 'a second cancel');
    const id = await acceptImport(db.pool, [entry('lea'), entry('mia')]);
    await stores().fail.write(id, [0, 1]);
    await undoImport(db.pool, ADMIN, id);
    assert.deepEqual(await added(() => undoRound(db.pool, 1)), { undone: 1 });
    assert.deepEqual(await added(() => undoRound(db.pool, 1)), { undone: 1, 'ended undone': 1 });
  });

  it('measure how long an import ran, without its pauses', async () => {
    const id = await acceptImport(db.pool, [entry('jon')]);
    await setImport(db.pool, id, {
      accepted_at: `clock_timestamp() - interval '2 hours'`,
      stood: `interval '1 hour 30 minutes'`,
    });
    const sum = async () => sample(await registry.metrics(), 'muster_import_duration_seconds_sum{kind="bulk"}') ?? 0;
    const earlier = await sum();
    await stores().fail.write(id, [0]);
    const seconds = (await sum()) - earlier;
    assert.ok(seconds >= 1800 && seconds < 5400, String(seconds));
  });
});
