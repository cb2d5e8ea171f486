/**
 * `passwords`: hashes per second of an import whose users all have a plain password, from the request until the last
 * user can be read, with one worker process that has a hashing thread for each core.
 *
 * Ceiling: bcryptjs alone in as many threads (ceilings/bcrypt-bare.ts), half of the hashes before the service starts
 * and half after it has stopped, so that a machine that slows down meanwhile affects both. In addition to the rate: its
 * ratio to the library that the service uses, and how late the event loops of API and worker were, as hashing must not
 * block them.
 */
import { readFile, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Context, type Result, rounded } from '../bench.ts';
import { type Bare, type BareOrders, bareExtras, bareFigures, bareHashes, bareNotes } from '../ceilings/bcrypt-bare.ts';
import { type CpuTime, cpuPerUnit, hasProc, shares, sumOf } from '../machine/cpu.ts';
import { type LoopDelay, late } from '../machine/loop-delay.ts';
import { formatUse, readUse, type Use, useBetween } from '../machine/machine.ts';
import type { Scope } from '../scope.ts';
import { importAll, proveReady } from '../testbed/import-all.ts';
import { user, userId } from '../testbed/load.ts';
import { redisVersion } from '../testbed/stores.ts';
import { startService, startStores, startWorkers } from '../testbed/testbed.ts';

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
  const { ms } = await importAll(service, [passwordsBody(users, service.orgId)], users, { pollMs: POLL_MS });
  const after = before && readUse(roles);
  const delays = await readDelays();
  if (!before || !after) return { ms, delays };
  return { ms, delays, cpu: cpuPerUnit(before.byRole, after.byRole, users), use: useBetween(before, after) };
}

/** The standard users, with a plain password instead of a hash. */
export function passwordsBody(users: number, orgId: string): Buffer {
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

const LOOP_DELAY_FILE = fileURLToPath(new URL('../machine/loop-delay.ts', import.meta.url));
const DELAY_POLL_MS = 5;
const DELAY_PATIENCE_MS = 5000;

/** How to start a process so that `workerDelay` can read its delay. */
export function loopDelayOptions(dir: string): { settings: Record<string, string>; execArgv: string[] } {
  return { settings: { LOOP_DELAY_DIR: dir }, execArgv: ['--import', LOOP_DELAY_FILE] };
}

/** The delay since the last reading. @throws Error when the process does not write it */
export async function workerDelay(dir: string, pid: number): Promise<LoopDelay> {
  const file = join(dir, `${pid}.json`);
  process.kill(pid, 'SIGUSR2');
  for (const end = performance.now() + DELAY_PATIENCE_MS; performance.now() < end; await sleep(DELAY_POLL_MS)) {
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text === undefined) continue;
    await rm(file);
    return toHundredths(JSON.parse(text) as LoopDelay);
  }
  throw new Error(`Process ${pid} does not report the delay of its event loop.`);
}

/** The delay since the API's metrics were last read, by any reader. */
async function apiDelay(baseUrl: string): Promise<LoopDelay> {
  const text = await (await fetch(`${baseUrl}/metrics`)).text();
  return toHundredths(readLag(text));
}

/** prom-client measures with the same resolution as machine/loop-delay.ts. @throws Error when the figures are missing */
export function readLag(metrics: string): LoopDelay {
  const figure = (name: string) => {
    const seconds = new RegExp(`^nodejs_eventloop_lag_${name}_seconds (\\S+)$`, 'm').exec(metrics)?.[1];
    if (seconds === undefined) throw new Error('The API does not report the delay of its event loop.');
    return late(Number(seconds) * 1000);
  };
  return { p99: figure('p99'), max: figure('max') };
}

function toHundredths({ p99, max }: LoopDelay): LoopDelay {
  return { p99: rounded(p99, 2), max: rounded(max, 2) };
}
