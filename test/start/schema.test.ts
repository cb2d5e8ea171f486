/** A worker that starts before the database or its schema waits for them and logs it once. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test, { type TestContext } from 'node:test';
import { migrateQueue } from '../../src/imports/queue/schema.ts';
import { readConfig } from '../../src/platform/config.ts';
import { migrationState } from '../../src/platform/db/migrate.ts';
import { prepareDatabase } from '../../src/start/database.ts';
import { freePort } from '../support/free-port.ts';
import { type Launched, launch, warnings } from '../support/processes/launch.ts';
import { startGate } from '../support/stores/gate.ts';
import { type TestDatabase, testDatabase } from '../support/stores/postgres.ts';
import { waitFor } from '../support/wait.ts';

const PATIENT = { timeoutMs: 60_000 };
const NO_SCHEMA = /no schema yet/;
const UNREADABLE = /DATABASE_URL cannot be read/;
const ENCRYPTION_KEY = randomBytes(32).toString('base64');

interface Waiting extends Launched {
  /** Status of `/readyz`, and the parts in it. */
  ready(): Promise<{ status: number; parts: string[]; text: string }>;
}

test('a worker on an empty database logs one line, waits, and starts when the API has created the schema', async (t) => {
  const database = await emptyDatabase(t);
  const worker = await startWorker(t, database.url);
  const unready = await untilItWaits(worker, NO_SCHEMA);
  assert.deepEqual([unready.status, unready.parts.includes('schema')], [503, true]);
  const config = readConfig({
    DATABASE_URL: database.url,
    ENCRYPTION_KEY,
    BOOTSTRAP_TOKEN: randomBytes(24).toString('hex'),
  });
  await prepareDatabase(database.url, config);
  await untilReady(worker);
  assert.equal(waits(worker, NO_SCHEMA), 1, worker.log());
});

test('a worker does not run on an older schema, of Muster or the queue, and stops cleanly while it waits', async (t) => {
  const database = await testDatabase(t);
  t.after(() => database.drop());
  const { known } = await migrationState(database.pool);
  await database.pool.query('update migrations set id = id - 900');
  const { applied: old } = await migrationState(database.pool);
  await database.pool.query('drop schema bullmq cascade');
  const worker = await startWorker(t, database.url);
  const isOld = new RegExp(`has schema ${old}; this program needs ${known}`);
  await untilItWaits(worker, isOld);
  await database.pool.query('update migrations set id = id + 900');
  assert.doesNotMatch(worker.log(), /is ready/);
  const other = await startWorker(t, database.url);
  const isQueueOld = /The tables of the queue have version 0; this program needs/;
  await untilItWaits(other, isQueueOld);
  assert.deepEqual([waits(worker, isOld), waits(other, isQueueOld)], [1, 1], worker.log() + other.log());

  await migrateQueue(database.pool);
  await untilReady(worker);
  await database.pool.query('update migrations set id = id - 900');
  const late = await startWorker(t, database.url);
  await untilItWaits(late, /has schema/);
  late.kill('SIGTERM');
  assert.equal(await late.ended, 0);
});

test('an API and a worker refuse a newer schema in one sentence', async (t) => {
  const database = await testDatabase(t);
  t.after(() => database.drop());
  const { known } = await migrationState(database.pool);
  await database.pool.query('insert into migrations (id) values ($1)', [known + 1]);
  const refusal = `The database has migration ${known + 1}, but this program knows only up to ${known}: start the newer program.`;
  for (const file of ['src/start/api.ts', 'workers/all-in-one.ts']) {
    const process = launch(t, file, { DATABASE_URL: database.url, ENCRYPTION_KEY, PORT: '0' });
    assert.equal(await process.ended, 1, process.log());
    assert.deepEqual([process.errors().trim(), process.log()], [refusal, '']);
  }
});

test('a worker that starts while the database is down logs one line without an address, waits, and starts', async (t) => {
  const database = await testDatabase(t);
  t.after(() => database.drop());
  const gate = await startGate(database.url, 'reset');
  t.after(() => gate.stop());
  const worker = await startWorker(t, gate.url);
  const { status, parts, text } = await untilItWaits(worker, UNREADABLE);
  assert.deepEqual([status, parts], [503, ['database', 'queue']]);
  assert.doesNotMatch(text, /127\.0\.0\.1|ECONN|select|postgres/i);
  await waitFor(() => gate.resets > 6, { what: 'it to try again', ...PATIENT });
  await gate.open();
  await untilReady(worker);
  assert.equal(waits(worker, UNREADABLE), 1, worker.log());
});

async function startWorker(t: TestContext, url: string): Promise<Waiting> {
  const port = await freePort();
  const worker = launch(t, 'workers/all-in-one.ts', { DATABASE_URL: url, ENCRYPTION_KEY, HEALTH_PORT: String(port) });
  return {
    ...worker,
    async ready() {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(20_000) });
      const text = await answer.text();
      const { failing = [] } = JSON.parse(text) as { failing?: { part: string; since: string }[] };
      for (const { since } of failing) assert.ok(Date.parse(since) <= Date.now());
      return { status: answer.status, parts: failing.map(({ part }) => part).sort(), text };
    },
  };
}

/** Number of lines that give this reason; on a busy machine, a check may time out as well and be another reason. */
function waits({ log }: Waiting, reason: RegExp): number {
  return warnings(log()).filter(({ msg }) => reason.test(msg) && msg.endsWith('The worker waits for it.')).length;
}

async function untilItWaits(worker: Waiting, line: RegExp) {
  await waitFor(() => line.test(worker.log()), { what: `${line} in the log`, ...PATIENT });
  return worker.ready();
}

async function untilReady(worker: Waiting): Promise<void> {
  await waitFor(() => worker.log().includes('worker is ready'), { what: 'the worker', ...PATIENT });
  await waitFor(async () => (await worker.ready()).status === 200, { what: '200 of /readyz', ...PATIENT });
}

async function emptyDatabase(t: TestContext): Promise<TestDatabase> {
  const database = await testDatabase(t);
  t.after(() => database.drop());
  await database.pool.query('drop schema public cascade; drop schema bullmq cascade; create schema public');
  return database;
}
