/**
 * `memory`: the peak memory of the API, a worker and Redis while a bulk import is accepted and processed, for a small
 * import and one that is ten times larger.
 *
 * The body is generated while it is sent, so no process holds it. Each size has its own stores and service. Redis keeps
 * an append-only file: while it rewrites the file, a forked child holds copies of the pages that change, which are not
 * part of Redis' own peak; the notes say when that happened.
 * Ceiling: the memory that such a process may use, whatever the size of the import.
 */
import { Redis } from 'ioredis';
import { type Context, counted, type Result, rounded, Skipped } from '../bench.ts';
import { hasProc, peakMemory, type Roles } from '../machine/cpu.ts';
import { importAll, proveReady } from '../testbed/import-all.ts';
import { importBody } from '../testbed/load.ts';
import { redisVersion } from '../testbed/stores.ts';
import { startService, startStores } from '../testbed/testbed.ts';

const DEFAULT_USERS = 1_000_000;
const CEILINGS_MB = { api: 250, worker: 250, redis: 100 };
const MB = 1e6;

type Role = keyof typeof CEILINGS_MB;
/** Megabytes. */
type Peaks = Record<Role, number>;

interface Measured {
  users: number;
  workers: number;
  peaks: Peaks;
  /** Before the import. */
  idle: Peaks;
  redis: RedisMemory;
}

export async function memory({ scope, users = DEFAULT_USERS, workers, say }: Context): Promise<Result[]> {
  if (!hasProc()) throw new Skipped('this system has no /proc, from which the memory of processes is read');
  if (!redisVersion()) throw new Skipped('redis-server is not on this machine');
  const measure = (n: number) =>
    scope.within((inner) => measureImport({ scope: inner, say, workers: Math.max(1, workers) }, n));
  const small = await measure(Math.max(1, Math.round(users / 10)));
  const large = await measure(users);
  const roles = Object.keys(CEILINGS_MB) as Role[];
  return roles.flatMap((role) => [resultOf(role, small), resultOf(role, large, small)]);
}

async function measureImport({ scope, say, workers }: Context, users: number): Promise<Measured> {
  const stores = await startStores(scope, { redis: true });
  const service = await startService(scope, stores, workers);
  await proveReady(service, users);
  const roles = { ...service.roles(), ...stores.roles() };
  const idle = peaksOf(roles);
  say(`memory: an import of ${users} users`);
  await importAll(service, importBody(users, service.orgId), users);
  const redis = await readRedisMemory((stores.redis as { url: string }).url);
  return { users, workers, idle, peaks: peaksOf(roles), redis };
}

/** The peak of each role's largest process. */
function peaksOf(roles: Roles): Peaks {
  const most = (role: Role) => rounded(Math.max(...(roles[role] ?? []).map(peakMemory)) / MB, 1);
  return { api: most('api'), worker: most('worker'), redis: most('redis') };
}

function resultOf(role: Role, measured: Measured, smaller?: Measured): Result {
  const { users, workers, peaks, idle, redis } = measured;
  const [value, ceiling] = [peaks[role], CEILINGS_MB[role]];
  const difference = smaller && rounded((value - smaller.peaks[role]) / smaller.peaks[role], 3);
  const who = { api: 'the API', worker: `the largest of ${counted(workers, 'worker', 'workers')}`, redis: 'Redis' };
  const from = smaller && difference !== undefined ? `; ${percent(difference)} from ${smaller.users} users` : '';
  return {
    name: `memory-${role}-${users}`,
    value,
    unit: 'MB',
    ceiling,
    ratio: rounded(value / ceiling, 3),
    notes: [
      `peak of ${who[role]} over an import of ${users} users; idle ${idle[role]} MB${from}`,
      ...(role === 'redis' && redis.rewrites > 0 ? [rewriteNote(redis)] : []),
    ],
    extras: {
      users,
      workers,
      idleMegabytes: idle[role],
      ...(difference === undefined ? {} : { relativeDifference: difference }),
      ...(role === 'redis' ? redis : {}),
    },
  };
}

function rewriteNote({ rewrites, rewriteCopyMegabytes }: RedisMemory): string {
  const count = counted(rewrites, 'rewrite', 'rewrites');
  return `${count} of the append-only file; the last one's child copied another ${rewriteCopyMegabytes} MB`;
}

function percent(difference: number): string {
  return `${difference < 0 ? '' : '+'}${rounded(difference * 100, 1)} %`;
}

/** Redis' own figures of its memory, in addition to the kernel's figures of its process. */
interface RedisMemory {
  /** Peak of the memory allocated for data and clients; the rest of the process is the server itself. */
  usedMemoryPeakMegabytes: number;
  /** Rewrites of the append-only file so far, each by a forked child. */
  rewrites: number;
  /** Memory of the last rewrite's child, without the pages it shared with the server. */
  rewriteCopyMegabytes: number;
}

/** @throws Error when Redis does not report a figure, as before version 7 */
async function readRedisMemory(url: string): Promise<RedisMemory> {
  const redis = new Redis(url);
  try {
    return parseRedisMemory(await redis.info());
  } finally {
    redis.disconnect();
  }
}

/** @param info the reply to INFO: lines of `name:value` */
export function parseRedisMemory(info: string): RedisMemory {
  const figure = (name: string): number => {
    const value = new RegExp(`^${name}:(\\d+)\\r?$`, 'm').exec(info)?.[1];
    if (value === undefined) throw new Error(`Redis does not report ${name}.`);
    return Number(value);
  };
  return {
    usedMemoryPeakMegabytes: megabytes(figure('used_memory_peak')),
    rewrites: figure('aof_rewrites'),
    rewriteCopyMegabytes: megabytes(figure('aof_last_cow_size')),
  };
}

function megabytes(bytes: number): number {
  return Math.round(bytes / (MB / 10)) / 10;
}
