/**
 * Measures points of the capacity model: drains with 1 to 8 workers and 1 to 4 Redis shards, each process held to a
 * slice of a core (machine/cpu-share.ts), as the machine has too few cores for all of them.
 *
 * Each worker, each Redis and PostgreSQL has its slice; API and dispatcher have none, and their cost is measured. The
 * clock of a drain starts at the 202. Each point has its own stores.
 */
import { join } from 'node:path';
import { perSecond, Skipped } from '../bench.ts';
import { type CpuTime, cpuPerUnit, cpuTime, hasProc } from '../machine/cpu.ts';
import { throttleAll } from '../machine/throttled.ts';
import type { Scope } from '../scope.ts';
import { importAll, proveReady } from '../testbed/import-all.ts';
import { importBody, user } from '../testbed/load.ts';
import { redisVersion, startRedis } from '../testbed/redis.ts';
import { type Service, type Stores, startService, startStores } from '../testbed/testbed.ts';
import { startWorkers } from '../testbed/workers-apart.ts';
import type { Part, Point } from './model.ts';

const WORKERS = [1, 2, 4, 8];
const SHARDS = [1, 2, 4];
/** Cores of each process; PostgreSQL's processes share one value. Redis is the limit between 1 and 8 workers. */
const SLICES = { worker: 0.06, redis: 0.08, postgres: 0.6 };
/** Cores, in place of no limit. */
const FREE = 1e6;
const USERS_PER_WORKER = 6000;
const MOST_USERS = 18_000;
/** Before the slices apply: with a slice, V8 would compile for half a minute. */
const WARM_UP_PER_WORKER = 2000;

export interface Measured extends Point {
  users: number;
  /** Microseconds for each user. */
  cpu: Record<Part, number>;
  /** The share of time in which each part had used up its slice. */
  heldBack: CpuTime;
}

/** @throws Skipped where processor time cannot be limited or read */
export async function measurePoints(scope: Scope, say: (line: string) => void): Promise<Measured[]> {
  if (!redisVersion()) throw new Skipped('redis-server is not on this machine');
  if (!hasProc()) throw new Skipped('this system has no /proc, from which processor time is read');
  const points: Measured[] = [];
  for (const shards of SHARDS) {
    for (const workers of WORKERS) {
      const users = Math.min(MOST_USERS, workers * USERS_PER_WORKER);
      const point = await scope.within((inner) => measure(inner, users, workers, shards));
      points.push(point);
      say(
        `${workers} workers, ${shards} shards: ${point.usersPerSecond} users/s, held back ${JSON.stringify(point.heldBack)}`,
      );
    }
  }
  return points;
}

async function measure(scope: Scope, users: number, workers: number, shards: number): Promise<Measured> {
  const { stores, redisPids } = await startShards(scope, shards);
  const service = await startService(scope, stores, 0);
  const [dispatcher] = await startWorkers(scope, stores, 1, {
    settings: { WORKER_ROLES: 'dispatch,rescue,maintenance,mail,webhooks' },
  });
  const pids = await startWorkers(scope, stores, workers, { settings: { WORKER_ROLES: 'import' } });
  await proveReady(service, users);
  const body = [...importBody(users, service.orgId)];
  const sliced = { worker: pids, redis: redisPids, postgres: stores.roles().postgres as number[] };
  const roles = { ...sliced, dispatcher: [dispatcher as number], api: [service.apiPid] };

  await warmUp(service, workers * WARM_UP_PER_WORKER);
  const throttling = await throttleAll(scope, sliced, SLICES);
  if (!throttling) throw new Skipped('processes cannot be held to a share of a core here');
  const before = cpuTime(roles);
  const { ms, acceptedMs } = await importAll(service, body, users, { onAccepted: throttling.begin });
  const usersPerSecond = perSecond(users, ms - acceptedMs);
  const heldBack = throttling.end();
  const cpu = cpuPerUnit(before, cpuTime(roles), users) as Record<Part, number>;
  return { workers, shards, users, usersPerSecond, size: sizeOf(workers, shards), cpu, heldBack };
}

/** Imports users that are none of the measured import. */
async function warmUp(service: Service, users: number): Promise<void> {
  const another = (n: number) => ({ userId: `w${n}`, user: { ...user(n), userName: `w${n}` } });
  await importAll(service, importBody(users, service.orgId, another), users, { lastId: `w${users - 1}` });
}

/** The stores, with as many Redis servers as there are shards. */
async function startShards(scope: Scope, shards: number): Promise<{ stores: Stores; redisPids: number[] }> {
  const stores = await startStores(scope, { redis: true });
  const first = stores.redis as NonNullable<Stores['redis']>;
  const others = [];
  for (let n = 1; n < shards; n++) others.push(await startRedis(scope, join(stores.dir, `redis-${n}`)));
  const all = [first, ...others];
  const redis = { ...first, url: all.map(({ url }) => url).join(' ') };
  return { stores: { ...stores, redis }, redisPids: all.map(({ pid }) => pid) };
}

/** API and dispatcher are not held back, and the upload is over: they limit nothing here. */
function sizeOf(workers: number, shards: number): Point['size'] {
  const worker = Math.round(workers * SLICES.worker * 100) / 100;
  return { worker, shards, redisShare: SLICES.redis, postgres: SLICES.postgres, api: FREE, dispatcherShare: FREE };
}
