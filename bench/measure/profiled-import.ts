/**
 * An import with profiling in every process: V8's profiler in API and workers, pg_stat_statements in PostgreSQL, slow
 * log and command statistics in Redis. That slows all of them, so only shares count.
 *
 * Guarantee: the shares cover only the time of the import. Profiles are written only if the processes end gracefully.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cpuPerUnit, cpuTime } from '../machine/cpu.ts';
import type { Scope } from '../scope.ts';
import { importAll, proveReady } from '../testbed/import-all.ts';
import { importBody } from '../testbed/load.ts';
import { type Service, type Stores, startService, startStores } from '../testbed/testbed.ts';
import { resetStatements, STATEMENT_SETTINGS, type Statement, statements } from './postgres-cost.ts';
import { type CpuProfile, callTree, clock, cut, readProfiles } from './profile.ts';
import { type Commands, commandsPerUser, scriptShares, watchRedis } from './redis-cost.ts';
import { stepShares } from './steps.ts';

export interface Profiled {
  /** Each step's share of the process' time; for API and workers, of their main threads' time. */
  steps: { api: Record<string, number>; worker: Record<string, number>; redis: Record<string, number> };
  /** Redis commands, per user. */
  commands: Commands;
  /** PostgreSQL statements. */
  statements: Statement[];
}

export async function profiledImport(scope: Scope, users: number, workers: number): Promise<Profiled> {
  const stores = await startStores(scope, { redis: true, settings: STATEMENT_SETTINGS });
  const dir = join(stores.dir, 'profiles');
  const seen = await scope.within(async (inner) => {
    const service = await startProfiled(inner, stores, workers, dir);
    return watchedImport(inner, service, stores, users);
  });
  const read = async (pids: number[]) =>
    (await readProfiles(dir, pids)).map((profile) => cut(profile, seen.from, seen.to));
  const profiles = { api: await read(seen.pids.api), worker: await read(seen.pids.worker) };
  if (process.env.KEEP_PROFILES) await keep(process.env.KEEP_PROFILES, profiles);
  const steps = {
    api: Object.fromEntries(stepShares(profiles.api.map(callTree))),
    worker: Object.fromEntries(stepShares(profiles.worker.map(callTree))),
    redis: scriptShares(seen.runs, seen.redisCpu, users),
  };
  const commands = commandsPerUser(seen.commands, users);
  return { steps, commands, statements: seen.statements };
}

/** The processes of a service inherit their options from this process' environment. */
async function startProfiled(scope: Scope, stores: Stores, workers: number, dir: string): Promise<Service> {
  const { NODE_OPTIONS } = process.env;
  process.env.NODE_OPTIONS = `${NODE_OPTIONS ?? ''} --cpu-prof "--cpu-prof-dir=${dir}"`;
  try {
    return await startService(scope, stores, workers);
  } finally {
    if (NODE_OPTIONS === undefined) delete process.env.NODE_OPTIONS;
    else process.env.NODE_OPTIONS = NODE_OPTIONS;
  }
}

async function watchedImport(scope: Scope, service: Service, stores: Stores, users: number) {
  const body = [...importBody(users, service.orgId)];
  await proveReady(service, users);
  const pids = service.roles() as { api: number[]; worker: number[] };
  const redis = await watchRedis(scope, stores.redis?.url as string);
  await resetStatements(stores);
  const redisTime = () => cpuTime({ redis: stores.roles().redis as number[] });
  const before = redisTime();
  const from = clock();
  await importAll(service, body, users);
  const to = clock();
  const redisCpu = cpuPerUnit(before, redisTime(), users).redis as number;
  return { pids, from, to, redisCpu, ...(await redis.end()), statements: await statements(stores, users) };
}

async function keep(dir: string, profiles: Record<string, CpuProfile[]>): Promise<void> {
  await mkdir(dir, { recursive: true });
  for (const [role, list] of Object.entries(profiles)) {
    for (const [i, profile] of list.entries()) {
      const name = `cost-${role}${i === 0 ? '' : `-${i + 1}`}.cpuprofile`;
      await writeFile(join(dir, name), JSON.stringify(profile));
    }
  }
}
