/**
 * A Redis connection for BullMQ that sends many calls of one script as one call.
 *
 * BullMQ adds and completes each job by a separate script call. Most of the cost is in sending, parsing and starting
 * the call, and in reading data that is the same for all jobs. Completions that happen at the same moment, and jobs
 * that are added together, are sent as one call (redis-calls.ts). All other commands pass through.
 *
 * Patches ioredis 6.0: `defineCommand`, by which BullMQ loads its scripts, and `pipeline`, by which it adds many jobs.
 * BullMQ has no interface for batched completions. The tests of this folder fail when either library stops using these
 * methods.
 * Guarantee: a single completion is sent at once, as BullMQ sends it. If BullMQ rejects one job, it fails alone: each
 * call gets the answer that a separate call would have got. A script that Muster does not know is never batched
 * (bullmq-scripts.ts).
 * On crash: each call was carried out or not, as without batching.
 */
import process from 'node:process';
import type { ChainableCommander, Cluster, Redis } from 'ioredis';
import { isKnownScript } from './bullmq-scripts.ts';
import { ADD, type Arg, areAlike, batchedScript, FINISH, joined, kindOf } from './redis-calls.ts';

/** Redis does nothing else during such a call, which takes two or three milliseconds. */
const MOST_AT_ONCE = 100;

type Run = (args: Arg[]) => Promise<unknown>;
/** Sends many calls as one; resolves to the result of each. */
type RunAll = (calls: Arg[][]) => Promise<unknown[]>;
type Result = [error: Error | null, result?: unknown];

/**
 * Makes `redis` batch calls; the caller closes it. Call it before BullMQ uses the connection.
 * @param warn is called with the reason when a script's calls are not batched
 */
export function batchCalls<Client extends Redis | Cluster>(redis: Client, warn: (reason: string) => void): Client {
  const define = redis.defineCommand.bind(redis);
  const commands = redis as unknown as Record<string, Run>;
  redis.defineCommand = (name, script) => {
    define(name, script);
    const kind = kindOf(name);
    if (!kind) return;
    const { lua } = script as { lua: string };
    if (!isKnownScript(name, lua)) {
      warn(
        `BullMQ's script ${name} is not the version that Muster batches. Its calls are sent one by one, which is slower.`,
      );
      return;
    }
    const batched = `${name}:batched`;
    define(batched, { lua: batchedScript(lua, kind), numberOfKeys: kind.keys });
    const run = async (calls: Arg[][]) => {
      const results = (await (commands[batched] as Run).call(redis, joined(kind, calls))) as unknown[];
      const failure = results[calls.length];
      if (failure !== undefined) warn(`Calls of BullMQ's script ${name} were not batched: ${String(failure)}`);
      return results.slice(0, calls.length);
    };
    if (kind === FINISH) batchCompletions(redis, name, run);
    else batchAdditions(redis, name, run);
  };
  return redis;
}

/** Completions of the same moment share a call if they differ only in the job. */
function batchCompletions(redis: Redis | Cluster, name: string, run: RunAll): void {
  const commands = redis as unknown as Record<string, Run>;
  const plain = commands[name] as Run;
  let waiting: { args: Arg[]; resolve(result: unknown): void; reject(error: unknown): void }[] = [];

  function send(): void {
    const ends = waiting;
    waiting = [];
    for (let from = 0; from < ends.length; from += MOST_AT_ONCE)
      void finishBatch(ends.slice(from, from + MOST_AT_ONCE));
  }

  async function finishBatch(ends: typeof waiting): Promise<void> {
    const calls = ends.map(({ args }) => args);
    if (ends.length === 1 || !areAlike(FINISH, calls)) {
      for (const { args, resolve, reject } of ends) plain.call(redis, args).then(resolve, reject);
      return;
    }
    try {
      const results = await run(calls);
      for (const [i, { resolve, reject }] of ends.entries()) {
        if (results[i] instanceof Error) reject(results[i]);
        else resolve(results[i]);
      }
    } catch (error) {
      for (const { reject } of ends) reject(error);
    }
  }

  // Inside a transaction that BullMQ opened, `this` is the transaction.
  commands[name] = function (this: unknown, args: Arg[]): Promise<unknown> {
    if (this !== redis) return plain.call(this as Redis, args);
    return new Promise((resolve, reject) => {
      // Sent after all callbacks that are due: the jobs of one batch end at the same moment.
      if (waiting.length === 0) process.nextTick(send);
      waiting.push({ args, resolve, reject });
    });
  };
}

/** A pipeline that contains only additions is sent as calls of many jobs each. */
function batchAdditions(redis: Redis | Cluster, name: string, run: RunAll): void {
  const open = redis.pipeline.bind(redis) as (...args: unknown[]) => ChainableCommander;
  redis.pipeline = (...options: unknown[]) => {
    const pipeline = open(...options);
    const own = pipeline as unknown as Record<string, unknown> & { length: number };
    const plain = (own[name] as (args: Arg[]) => unknown).bind(pipeline);
    const exec = pipeline.exec.bind(pipeline);
    const adds: Arg[][] = [];
    own[name] = (args: Arg[]) => {
      adds.push(args);
      return pipeline;
    };
    own.exec = async (): Promise<Result[] | null> => {
      if (adds.length > 1 && own.length === 0 && areAlike(ADD, adds)) return addBatch(run, adds);
      for (const args of adds) plain(args);
      return exec() as Promise<Result[] | null>;
    };
    return pipeline;
  };
}

async function addBatch(run: RunAll, adds: Arg[][]): Promise<Result[]> {
  const calls = [];
  for (let from = 0; from < adds.length; from += MOST_AT_ONCE) {
    calls.push(run(adds.slice(from, from + MOST_AT_ONCE)));
  }
  const results = (await Promise.all(calls)).flat();
  return results.map((result): Result => (result instanceof Error ? [result] : [null, result]));
}
