/**
 * `passwords`: hashes per second of an import whose users all have a plain password, from the request until the last
 * user can be read, with one worker process that has a hashing thread for each core.
 *
 * Ceiling: bcryptjs alone in as many threads (ceilings/bcrypt-bare.ts), half of the hashes before the service starts
 * and half after it has stopped, so that a machine that slows down meanwhile affects both. In addition to the rate: its
 * ratio to the library that the service uses, and how late the event loops of API and worker were, as hashing must not
 * block them.
 */
import { availableParallelism } from 'node:os';
import { type Context, type Result, rounded } from '../bench.ts';
import { type Bare, type BareOrders, bareExtras, bareFigures, bareHashes, bareNotes } from '../ceilings/bcrypt-bare.ts';
import { shares } from '../format.ts';
import { type CpuTime, cpuPerUnit, hasProc, sumOf } from '../machine/cpu.ts';
import { formatUse, readUse, type Use, useBetween } from '../machine/machine-use.ts';
import type { LoopDelay } from '../measure/loop-delay.ts';
import { apiDelay, loopDelayOptions, workerDelay } from '../measure/loop-delays.ts';
import type { Scope } from '../scope.ts';
import { importAll, proveReady } from '../testbed/import-all.ts';
import { user, userId } from '../testbed/load.ts';
import { redisVersion } from '../testbed/redis.ts';
import { startService, startStores } from '../testbed/testbed.ts';
import { startWorkers } from '../testbed/workers-apart.ts';

const DEFAULT_USERS = 1200;
/** The cost in src/passwords/hasher.ts. */
const COST = 10;
/** Such a long import is polled at a low rate, so that polling takes no processor time from hashing. */
const POLL_MS = 250;
const TARGET = { ratio: 0.9, delayMs: 50 };

interface Hashed {
  ms: number;
  delays: { api: LoopDelay; worker: LoopDelay };
  /** Microseconds per user, by process. */
  cpu?: CpuTime;
  use?: Use;
}

export async function passwords({ scope, say, users = DEFAULT_USERS }: Context): Promise<Result[]> {
  const threads = availableParallelism();
  const orders = { hashes: Math.ceil(users / 2), cost: COST, threads };
  const bare = [await bareHashes(scope, orders)];
  const hashed = await scope.within((inner) => importPasswords(inner, users, threads));
  say(`passwords: ${rateOf(users, hashed.ms)} hashes/s`);
  bare.push(await bareHashes(scope, orders));
  return [resultOf(hashed, users, orders, bare)];
}

async function importPasswords(scope: Scope, users: number, threads: number): Promise<Hashed> {
  const stores = await startStores(scope, { redis: redisVersion() !== undefined });
  const service = await startService(scope, stores, 0);
  const { settings, execArgv } = loopDelayOptions(stores.dir);
  const apart = { settings: { ...settings, HASH_THREADS: String(threads) }, execArgv };
  const [pid] = (await startWorkers(scope, stores, 1, apart)) as [number];
  await proveReady(service, users);
  const readDelays = async () => ({ api: await apiDelay(service.baseUrl), worker: await workerDelay(stores.dir, pid) });
  const roles = { ...service.roles(), worker: [pid], ...stores.roles() };

  await readDelays();
  const before = hasProc() ? readUse(roles) : undefined;
  const { ms } = await importAll(service, [bodyOf(users, service.orgId)], users, { pollMs: POLL_MS });
  const after = before && readUse(roles);
  const delays = await readDelays();
  if (!before || !after) return { ms, delays };
  return { ms, delays, cpu: cpuPerUnit(before.byRole, after.byRole, users), use: useBetween(before, after) };
}

/** The standard users, with a plain password instead of a hash. */
function bodyOf(users: number, orgId: string): Buffer {
  const humanUsers = Array.from({ length: users }, (_, n) => {
    const { hashedPassword: _hash, ...rest } = user(n);
    return { userId: userId(n), user: { ...rest, password: `correct horse battery staple ${n}` } };
  });
  return Buffer.from(JSON.stringify({ timeout: '10h0m0s', dataOrgs: { orgs: [{ orgId, humanUsers }] } }));
}

function resultOf({ ms, delays, cpu, use }: Hashed, users: number, orders: BareOrders, bare: Bare[]): Result {
  const value = rateOf(users, ms);
  const { threads } = orders;
  const figures = bareFigures(bare, orders);
  const { ceiling, ownCpu } = figures;
  const delay = ({ p99, max }: LoopDelay) => `p99 ${p99} ms, most ${max} ms`;
  const notes = [
    `${users} users with a plain password, bcrypt of cost ${COST}, 1 worker with ${threads} threads`,
    `ceiling: bcryptjs alone in ${threads} threads, before and after; target: a ratio of at least ${TARGET.ratio}`,
    `event loop late by: API ${delay(delays.api)}; worker ${delay(delays.worker)}; target: below ${TARGET.delayMs} ms`,
    ...bareNotes(value, figures, orders),
    ...(cpu ? [`CPU µs per user: ${shares(cpu)}`] : []),
    ...(use ? [`of ${use.cores} cores: ${formatUse(use)}`] : []),
  ];
  const extras = {
    users,
    threads,
    cost: COST,
    ...bareExtras(value, figures),
    eventLoopDelayMs: delays,
    ...(cpu ? { cpu, cpuRatio: rounded(ownCpu / sumOf(cpu), 3) } : {}),
    ...(use ? { use } : {}),
  };
  return { name: 'passwords', value, unit: 'hashes/s', ceiling, ratio: rounded(value / ceiling, 3), notes, extras };
}

function rateOf(count: number, ms: number): number {
  return rounded((count / ms) * 1000, 1);
}
