/**
 * `undo`: users per second from the request to undo an import until its state is `IMPORT_STATE_UNDONE`.
 * `undo-preview`: how long the count of what an undo would remove takes.
 *
 * Ceiling of `undo`: bare deletes of as many users from an identical table with the same indexes on the same server, by
 * key and in batches of the same size with a commit each, half of them before the undo and half after it. The table has
 * no triggers, and nothing but users is written. Ceiling of `undo-preview`: the target of 2 s for a million users.
 * Each round has its own stores and service.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { UNDO_BATCH } from '../../src/imports/control/undo.ts';
import type { Pool } from '../../src/platform/db/pool.ts';
import { type Context, percentile, perSecond, type Result, rounded } from '../bench.ts';
import { type CpuTime, cpuPerUnit, cpuTime, hasProc, shares } from '../machine/cpu.ts';
import type { Scope } from '../scope.ts';
import { importAll } from '../testbed/import-all.ts';
import { importBody, userId } from '../testbed/load.ts';
import { redisVersion } from '../testbed/stores.ts';
import { type Service, type Stores, settle, startService, startStores } from '../testbed/testbed.ts';

const DEFAULT_USERS = 200_000;
const ROUNDS = 3;
const POLL_MS = 100;
const TARGET_USERS_PER_SECOND = 20_000;
const PREVIEW_MS_PER_MILLION = 2000;

interface Round {
  usersPerSecond: number;
  bareUsersPerSecond: number;
  ratio: number;
  previewMs: number;
  /** Microseconds per user, by process. */
  cpu?: CpuTime;
}

export async function undo(context: Context): Promise<Result[]> {
  const users = Math.max(2, context.users ?? DEFAULT_USERS);
  const wanted = users < DEFAULT_USERS ? 1 : ROUNDS;
  const rounds: Round[] = [];
  for (let n = 1; n <= wanted; n++) {
    const round = await context.scope.within((inner) => measure(inner, users));
    const { usersPerSecond, bareUsersPerSecond, previewMs } = round;
    const figures = `${usersPerSecond} users/s, bare deletes ${bareUsersPerSecond}, preview ${previewMs} ms`;
    context.say(`undo: round ${n} of ${wanted}, ${figures}`);
    rounds.push(round);
  }
  return [undoResult(rounds, users), previewResult(rounds, users)];
}

async function measure(scope: Scope, users: number): Promise<Round> {
  const stores = await startStores(scope, { redis: redisVersion() !== undefined });
  const service = await startService(scope, stores, 1);
  await importAll(service, importBody(users, service.orgId), users);
  await stores.pool.query('create schema bare; create table bare.users (like public.users including all)');
  await stores.pool.query('insert into bare.users select * from public.users where import_id is not null');
  await settle(stores);

  const half = Math.floor(users / 2);
  const firstMs = await timedDeletes(stores.pool, 0, half);
  const previewMs = await timedPreview(service, users);
  const { ms, cpu } = await timedUndo(service, stores, users);
  const bareMs = firstMs + (await timedDeletes(stores.pool, half, users));
  const [usersPerSecond, bareUsersPerSecond] = [perSecond(users, ms), perSecond(users, bareMs)];
  const ratio = rounded(usersPerSecond / bareUsersPerSecond, 3);
  return { usersPerSecond, bareUsersPerSecond, ratio, previewMs, ...(cpu ? { cpu } : {}) };
}

/** @throws Error when not every user was deleted */
async function timedDeletes(pool: Pool, from: number, to: number): Promise<number> {
  const start = performance.now();
  for (let at = from; at < to; at += UNDO_BATCH) {
    const ids = Array.from({ length: Math.min(UNDO_BATCH, to - at) }, (_, i) => userId(at + i));
    const { rowCount } = await pool.query('delete from bare.users where id = any($1::text[])', [ids]);
    if (rowCount !== ids.length) throw new Error(`The bare delete found ${rowCount} of ${ids.length} users.`);
  }
  return performance.now() - start;
}

/** @throws Error when it would not remove every user */
async function timedPreview({ client }: Service, users: number): Promise<number> {
  const { importId } = await newest(client);
  const start = performance.now();
  const { removed } = await client.call('GET', `/admin/v1/imports/${importId}/undo_preview`);
  const ms = performance.now() - start;
  if (removed !== users) throw new Error(`The preview counted ${removed} of ${users} users.`);
  return rounded(ms, 1);
}

/** @throws Error when it did not remove every user */
async function timedUndo(service: Service, stores: Stores, users: number): Promise<{ ms: number; cpu?: CpuTime }> {
  const roles = { ...service.roles(), ...stores.roles() };
  const { importId } = await newest(service.client);
  const before = hasProc() ? cpuTime(roles) : undefined;
  const start = performance.now();
  await service.client.call('POST', `/admin/v1/imports/${importId}/_undo`, {});
  for (;;) {
    const { state, counts } = await newest(service.client);
    if (state === 'IMPORT_STATE_UNDONE') {
      if (counts.undone !== users) throw new Error(`The undo removed ${counts.undone} of ${users} users.`);
      break;
    }
    await sleep(POLL_MS);
  }
  const ms = performance.now() - start;
  return { ms, ...(before ? { cpu: cpuPerUnit(before, cpuTime(roles), users) } : {}) };
}

async function newest(client: Service['client']) {
  return (await client.call('GET', '/admin/v1/imports?pageSize=1')).imports[0];
}

/** The round with the median of that figure: the speed of a shared machine changes between rounds. */
function medianBy(rounds: Round[], by: 'ratio' | 'previewMs'): Round {
  const middle = percentile(
    rounds.map((round) => round[by]),
    0.5,
  );
  return rounds.find((round) => round[by] === middle) as Round;
}

function undoResult(rounds: Round[], users: number): Result {
  const { usersPerSecond: value, bareUsersPerSecond: ceiling, ratio, cpu } = medianBy(rounds, 'ratio');
  const rates = rounds.map(({ usersPerSecond }) => usersPerSecond);
  const notes = [
    `${users} users, from the request until the import is undone, median of ${rounds.length} by ratio (${Math.min(...rates)} to ${Math.max(...rates)})`,
    `ceiling: bare deletes of the same users by key, in the same batches; target: ${TARGET_USERS_PER_SECOND} users/s`,
    ...(cpu ? [`CPU µs per user: ${shares(cpu)}`] : []),
  ];
  const extras = { users, target: TARGET_USERS_PER_SECOND, ...(cpu ? { cpu } : {}), rounds };
  return { name: 'undo', value, unit: 'users/s', ceiling, ratio, notes, extras };
}

function previewResult(rounds: Round[], users: number): Result {
  const { previewMs: value } = medianBy(rounds, 'previewMs');
  const ceiling = rounded((PREVIEW_MS_PER_MILLION * users) / 1_000_000, 3);
  const notes = [
    `what an undo of ${users} users would remove; ceiling: the target of 2 s for a million; less is better`,
  ];
  const extras = { users, previewMs: rounds.map(({ previewMs }) => previewMs) };
  return { name: 'undo-preview', value, unit: 'ms', ceiling, ratio: rounded(value / ceiling, 3), notes, extras };
}
