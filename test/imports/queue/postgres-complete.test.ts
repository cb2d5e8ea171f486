/** The merged statement has exactly the effect of BullMQ's functions for each job, or none. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { createPostgresBackend, type JobsOptions, Queue } from 'bullmq';
import pg from 'pg';
import { hasKnownFunctions } from '../../../src/imports/queue/batching.ts';
import { completeBatch, type Ending } from '../../../src/imports/queue/postgres-fetch.ts';
import { abandonLocks, hold } from '../../support/stores/locks.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

const NOW = 1_800_000_000_000;
const LOCK_MS = 30_000;
const GONE: JobsOptions = { removeOnComplete: true, removeOnFail: true };

type Row = Record<string, unknown>;

describe('completing jobs in a batch', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  const open: { close(): Promise<void> }[] = [];
  before(async () => {
    database = await testDatabase({ name: 'batch' });
    pool = new pg.Pool({ connectionString: database.url, max: 4, options: '-c search_path=bullmq' });
  });
  after(async () => {
    await Promise.all(open.map((one) => one.close()));
    abandonLocks(pool);
    await pool.end();
    await database.drop();
  });

  async function queueOf(name: string, jobs: number, maxLen = 10_000): Promise<Queue> {
    const streams = { events: { maxLen } };
    const queue = new Queue(name, { connection: pool, streams } as never, createPostgresBackend as never);
    open.push(queue);
    await queue.waitUntilReady();
    // The queue writes its options without waiting for it.
    const stored = `select from meta where queue = $1 and field = 'opts.maxLenEvents' and value = $2`;
    await waitFor(async () => (await pool.query(stored, [name, `${maxLen}`])).rowCount === 1, { what: 'its options' });
    const ids = Array.from({ length: jobs }, (_, n) => n);
    await queue.addBulk(ids.map((n) => ({ name: 'j', data: { n }, opts: { ...GONE, jobId: `j${n}` } })));
    return queue;
  }
  /** Fetches the next `count` jobs, each with its own token, as workers do. */
  async function take(queue: string, count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      const values = [queue, `w:${n}`, LOCK_MS, NOW, 'worker', null, null];
      await pool.query('select from move_to_active($1, $2, $3, $4, $5, $6, $7)', values);
    }
  }
  async function running(queue: string): Promise<Ending[]> {
    const { rows } = await pool.query<Omit<Ending, 'result'>>(
      `select id, lock_token as token from job where queue = $1 and state = 'active' order by seq`,
      [queue],
    );
    return rows.map((row, n) => ({ ...row, result: JSON.stringify(n % 2 ? null : { n, text: 'é"' }) }));
  }
  /** The jobs that were handed out; undefined if the statement did not apply. */
  async function complete(queue: string, endings: Ending[]): Promise<Row[] | undefined> {
    const common = { queue, lockMs: LOCK_MS, workerName: 'worker' };
    const { rows } = await pool.query(completeBatch(common, endings, NOW + 5));
    return rows[0].holds ? rows.filter(({ id }) => id !== null) : undefined;
  }
  async function oneByOne(queue: string, endings: Ending[]): Promise<Row[]> {
    const rows: Row[] = [];
    for (const { id, token, result } of endings) {
      const values = [queue, id, token, result, NOW + 5, true, null, null, LOCK_MS, NOW + 5, 'worker', null, null];
      const text = 'select * from move_to_completed_fetch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)';
      rows.push(...(await pool.query(text, values)).rows);
    }
    return rows;
  }
  /** Everything that BullMQ stores for a queue, without values that always differ. */
  async function kept(queue: string): Promise<{ jobs: Row[]; events: Row[] }> {
    const jobs = await pool.query('select * from job where queue = $1 order by seq', [queue]);
    const events = await pool.query('select event, data from event where queue = $1 order by id', [queue]);
    return { jobs: comparable(jobs.rows), events: events.rows };
  }
  const comparable = (rows: Row[]) =>
    rows.map(({ ord: _ord, holds: _holds, queue: _queue, seq: _seq, added_at_ms: _added, ...row }) => row);

  it('leaves jobs and events as BullMQ does, and returns the same next jobs', async () => {
    for (const queue of ['ours', 'theirs']) {
      await queueOf(queue, 40);
      await take(queue, 12);
    }
    for (const round of ['first', 'second']) {
      const endings = await running('ours');
      assert.deepEqual(endings, await running('theirs'));
      const next = await complete('ours', endings);
      assert.equal(next?.length, 12, round);
      assert.deepEqual(comparable(next ?? []), comparable(await oneByOne('theirs', endings)));
      assert.deepEqual(await kept('ours'), await kept('theirs'));
    }
  });

  it('notifies listeners of events, and keeps the stream short', async () => {
    await queueOf('events', 2000, 100);
    await take('events', 50);
    const listener = await pool.connect();
    let told = 0;
    listener.on('notification', ({ payload }) => {
      if (payload === 'events') told++;
    });
    await listener.query('listen bullmq_events');
    for (let round = 0; round < 12; round++)
      assert.equal((await complete('events', await running('events')))?.length, 50);
    await listener.query('unlisten *');
    listener.release();
    assert.ok(told > 0);
    const { rows } = await pool.query(`select max(id) - min(id) as span from event where queue = 'events'`);
    assert.ok(rows[0].span < 100 + 256 + 100, `a span of ${rows[0].span}`);
  });

  it('adds only as many events as the stream keeps, the newest ones', async () => {
    for (const [queue, most] of [['all', 100] as const, ['few', 3] as const]) {
      await queueOf(queue, 40, most);
      await take(queue, 12);
      await pool.query('delete from event where queue = $1', [queue]);
      assert.equal((await complete(queue, await running(queue)))?.length, 12);
    }
    const { events } = await kept('all');
    assert.equal(events.length, 24);
    assert.deepEqual((await kept('few')).events, events.slice(-3));
  });

  it('hands out as many jobs as wait', async () => {
    for (const [waiting, name] of [[2, 'two'] as const, [0, 'none'] as const]) {
      await queueOf(name, 5 + waiting);
      await take(name, 5);
      const endings = await running(name);
      const next = await complete(name, endings);
      assert.deepEqual(
        next?.map(({ id, lock_token }) => [id, lock_token]),
        endings.slice(0, waiting).map(({ token }, n) => [`j${5 + n}`, token]),
      );
      assert.equal((await kept(name)).jobs.length, waiting);
    }
  });

  it('leaves a waiting job to a transaction that holds it', async () => {
    await queueOf('taken', 10);
    await take('taken', 3);
    const other = await hold(pool, `select from job where queue = 'taken' and id = 'j3' for update`);
    const next = await complete('taken', await running('taken'));
    assert.deepEqual(
      next?.map(({ id }) => id),
      ['j4', 'j5', 'j6'],
    );
    await other.commit();
  });

  it('finds its jobs by key when its plan was made for an empty table', async () => {
    const client = await pool.connect();
    try {
      await client.query('begin');
      await client.query('truncate job cascade');
      await client.query('analyze job');
      const ending = { id: 'a', token: 't', result: 'null' };
      const { text, values } = completeBatch({ queue: 'q', lockMs: 1, workerName: 'w' }, [ending], NOW);
      await client.query('set local enable_seqscan = off');
      const { rows } = await client.query({ text: `explain ${text}`, values });
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      assert.match(plan, /Index Cond: \(\(queue = 'q'::text\) AND \(id = e_1\.id\)\)/);
      assert.match(plan, /TID Cond: \(n\.place = ctid\)/);
    } finally {
      await client.query('rollback');
      client.release();
    }
  });

  const obstacles: Record<string, (queue: Queue, name: string) => Promise<unknown>> = {
    'a lost lock': (_, name) =>
      pool.query(`update job set lock_token = 'other' where queue = $1 and id = 'j1'`, [name]),
    'a deleted job': (_, name) => pool.query(`delete from job where queue = $1 and id = 'j1'`, [name]),
    'a job that is no longer active': (_, name) =>
      pool.query(`update job set state = 'waiting' where queue = $1 and id = 'j1'`, [name]),
    'a paused queue': (queue) => queue.pause(),
    'a global concurrency limit': (queue) => queue.setGlobalConcurrency(100),
    'a rate limit': (queue) => queue.setGlobalRateLimit(1000, 1000),
    'a delayed job': (queue) => queue.add('j', {}, { ...GONE, delay: 60_000 }),
    deduplication: (_, name) => pool.query(`update job set dedup_id = 'd' where queue = $1 and id = 'j1'`, [name]),
    'a parent': (_, name) =>
      pool.query(`update job set parent_queue = 'p', parent_id = 'x' where queue = $1 and id = 'j1'`, [name]),
    'a child': (_, name) =>
      pool.query(
        `insert into job_dependency (parent_queue, parent_id, child_queue, child_id, child_key, status)
         values ($1, 'j1', 'c', 'x', 'c:x', 'pending')`,
        [name],
      ),
  };
  for (const [what, put] of Object.entries(obstacles)) {
    it(`does nothing in the case of ${what}`, async () => {
      const name = `not-${what.replaceAll(' ', '-')}`;
      const queue = await queueOf(name, 20);
      await take(name, 5);
      const endings = await running(name);
      await put(queue, name);
      const before = await kept(name);
      assert.equal(await complete(name, endings), undefined);
      assert.deepEqual(await kept(name), before);
    });
  }

  it('does not wait for rows that others have locked', async () => {
    await queueOf('held', 20);
    await take('held', 5);
    const other = await hold(pool, `select from job where queue = 'held' and id = 'j2' for update`);
    await assert.rejects(async () => complete('held', await running('held')), { code: '55P03' });
    await other.commit();
    // PostgreSQL sends the error before it has released the locks of the statement that failed.
    const next = await waitFor(async () => complete('held', await running('held')), { what: 'released locks' });
    assert.equal(next.length, 5);
  });

  it('is written for the functions that BullMQ brings', async () => {
    assert.equal(await hasKnownFunctions(pool, 'fetch'), true);
  });
});
