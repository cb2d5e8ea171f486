/**
 * Completes jobs that end at the same moment by one call of redis-finish.lua, which also hands out the next jobs.
 *
 * Guarantee: each job gets the answer that BullMQ's own call would have got, in BullMQ's form.
 */
import { type IQueueBackend, raw2NextJobData } from 'bullmq';
import { type Arg, type BatchDeps, isRefusal, MOST_AT_ONCE, type RunScript } from './redis-scripts.ts';

/** The options of a worker that decide whether its jobs are simple. */
export interface CompletionOptions {
  name?: string;
  lockDuration?: number;
  removeOnComplete?: unknown;
  limiter?: unknown;
  metrics?: unknown;
}

type Complete = IQueueBackend['moveToCompleted'];
type Completed = Awaited<ReturnType<Complete>>;

interface Ending {
  args: Parameters<Complete>;
  /** JSON. */
  result: string;
  resolve(completed: Completed): void;
  reject(error: unknown): void;
}

const KEYS = ['wait', 'active', 'prioritized', 'events', 'stalled', 'delayed', 'meta', 'pc', 'marker'] as const;

/** Replaces `moveToCompleted` of the backend. */
export function batchCompletions(backend: IQueueBackend, options: CompletionOptions, deps: BatchDeps): void {
  const plain = backend.moveToCompleted.bind(backend) as Complete;
  const finish = openFinish(options, deps, plain);
  let waiting: Ending[] = [];

  function send(): void {
    const ends = waiting;
    waiting = [];
    for (const alike of byResult(ends)) {
      for (let from = 0; from < alike.length; from += MOST_AT_ONCE) void finish(alike.slice(from, from + MOST_AT_ONCE));
    }
  }

  const areSimple =
    !!options.lockDuration && !options.limiter && !options.metrics && keepsNone(options.removeOnComplete);
  // Indexes instead of patterns and iterators, whose objects would be a twentieth of all that a job allocates.
  const complete: Complete = (...args) => {
    const value = args[1];
    const ownRemoval = args[2];
    const token = args[3];
    const fetchNext = args[4];
    const isSimple = areSimple && fetchNext && ownRemoval === undefined && token !== '0' && !backend.closing;
    if (!isSimple || !deps.findScript('moveToFinished')) return plain(...args);
    return new Promise((resolve, reject) => {
      // Sent after all callbacks that are due: the jobs of one batch end at the same moment.
      if (waiting.length === 0) process.nextTick(send);
      waiting.push({ args, result: JSON.stringify(value) ?? 'null', resolve, reject });
    });
  };
  backend.moveToCompleted = complete;
}

/** Returns a function that settles jobs with the same result: by one call of the script, else by BullMQ's call for each. */
function openFinish(options: CompletionOptions, { findScript, keys, warn }: BatchDeps, plain: Complete) {
  const queueKeys = KEYS.map((key) => keys[key] as string);
  const common: Arg[] = [keys[''] as string, options.lockDuration as number, options.name ?? ''];

  /** Returns false if nothing was done for any of the jobs. */
  async function finishTogether(run: RunScript, ends: Ending[]): Promise<boolean> {
    const now = Date.now();
    const args: Arg[] = [now, ...common, (ends[0] as Ending).result];
    for (const { args: own } of ends) args.push(own[0].id as string, own[3]);
    try {
      const reply = (await run(queueKeys, args)) as Reply | null;
      if (!reply) return false;
      const next = nextJobs(reply);
      for (let i = 0; i < ends.length; i++) (ends[i] as Ending).resolve({ result: next[i] ?? [], finishedOn: now });
    } catch (error) {
      if (isRefusal(error)) {
        warn(`Completions were not batched: ${error.message}`);
        return false;
      }
      for (const { reject } of ends) reject(error);
    }
    return true;
  }

  return async (ends: Ending[]): Promise<void> => {
    if (ends.length > 1 && (await finishTogether(findScript('moveToFinished') as RunScript, ends))) return;
    for (const { args, resolve, reject } of ends) plain(...args).then(resolve, reject);
  };
}

/** The script takes one result for all its jobs. */
function byResult(ends: Ending[]): Iterable<Ending[]> {
  const groups = new Map<string, Ending[]>();
  for (const end of ends) {
    const group = groups.get(end.result);
    if (group) group.push(end);
    else groups.set(end.result, [end]);
  }
  return groups.values();
}

function keepsNone(removeOnComplete: unknown): boolean {
  return (removeOnComplete as { count?: number } | undefined)?.count === 0;
}

/** The fields of the first next job; then, for each, its id, and its data or all its fields. */
type Reply = [fields: string[], ...pairs: (string | string[])[]] | [];

/** The next jobs as BullMQ's backend returns each. */
function nextJobs(reply: Reply): unknown[][] {
  const jobs: unknown[][] = [];
  if (reply.length === 0) return jobs;
  const [template] = raw2NextJobData([reply[0], '', 0, 0]) as [object];
  for (let i = 1; i < reply.length; i += 2) {
    const id = reply[i];
    const own = reply[i + 1];
    jobs.push(
      typeof own === 'string' ? [{ ...template, data: own }, id, 0, 0] : raw2NextJobData([own, id, 0, 0] as unknown[]),
    );
  }
  return jobs;
}
