/**
 * A Redis connection for BullMQ that sends many calls of one script as one.
 *
 * BullMQ adds and ends each job by a script of its own, and most of what that costs is sending, reading, starting it and asking
 * what is the same for all. Ends of jobs that come at the same moment, and jobs that are added together, go as one call
 * (redis-calls.ts). Nothing else is touched.
 *
 * Guarantee: a lone end goes at once, as BullMQ sends it. One that BullMQ refuses fails alone: the answer to each is what its
 * own call would have brought. If we die here each call was carried out or not, as without us.
 */
import process from 'node:process';
import type { ChainableCommander, Redis } from 'ioredis';
import { ADD, type Arg, areAlike, FINISH, joined, kindOf, mergedScript } from './redis-calls.ts';

/** Redis does nothing else meanwhile: two or three milliseconds. */
const MOST_AT_ONCE = 100;

type Run = (args: Arg[]) => Promise<unknown>;
type Result = [error: Error | null, result?: unknown];

/** Makes `redis` merge; whoever opened it closes it. Call it before BullMQ sees the connection. */
export function mergeScripts(redis: Redis): Redis {
  const define = redis.defineCommand.bind(redis);
  const commands = redis as unknown as Record<string, Run>;
  redis.defineCommand = (name, script) => {
    define(name, script);
    const kind = kindOf(name);
    if (!kind) return;
    const merged = `${name}:merged`;
    define(merged, { lua: mergedScript((script as { lua: string }).lua, kind), numberOfKeys: kind.keys });
    const run: Run = (args) => (commands[merged] as Run).call(redis, args);
    if (kind === FINISH) mergeEnds(redis, name, run);
    else mergeAdds(redis, name, run);
  };
  return redis;
}

/** Ends of the same moment go together where they differ in nothing but the job. */
function mergeEnds(redis: Redis, name: string, run: Run): void {
  const commands = redis as unknown as Record<string, Run>;
  const plain = commands[name] as Run;
  let waiting: { args: Arg[]; resolve(result: unknown): void; reject(error: unknown): void }[] = [];

  function send(): void {
    const ends = waiting;
    waiting = [];
    for (let from = 0; from < ends.length; from += MOST_AT_ONCE) void together(ends.slice(from, from + MOST_AT_ONCE));
  }

  async function together(ends: typeof waiting): Promise<void> {
    const calls = ends.map(({ args }) => args);
    if (ends.length === 1 || !areAlike(FINISH, calls)) {
      for (const { args, resolve, reject } of ends) plain.call(redis, args).then(resolve, reject);
      return;
    }
    try {
      const results = (await run(joined(FINISH, calls))) as unknown[];
      for (const [i, { resolve, reject }] of ends.entries()) {
        if (results[i] instanceof Error) reject(results[i]);
        else resolve(results[i]);
      }
    } catch (error) {
      for (const { reject } of ends) reject(error);
    }
  }

  // In a transaction of BullMQ's, `this` is the transaction.
  commands[name] = function (this: unknown, args: Arg[]): Promise<unknown> {
    if (this !== redis) return plain.call(this as Redis, args);
    return new Promise((resolve, reject) => {
      // After all that is about to happen without the network: jobs of one batch end at the same moment.
      if (waiting.length === 0) process.nextTick(send);
      waiting.push({ args, resolve, reject });
    });
  };
}

/** A pipeline of additions and nothing else goes as calls of many each. */
function mergeAdds(redis: Redis, name: string, run: Run): void {
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
      if (adds.length > 1 && own.length === 0 && areAlike(ADD, adds)) return addTogether(run, adds);
      for (const args of adds) plain(args);
      return exec() as Promise<Result[] | null>;
    };
    return pipeline;
  };
}

async function addTogether(run: Run, adds: Arg[][]): Promise<Result[]> {
  const calls = [];
  for (let from = 0; from < adds.length; from += MOST_AT_ONCE) {
    calls.push(run(joined(ADD, adds.slice(from, from + MOST_AT_ONCE))));
  }
  const results = (await Promise.all(calls)).flat();
  return results.map((result): Result => (result instanceof Error ? [result] : [null, result]));
}
