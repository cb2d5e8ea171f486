/** Jobs that are added in a batch are as BullMQ would have added them. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type BackendFactory, createPostgresBackend, type IQueueBackend, type JobsOptions, Queue } from 'bullmq';
import pg from 'pg';
import { hasKnownFunctions } from '../../../src/imports/queue/batching.ts';
import { withBatchedAdds } from '../../../src/imports/queue/postgres-add.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

const GONE: JobsOptions = { removeOnComplete: true, removeOnFail: true };
const PLAIN = createPostgresBackend as BackendFactory<IQueueBackend, unknown>;

type Row = Record<string, unknown>;
type NewJob = { name: string; data: unknown; opts: JobsOptions };

describe('adding jobs of PostgreSQL in batches', () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  const open: Queue[] = [];
  const warnings: string[] = [];
  const factories = { ours: withBatchedAdds(PLAIN, (reason) => warnings.push(reason)), theirs: PLAIN };
  before(async () => {
    database = await testDatabase({ name: 'adding' });
    pool = new pg.Pool({ connectionString: database.url, max: 4, options: '-c search_path=bullmq' });
  });
  after(async () => {
    await Promise.all(open.map((one) => one.close()));
    await pool.end();
    await database.drop();
  });

  async function queueOf(name: string, factory: keyof typeof factories, maxLen = 10_000): Promise<Queue> {
    const options = { connection: pool, streams: { events: { maxLen } } };
    const queue = new Queue(name, options as never, factories[factory] as never) as unknown as Queue;
    open.push(queue);
    await queue.waitUntilReady();
    // The queue writes its options without waiting for it.
    const stored = `select from meta where queue = $1 and field = 'opts.maxLenEvents' and value = $2`;
    await waitFor(async () => (await pool.query(stored, [name, `${maxLen}`])).rowCount === 1, { what: 'its options' });
    return queue;
  }
  /** Everything that BullMQ stores for the jobs of a queue, without values that always differ, in the order of their turn. */
  async function kept(queue: string): Promise<{ jobs: Row[]; events: Row[] }> {
    const jobs = await pool.query('select * from job where queue = $1 order by priority, seq', [queue]);
    const events = await pool.query(`select event, data - 'delay' as data from event where queue = $1 order by id`, [
      queue,
    ]);
    const comparable = ({ queue: _queue, seq, added_at_ms: _added, process_at_ms: _due, opts, ...row }: Row) => {
      const { jobId: _own, ...options } = opts as Row;
      return { ...row, options, isUrgent: Number(seq) < 0 };
    };
    return { jobs: jobs.rows.map(comparable), events: events.rows };
  }
  const jobs = (from: number, to: number, opts: JobsOptions = GONE): NewJob[] =>
    Array.from({ length: to - from }, (_, n) => ({
      name: 'j',
      data: { n: from + n, text: 'é"\\' },
      opts: { ...opts, jobId: `j${from + n}` },
    }));

  it('leaves the same jobs and events as BullMQ, in the same order', async () => {
    const additions = [
      jobs(0, 1500),
      jobs(1499, 1502),
      jobs(1502, 1504, { ...GONE, lifo: true }),
      jobs(1504, 1505),
      [
        ...jobs(1505, 1507, { ...GONE, attempts: 3 }),
        ...jobs(1507, 1509),
        { name: 'other', data: {}, opts: { jobId: 'o' } },
      ],
      jobs(1509, 1511, { ...GONE, delay: 60_000 }),
      [...jobs(1511, 1512), ...jobs(1511, 1512)],
      [{ name: 'j', data: { own: false }, opts: GONE }],
    ];
    for (const factory of ['ours', 'theirs'] as const) {
      const queue = await queueOf(factory, factory);
      for (const added of additions) {
        const ids = (await queue.addBulk(added)).map(({ id }) => id);
        assert.deepEqual(ids.slice(0, 2), added.map(({ opts }) => opts.jobId ?? '1').slice(0, 2));
        assert.equal(ids.length, added.length);
      }
    }
    const [ours, theirs] = await Promise.all([kept('ours'), kept('theirs')]);
    for (const what of ['jobs', 'events'] as const) {
      assert.equal(ours[what].length, theirs[what].length, what);
      for (const [i, one] of theirs[what].entries()) assert.deepEqual(ours[what][i], one);
    }
    assert.deepEqual(warnings, []);
  });

  it('keeps only the newest events', async () => {
    await (await queueOf('few', 'ours', 3)).addBulk(jobs(0, 40));
    const { events } = await kept('few');
    assert.deepEqual(events, [
      { event: 'waiting', data: { jobId: 'j38' } },
      { event: 'added', data: { jobId: 'j39', name: 'j' } },
      { event: 'waiting', data: { jobId: 'j39' } },
    ]);
  });

  it('tells workers of new jobs, but not of those that are there', async () => {
    const queue = await queueOf('told', 'ours');
    const listener = await pool.connect();
    const told: string[] = [];
    listener.on('notification', ({ payload }) => told.push(String(payload)));
    await listener.query('listen bullmq_jobs');
    await queue.addBulk(jobs(0, 10));
    await queue.addBulk(jobs(0, 10));
    await pool.query(`select pg_notify('bullmq_jobs', 'end')`);
    await waitFor(async () => told.includes('end'), { what: 'the last notification' });
    await listener.query('unlisten *');
    listener.release();
    assert.deepEqual(
      told.filter((name) => name === 'told'),
      ['told'],
    );
  });

  it('leaves functions that it does not know to BullMQ', async () => {
    const other = await testDatabase({ name: 'adding-other' });
    const otherPool = new pg.Pool({ connectionString: other.url, max: 4, options: '-c search_path=bullmq' });
    const told: string[] = [];
    const first = new Queue('q', { connection: otherPool } as never, PLAIN as never);
    await first.waitUntilReady();
    const { rows } = await otherPool.query(`select pg_get_functiondef('bullmq.add_jobs_bulk'::regproc) as text`);
    await otherPool.query(rows[0].text.replace('$function$', '$function$ -- changed'));
    const queue = new Queue(
      'q',
      { connection: otherPool } as never,
      withBatchedAdds(PLAIN, (r) => told.push(r)) as never,
    );
    await queue.addBulk(jobs(0, 2));
    const { rows: added } = await otherPool.query('select opts from job order by seq');
    assert.deepEqual(added[0].opts.jobId, 'j0');
    assert.match(told.join(), /not the version that Muster batches/);
    await Promise.all([first.close(), queue.close()]);
    await otherPool.end();
    await other.drop();
  });

  it('is written for the function that BullMQ brings', async () => {
    assert.equal(await hasKnownFunctions(pool, 'add'), true);
  });
});
