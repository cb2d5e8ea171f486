/** Watching imports: one query for all of them, each change once, through an outage. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { pino } from 'pino';
import { readProgress } from '../../../src/imports/status/progress.ts';
import { openProgressWatch, type Seen } from '../../../src/imports/status/watch.ts';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { acceptImport, addOrgs, entries, setImport } from '../../support/imports/imports.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

let db: TestDatabase;
let queries = 0;
let isAway = false;
/** Counts the queries, and fails them while the store is away. */
let pool: Pool;
before(async () => {
  db = await testDatabase({ name: 'watch' });
  await addOrgs(db.pool, 'org');
  pool = Object.create(db.pool, {
    query: {
      value: async (...args: Parameters<Pool['query']>) => {
        queries++;
        if (isAway) throw new Error('away');
        return db.pool.query(...args);
      },
    },
  });
});
after(() => db.drop());
beforeEach(() => {
  queries = 0;
  isAway = false;
});

const watchOf = () => openProgressWatch(pool, pino({ level: 'silent' }));
const current = async (id: string) => (await readProgress(db.pool, id)) ?? assert.fail();
const succeeded = (seen: (Seen | undefined)[]) => seen.map((one) => one?.progress.counts.succeeded);

test('any number of watchers of any number of imports cost one query', async () => {
  const ids = [await acceptImport(db.pool, entries(3)), await acceptImport(db.pool, entries(3))];
  const watch = watchOf();
  const seen = new Map<string, Set<number>>(ids.map((id) => [id, new Set()]));
  const now = new Map(await Promise.all(ids.map(async (id) => [id, await current(id)] as const)));
  const stops = Array.from({ length: 200 }, (_, i) => {
    const id = ids[i % 2] as string;
    return watch.watch(now.get(id) ?? assert.fail(), (one) => {
      if (one?.progress.counts.succeeded === 1) seen.get(id)?.add(i);
    });
  });
  for (const id of ids) await setImport(db.pool, id, { succeeded: '1' });
  await waitFor(() => ids.every((id) => seen.get(id)?.size === 100), { what: 'all watchers to see the change' });
  assert.ok(queries < 50, `${queries} queries`);
  for (const stop of stops) stop();
});

test('each change is reported once, the current state at once, and a removed import as none', async () => {
  const id = await acceptImport(db.pool, entries(3));
  const watch = watchOf();
  const first: (Seen | undefined)[] = [];
  const stop = watch.watch(await current(id), (one) => first.push(one));
  assert.deepEqual(succeeded(first), [0]);
  await setImport(db.pool, id, { succeeded: '2' });
  await waitFor(() => first.length === 2, { what: 'the change' });
  const late: (Seen | undefined)[] = [];
  watch.watch(await current(id), (one) => late.push(one));
  stop();
  await db.pool.query('delete from imports where id = $1', [id]);
  await waitFor(() => late.at(-1) === undefined, { what: 'the end' });
  assert.deepEqual(
    [succeeded(first), succeeded(late)],
    [
      [0, 2],
      [2, undefined],
    ],
  );
});

test('many watchers are told of a change in parts, with other work in between, and none that has left', async (t) => {
  const id = await acceptImport(db.pool, entries(3));
  const watch = watchOf();
  const now = await current(id);
  const told = new Set<number>();
  const toldByTurn: number[] = [];
  const stops = Array.from({ length: 400 }, (_, i) =>
    watch.watch(now, (one) => {
      if (one?.progress.counts.succeeded !== 1) return;
      if (told.size === 0) {
        stops.at(-1)?.();
        setImmediate(() => toldByTurn.push(told.size));
      }
      told.add(i);
    }),
  );
  t.after(() => {
    for (const stop of stops) stop();
  });
  await setImport(db.pool, id, { succeeded: '1' });
  await waitFor(() => told.size >= 399, { what: 'the others to see the change' });
  assert.ok((toldByTurn[0] as number) < 399, `${toldByTurn} in the first turn`);
  assert.deepEqual([told.size, told.has(399)], [399, false]);
});

test('watching continues after an outage', async () => {
  const id = await acceptImport(db.pool, entries(3));
  const watch = watchOf();
  const seen: (Seen | undefined)[] = [];
  isAway = true;
  const stop = watch.watch(await current(id), (one) => seen.push(one));
  await setImport(db.pool, id, { failed: '1' });
  await waitFor(() => queries >= 2, { what: 'two attempts' });
  isAway = false;
  await waitFor(() => seen.length === 2, { what: 'the change' });
  stop();
});
