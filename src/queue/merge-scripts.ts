/**
 * A Redis connection for BullMQ that sends many calls of one script as one.
 *
 * BullMQ adds and ends each job by a script of its own, and most of what that costs is sending, reading and starting it. Ends
 * of jobs that come at the same moment, and jobs that are added together, go as one call whose script holds BullMQ's text,
 * unchanged, as a function and calls it for each with its own keys and arguments. Nothing else is touched.
 *
 * Guarantee: a lone end goes at once, as BullMQ sends it. One that BullMQ refuses fails alone: the answer to each is what its
 * own call would have brought. If we die here each call was carried out or not, as without us.
 */
import process from 'node:process';
import type { ChainableCommander, Redis } from 'ioredis';

/** Redis does nothing else meanwhile: two or three milliseconds. */
const MOST_AT_ONCE = 50;
const END = /^moveToFinished:/;
const ADD = /^addStandardJob:/;
/** Which key differs between ends of one queue's jobs, counted from 0: that of the job. */
const JOB_KEY = 11;

type Arg = string | number | Buffer | undefined;
type Run = (args: Arg[]) => Promise<unknown>;
type Result = [error: Error | null, result?: unknown];
interface Script {
  lua: string;
  numberOfKeys: number;
}

/** Makes `redis` merge; whoever opened it closes it. Call it before BullMQ sees the connection. */
export function mergeScripts(redis: Redis): Redis {
  const define = redis.defineCommand.bind(redis);
  const commands = redis as unknown as Record<string, Run>;
  redis.defineCommand = (name, script) => {
    define(name, script);
    const { lua, numberOfKeys } = script as Script;
    if (!END.test(name) && !ADD.test(name)) return;
    const merged = `${name}:merged`;
    define(merged, { lua: mergedScript(lua, numberOfKeys) });
    const run: Run = (args) => (commands[merged] as Run).call(redis, args);
    if (END.test(name)) mergeEnds(redis, name, numberOfKeys, run);
    else mergeAdds(redis, name, numberOfKeys, run);
  };
  return redis;
}

/** Public so that a bench knows its runs again. ARGV: how many arguments a call has, which key differs or 0, the arguments of each. KEYS: those of one, then those that differ. */
export function mergedScript(lua: string, numberOfKeys: number): string {
  return `local function one(KEYS, ARGV)
${lua}
end
local length, differing = tonumber(ARGV[1]), tonumber(ARGV[2])
local keys, results = {}, {}
for k = 1, ${numberOfKeys} do keys[k] = KEYS[k] end
for i = 1, (#ARGV - 2) / length do
  local args = {}
  for a = 1, length do args[a] = ARGV[2 + (i - 1) * length + a] end
  if differing > 0 then keys[differing] = KEYS[${numberOfKeys} + i] end
  local ok, result = pcall(one, keys, args)
  if ok then results[i] = result or false
  else results[i] = {err = type(result) == 'table' and result.err or tostring(result)} end
end
return results`;
}

/** Ends of the same moment go together where they differ in nothing but the job. */
function mergeEnds(redis: Redis, name: string, numberOfKeys: number, run: Run): void {
  const commands = redis as unknown as Record<string, Run>;
  const plain = commands[name] as Run;
  let waiting: { args: Arg[]; resolve(result: unknown): void; reject(error: unknown): void }[] = [];

  function send(): void {
    const ends = waiting;
    waiting = [];
    for (let from = 0; from < ends.length; from += MOST_AT_ONCE) void together(ends.slice(from, from + MOST_AT_ONCE));
  }

  async function together(ends: typeof waiting): Promise<void> {
    const [first] = ends as [(typeof ends)[number]];
    if (ends.length === 1 || !ends.every(({ args }) => isAlike(args, first.args, numberOfKeys))) {
      for (const { args, resolve, reject } of ends) plain.call(redis, args).then(resolve, reject);
      return;
    }
    const keys = [...first.args.slice(0, numberOfKeys), ...ends.map(({ args }) => args[JOB_KEY])];
    const length = first.args.length - numberOfKeys;
    const all = ends.flatMap(({ args }) => args.slice(numberOfKeys));
    try {
      const results = (await run([keys.length, ...keys, length, JOB_KEY + 1, ...all])) as unknown[];
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

function isAlike(a: Arg[], b: Arg[], numberOfKeys: number): boolean {
  if (a.length !== b.length) return false;
  for (let k = 0; k < numberOfKeys; k++) if (k !== JOB_KEY && a[k] !== b[k]) return false;
  return true;
}

/** A pipeline of additions and nothing else goes as calls of many each. */
function mergeAdds(redis: Redis, name: string, numberOfKeys: number, run: Run): void {
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
      const [first] = adds;
      if (first && adds.length > 1 && own.length === 0 && adds.every((args) => isAlike(args, first, numberOfKeys))) {
        return addTogether(run, adds, numberOfKeys);
      }
      for (const args of adds) plain(args);
      return exec() as Promise<Result[] | null>;
    };
    return pipeline;
  };
}

async function addTogether(run: Run, adds: Arg[][], numberOfKeys: number): Promise<Result[]> {
  const calls = [];
  for (let from = 0; from < adds.length; from += MOST_AT_ONCE) {
    const some = adds.slice(from, from + MOST_AT_ONCE);
    const [first] = some as [Arg[]];
    const all = some.flatMap((args) => args.slice(numberOfKeys));
    calls.push(run([numberOfKeys, ...first.slice(0, numberOfKeys), first.length - numberOfKeys, 0, ...all]));
  }
  const results = (await Promise.all(calls)).flat();
  return results.map((result): Result => (result instanceof Error ? [result] : [null, result]));
}
