/**
 * Operations on BullMQ's own backends and on Muster's must leave the same jobs and events, and give the same answers. Operations are made at once, so that Muster's are batched; which of them comes first is left open.
 *
 * Two differences are intended: jobs that are added in a batch have the time of the first, and no option `jobId`. A batch
 * on PostgreSQL writes no event `drained`; BullMQ writes none either when the last jobs end at once.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Job, type JobsOptions, Queue, Worker } from 'bullmq';
import {
  type Batched,
  openPostgresQueues,
  openRedisQueues,
  type QueueStore,
  type Side,
} from '../../support/stores/queue-backends.ts';
import { redisUrl } from '../../support/stores/redis.ts';
import { waitFor } from '../../support/wait.ts';

const LOCK_MS = 30_000;
/** Longer than the steps between a failure and the last look at the delayed job take on a busy machine. */
const RETRY_MS = 3000;
const MOST_EVENTS = 1000;
/** The token of each lock; a job that is handed out for another one has the token of that one. */
const TOKEN = /^token:\d+$/;
const warnings: string[] = [];

/** A queue on one of the sides, its workers, and what happened to it. */
interface Stage {
  queue: Queue;
  /** Options of jobs that a batch may add. */
  gone: JobsOptions;
  /** Adds jobs with these ids in one call. */
  add(jobs: string[], options?: JobsOptions): Promise<Job[]>;
  /** The active jobs as their worker has them. */
  activeJobs(worker: Worker): Promise<Job[]>;
  /** A worker that takes jobs only when it is told to. */
  worker(options?: object): Worker;
  /** Notes an answer; times are left out. */
  note(what: string, answer: unknown): void;
  /** Notes how many jobs there are in each state, each of them, which wait in which order, and all events, job by job. */
  noteAll(what: string, options?: { anyOrder: boolean }): Promise<void>;
}

const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `j${from + n}`);
/** Fetches at once, with a token each; only those that got a job, in the order of their ids. */
async function take(worker: Worker, count: number, from = 0): Promise<Job[]> {
  const fetches = Array.from({ length: count }, (_, n) => worker.getNextJob(`token:${from + n}`, { block: false }));
  const jobs = (await Promise.all(fetches)).filter((job) => job !== undefined);
  return jobs.sort((a, b) => numberOf(a) - numberOf(b));
}
const numberOf = ({ id = '' }: Job) => Number(id.slice(1));

type Next = [job: unknown, id: string, limitedMs: number, delayedUntil: number] | undefined;

/** Completes jobs at once; the ids of the next jobs and the errors, each sorted. */
async function complete(jobs: Job[], result: unknown = { text: 'é"' }) {
  const ended = await Promise.allSettled(jobs.map((job) => job.moveToCompleted(result, job.token as string, true)));
  return outcomes(ended as PromiseSettledResult<Next>[]);
}

function outcomes(ended: PromiseSettledResult<Next>[]) {
  const next = ended.map((one) => (one.status === 'fulfilled' ? (one.value?.[1] ?? '') : undefined));
  const errors = ended.map((one) => (one.status === 'rejected' ? (one.reason as { code: number }).code : undefined));
  return {
    next: next.filter((id) => id !== undefined).sort(),
    errors: errors.filter((code) => code !== undefined),
  };
}

const fail = (job: Job, message: string) => job.moveToFailed(new Error(message), job.token as string, true);

/** What is done with a queue; both sides must note the same. `batches`: what Muster must have sent in batches, where its backend does. */
interface Scenario {
  batches: Batched[];
  run(stage: Stage): Promise<void>;
}

const SCENARIOS: Record<string, Scenario> = {
  'adding one job': {
    batches: [],
    async run({ gone, queue, note, noteAll }) {
      note('id', (await queue.add('j', { n: 1 }, { ...gone, jobId: 'one' })).id);
      note('again', (await queue.add('j', { n: 2 }, { ...gone, jobId: 'one' })).id);
      await queue.add('j', {}, { ...gone, jobId: 'late', delay: 60_000 });
      await queue.add('j', {}, { ...gone, jobId: 'urgent', lifo: true });
      await queue.add('j', {}, { ...gone, jobId: 'ranked', priority: 3 });
      await noteAll('added');
    },
  },
  'adding many jobs': {
    batches: ['adds'],
    async run({ gone, add, note, noteAll }) {
      note(
        'ids',
        (await add(ids(0, 120))).map(({ id }) => id),
      );
      note(
        'overlapping',
        (await add(ids(118, 122))).map(({ id }) => id),
      );
      await add(ids(122, 125), { ...gone, lifo: true });
      await add(ids(125, 128), { ...gone, attempts: 3 });
      await add(ids(128, 130), { ...gone, delay: 60_000 });
      await add(['twice', 'twice']);
      await noteAll('added');
    },
  },
  'fetching jobs at once': {
    batches: ['adds', 'fetches'],
    async run({ add, worker, note, noteAll }) {
      await add(ids(0, 12));
      const own = worker();
      note('first', (await take(own, 8)).map(fieldsOf));
      await noteAll('8 of 12');
      note('the rest', (await take(own, 8, 8)).map(fieldsOf));
      note('none', await take(own, 3, 16));
      await noteAll('all');
    },
  },
  'completing jobs at once': {
    batches: ['adds', 'fetches', 'completions'],
    async run({ add, activeJobs, worker, note, noteAll }) {
      await add(ids(0, 14));
      const own = worker();
      const first = await take(own, 6);
      note('as many next', await complete(first));
      await noteAll('8 are left');
      const next = await activeJobs(own);
      note('fewer next', await complete(next, undefined));
      await noteAll('2 are left');
      note('no next', await complete(await activeJobs(own), null));
      await noteAll('none is left');
    },
  },
  'completing jobs that stay': {
    batches: ['adds', 'fetches'],
    async run({ add, worker, note, noteAll }) {
      await add(ids(0, 6), {});
      const own = worker({ removeOnComplete: false });
      note('next', await complete(await take(own, 3)));
      await noteAll('kept');
    },
  },
  'completing a job whose lock was lost': {
    batches: ['adds', 'fetches', 'completions'],
    async run({ add, worker, note, noteAll }) {
      await add(ids(0, 5));
      const jobs = await take(worker(), 5);
      for (const job of jobs.slice(0, 2)) job.token = 'of another worker';
      note('two refusals', await complete(jobs));
      await noteAll('two are left');
      note('missing', await complete(jobs.slice(2)));
    },
  },
  'failing jobs': {
    batches: ['adds', 'fetches'],
    async run({ add, activeJobs, worker, note, noteAll }) {
      await add(ids(0, 4));
      await add(ids(4, 6), {});
      const own = worker({ removeOnFail: undefined });
      const jobs = await take(own, 3);
      note('next', await outcomes(await Promise.allSettled(jobs.map((job) => fail(job, 'broken') as Promise<Next>))));
      const [last] = (await activeJobs(own)).slice(-1);
      await fail(last as Job, 'kept');
      await noteAll('failed');
    },
  },
  'retrying with a delay': {
    batches: ['fetches', 'completions'],
    async run({ gone, add, activeJobs, worker, note, noteAll }) {
      await add(ids(0, 5), { ...gone, attempts: 2, backoff: { type: 'fixed', delay: RETRY_MS } });
      const own = worker();
      const jobs = await take(own, 3);
      note('completed', await complete(jobs.slice(1)));
      await fail(jobs[0] as Job, 'not yet');
      await noteAll('delayed');
      note('while one is delayed', await complete(await activeJobs(own)));
      await sleep(RETRY_MS + 100);
      const retried = await take(own, 2, 10);
      note('retried', retried.map(fieldsOf));
      note('its end', await complete(retried));
      await noteAll('done');
    },
  },
  'handing back a job': {
    batches: ['adds', 'fetches'],
    async run({ add, worker, note, noteAll }) {
      await add(ids(0, 4));
      const own = worker();
      const [first] = await take(own, 2);
      await first?.moveToWait(first.token);
      await noteAll('handed back');
      note('again', (await take(own, 3, 5)).map(fieldsOf));
    },
  },
  'stalled jobs': {
    batches: ['adds', 'fetches', 'completions'],
    async run({ add, worker, note, noteAll }) {
      await add(ids(0, 5));
      const options = { lockDuration: 50, stalledInterval: 20, maxStalledCount: 1000 };
      const own = worker(options);
      await take(own, 3);
      const stalled = new Set<string>();
      const find = async () => {
        for (const id of await own.getBackend().moveStalledJobsToWait()) stalled.add(id);
        return stalled.size === 3;
      };
      await waitFor(find, { what: 'three stalled jobs' });
      note('found', [...stalled].sort());
      await noteAll('waiting again', { anyOrder: true });
      const again = await take(worker(), 5, 10);
      note('taken over', again.map(fieldsOf));
      note('their end', await complete(again));
    },
  },
  'extending locks': {
    batches: ['adds', 'fetches'],
    async run({ add, worker, note }) {
      await add(ids(0, 3));
      const own = worker();
      const jobs = await take(own, 3);
      const tokens = jobs.map(({ token }, n) => (n === 1 ? 'of another worker' : (token as string)));
      note(
        'not extended',
        await own.getBackend().extendLocks(
          jobs.map(({ id }) => id as string),
          tokens,
          LOCK_MS,
        ),
      );
    },
  },
  "a worker's rate limit": {
    batches: ['adds'],
    async run({ queue, add, worker, note, noteAll }) {
      await add(ids(0, 6));
      const own = worker({ limiter: { max: 2, duration: 60_000 } });
      const jobs = await take(own, 4);
      note('fetched', jobs.length);
      note('ended', await complete(jobs));
      note('counts', await queue.getJobCounts());
      await noteAll('limited');
    },
  },
  "a queue's rate limit": {
    batches: ['adds', 'fetches', 'completions'],
    async run({ queue, add, worker, note }) {
      await add(ids(0, 6));
      await queue.setGlobalRateLimit(3, 60_000);
      const own = worker();
      const jobs = await take(own, 5);
      note('fetched', jobs.length);
      note('ended', await complete(jobs));
      note('counts', await queue.getJobCounts());
    },
  },
  'a paused queue': {
    batches: ['adds', 'fetches', 'completions'],
    async run({ queue, add, worker, note, noteAll }) {
      await add(ids(0, 6));
      const own = worker();
      const jobs = await take(own, 3);
      await queue.pause();
      note('ended', await complete(jobs));
      note('fetched', await take(own, 2, 3));
      await add(ids(6, 8));
      await noteAll('paused');
      await queue.resume();
      note('after it', (await take(own, 2, 5)).length);
    },
  },
  'claims of several workers at once': {
    batches: ['adds', 'fetches', 'completions'],
    async run({ add, worker, note, noteAll }) {
      await add(ids(0, 40));
      const workers = [worker(), worker(), worker()];
      const taken = (await Promise.all(workers.map((one, n) => take(one, 20, n * 100)))).flat();
      note('each job once', taken.map(({ id }) => id).sort());
      const ended = await Promise.all(workers.map((_, n) => complete(taken.filter((_job, i) => i % 3 === n))));
      note(
        'ended',
        ended.flatMap(({ next, errors }) => [...next, ...errors]),
      );
      await noteAll('done');
    },
  },
};

/** What a processor sees of a job. */
function fieldsOf(job: Job) {
  const { timestamp, processedOn, opts, stacktrace, ...fields } = job.asJSON();
  const { jobId, ...options } = JSON.parse(JSON.stringify(opts)) as Record<string, unknown>;
  const errors = (JSON.parse(stacktrace ?? '[]') as string[]).map((trace) => trace.split('\n')[0]);
  const hasToken = TOKEN.test(job.token ?? '');
  return { ...fields, options, errors, hasToken, times: [!!timestamp, !!processedOn] };
}

/** The events of a queue, job by job, without those named `left`. */
async function eventsOf(queue: Queue, left: string): Promise<Record<string, unknown[]>> {
  const events: Record<string, unknown[]> = {};
  for (let from = '0'; ; ) {
    const page = await queue.getBackend().readEvents(from, 1);
    const [[, entries] = []] = (page ?? []) as [string, [id: string, pairs: string[]][]][];
    if (!entries?.length) return events;
    for (const [id, pairs] of entries) {
      from = id;
      const fields: Record<string, string> = {};
      for (let i = 0; i < pairs.length; i += 2) fields[pairs[i] as string] = pairs[i + 1] as string;
      const { jobId = '', delay: _due, ...rest } = fields;
      if (rest.event !== left) events[jobId] = [...(events[jobId] ?? []), rest];
    }
  }
}

function suite(what: string, open: (warn: (reason: string) => void) => Promise<QueueStore>, never: Batched[]): void {
  describe(`BullMQ's backend and Muster's on ${what}`, () => {
    let store: QueueStore;
    before(async () => {
      store = await open((reason) => warnings.push(reason));
    });
    after(() => store.close());

    for (const [name, { batches, run }] of Object.entries(SCENARIOS)) {
      it(`do the same: ${name}`, async () => {
        warnings.length = 0;
        store.batched();
        const theirs = await play(store, 'BullMQ', name, run);
        assert.deepEqual(store.batched(), new Set());
        const ours = await play(store, 'Muster', name, run);
        assert.deepEqual(ours, theirs);
        assert.deepEqual(store.batched(), new Set(batches.filter((kind) => !never.includes(kind))));
        assert.deepEqual(warnings, []);
      });
    }
  });
}

/** Everything that the scenario noted on this side, without times. */
async function play(store: QueueStore, side: Side, name: string, run: Scenario['run']): Promise<unknown> {
  const queueName = `${name.replaceAll(/\W/g, '-')}-${side}`;
  const factory = store.factories[side] as never;
  const workers: Worker[] = [];
  const queue = await openQueue(store, queueName, factory);
  const notes: unknown[] = [];
  await run({
    queue,
    gone: store.gone,
    add: (jobs, options = store.gone) =>
      queue.addBulk(jobs.map((id) => ({ name: 'j', data: { id, text: 'é"\\' }, opts: { ...options, jobId: id } }))),
    activeJobs: async (worker) => withTokens(await queue.getJobs(['active']), await store.tokensOf(queue), worker),
    worker(options = {}) {
      const settings = { connection: store.connect(), prefix: store.prefix, name: 'worker', autorun: false };
      const removal = { removeOnComplete: { count: 0 }, removeOnFail: { count: 0 } };
      const all = { ...settings, ...removal, lockDuration: LOCK_MS, ...options };
      const worker = new Worker(queueName, undefined, all as never, factory) as unknown as Worker;
      worker.on('error', () => {}); // its connection ends with the test
      workers.push(worker);
      return worker;
    },
    note: (topic, answer) => void notes.push([topic, answer]),
    async noteAll(topic, { anyOrder } = { anyOrder: false }) {
      const jobs = (await queue.getJobs()).map(fieldsOf).sort((a, b) => (a.id < b.id ? -1 : 1));
      const waiting = (await queue.getWaiting()).map(({ id }) => id);
      if (anyOrder) waiting.sort();
      const tokens = [...(await store.tokensOf(queue)).values()];
      notes.push([topic, new Set(tokens).size, tokens.filter((token) => !TOKEN.test(token))]);
      notes.push([topic, await queue.getJobCounts(), jobs, waiting, await eventsOf(queue, store.unreliableEvent)]);
    },
  });
  await Promise.all(workers.map((worker) => worker.close(true)));
  await queue.close();
  return JSON.parse(JSON.stringify(notes).replaceAll(/\b\d{13}\b/g, '0'));
}

async function openQueue({ connect, prefix }: QueueStore, name: string, factory: never): Promise<Queue> {
  const streams = { events: { maxLen: MOST_EVENTS } };
  const queue = new Queue(name, { connection: connect(), prefix, streams } as never, factory) as unknown as Queue;
  await queue.waitUntilReady();
  // The queue writes its options without waiting for it.
  const isStored = async () => (await queue.getBackend().getQueueMetaField('opts.maxLenEvents')) === `${MOST_EVENTS}`;
  await waitFor(isStored, { what: 'the options of the queue' });
  return queue;
}

/** The jobs with the tokens of their locks; they end through the backend of their worker. */
function withTokens(jobs: Job[], tokens: Map<string, string>, worker: Worker): Job[] {
  for (const job of jobs) {
    Object.assign(job, { token: tokens.get(job.id as string), queue: worker, backend: worker.getBackend() });
  }
  return jobs.sort((a, b) => numberOf(a) - numberOf(b));
}

suite('PostgreSQL', openPostgresQueues, []);
if (redisUrl()) suite('Redis', openRedisQueues, ['fetches']);
