/**
 * Where Redis spends its time: BullMQ's scripts by name, and the rest: network reads and writes, and the append-only
 * file.
 *
 * Redis reports the elapsed time of each command. On shared processors some commands are interrupted; the median of a
 * script's runs is not affected by those. The runs come from the slow log, which is polled.
 */
import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import { Redis } from 'ioredis';
import { SCRIPTS as BATCHED } from '../../src/imports/queue/redis-scripts.ts';
import { percentile, rounded } from '../bench.ts';
import type { Scope } from '../scope.ts';

const SAMPLE_MS = 100;
/** Size of the log, and thus of a sample. */
const ENTRIES = 1000;
/** Every run of a script takes longer than this, and hardly any command inside it does. */
const LOG_FROM_US = 10;

export interface ScriptRun {
  script: string;
  /** Of many calls at once. */
  isBatched: boolean;
  microseconds: number;
}

export interface RedisWatch {
  /** Ends the watch; returns the observed runs of scripts, and the total time of each Redis command. */
  end(): Promise<{ runs: ScriptRun[]; commands: Commands }>;
}

/** Watches the server from now on, at most as long as the scope lasts. */
export async function watchRedis(scope: Scope, url: string): Promise<RedisWatch> {
  const redis = await scope.start(
    async () => new Redis(url),
    async (opened) => opened.disconnect(),
  );
  await redis.config('SET', 'slowlog-max-len', ENTRIES);
  await redis.config('SET', 'slowlog-log-slower-than', LOG_FROM_US);
  await redis.config('RESETSTAT');
  const seen = new Map<number, ScriptRun>();
  let failed: unknown;
  const names = scriptNames();
  const sample = async () => {
    for (const [id, , microseconds, args] of (await redis.slowlog('GET', ENTRIES)) as [
      number,
      number,
      number,
      string[],
    ][]) {
      if (args[0] !== 'evalsha') continue;
      seen.set(id, { ...(names.get(args[1] as string) ?? { script: 'others', isBatched: false }), microseconds });
    }
  };
  const timer = await scope.start(
    async () => setInterval(() => void sample().catch((error: unknown) => (failed = error)), SAMPLE_MS),
    async (opened) => clearInterval(opened),
  );
  return {
    async end() {
      clearInterval(timer);
      if (failed) throw failed;
      return { runs: [...seen.values()], commands: readCommands(await redis.info('commandstats')) };
    },
  };
}

/** BullMQ's scripts, alone and in Muster's merged form, by their SHA-1, which is Redis' name for them. */
function scriptNames(): Map<string, Omit<ScriptRun, 'microseconds'>> {
  const require = createRequire(import.meta.url);
  const scripts: Record<
    string,
    { name: string; content: string }
  > = require('../../node_modules/bullmq/dist/cjs/scripts');
  const sha1 = (text: string) => createHash('sha1').update(text).digest('hex');
  const names = new Map<string, Omit<ScriptRun, 'microseconds'>>();
  for (const { name, content } of Object.values(scripts)) names.set(sha1(content), { script: name, isBatched: false });
  for (const [script, { lua }] of Object.entries(BATCHED)) names.set(sha1(lua), { script, isBatched: true });
  return names;
}

export type Commands = Record<string, { calls: number; microseconds: number }>;

/** `cmdstat_xadd:calls=3,usec=12,…`, line by line. */
export function readCommands(info: string): Commands {
  const lines = info.matchAll(/^cmdstat_([^:]+):calls=(\d+),usec=(\d+)/gm);
  return Object.fromEntries(
    [...lines].map(([, name, calls, usec]) => [name, { calls: Number(calls), microseconds: Number(usec) }]),
  );
}

/** Calls and elapsed microseconds per user, the longest first; commands inside a script count for both. */
export function commandsPerUser(commands: Commands, users: number): Commands {
  const each = Object.entries(commands).map(
    ([name, { calls, microseconds }]) =>
      [name, { calls: rounded(calls / users, 2), microseconds: rounded(microseconds / users, 2) }] as const,
  );
  return Object.fromEntries(each.sort((a, b) => b[1].microseconds - a[1].microseconds));
}

const SCRIPTS = ['addStandardJob', 'moveToFinished'];
export const REST = 'network, append-only file, rest';

/**
 * Each script's share of Redis' processor time, and the rest; they add up to 1.
 * @param cpu microseconds per user in the watched run
 */
export function scriptShares(runs: ScriptRun[], cpu: number, users: number): Record<string, number> {
  const each = SCRIPTS.map((script) => {
    const some = runs.filter((run) => run.script === script);
    const merged = some.filter((run) => run.isBatched);
    return [script, (undisturbed(merged) + undisturbed(some.filter((run) => !run.isBatched))) / users] as const;
  });
  const known = each.reduce((sum, [, us]) => sum + us, 0);
  const whole = Math.max(known, cpu);
  const shares = each.map(([script, us]) => [script, us / whole] as const);
  return { ...Object.fromEntries(shares), [REST]: (whole - known) / whole };
}

/** The total time of runs of one kind, each counted as the median. */
function undisturbed(runs: ScriptRun[]): number {
  const times = runs.map((run) => run.microseconds);
  return times.length === 0 ? 0 : percentile(times, 0.5) * times.length;
}
