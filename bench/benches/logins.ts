/**
 * `logins`: logins per second of people whose hash is bcrypt with cost 10, through the call that opens a session.
 * `token`, `introspection`, `userinfo`: what programs call at the authorization server, alone (the ceiling) and while a
 * large import runs.
 *
 * Ceiling of `logins`: bcryptjs alone in as many threads (ceilings/bcrypt-bare.ts), half of the hashes before and half
 * after, as in `passwords`; and the library of the service likewise. Each person logs in once, as most do on one day.
 */
import { type Context, percentile, type Result, rounded, timed } from '../bench.ts';
import { type Bare, type BareOrders, bareExtras, bareFigures, bareHashes, bareNotes } from '../ceilings/bcrypt-bare.ts';
import { type CpuTime, cpuPerUnit, cpuTime, hasProc, shares, sumOf } from '../machine/cpu.ts';
import type { Scope } from '../scope.ts';
import { startProgram } from '../testbed/client.ts';
import { importAll } from '../testbed/import-all.ts';
import { importBody, passwordOf, userId } from '../testbed/load.ts';
import { DEFAULT_USERS, whileRunning } from '../testbed/running.ts';
import { redisVersion } from '../testbed/stores.ts';
import { type Service, startService, startStores } from '../testbed/testbed.ts';

/** Logins, and calls of each kind; fewer for a small import, so that it does not end first. */
const LOGINS = 600;
const CALLS = 1500;
const USERS_PER_LOGIN = 100;
const USERS_PER_CALL = 200;
const WARM_UP = 20;
/** The default of HASH_THREADS. */
const THREADS = 2;
/** Enough that a password always waits for a free thread. */
const LOGIN_CALLERS = 2 * THREADS;
const CALLERS = 4;
const COST = 10;
const TARGET_RATIO = 0.95;
/** All calls come from one address; they are still counted. */
const SETTINGS = {
  HASH_THREADS: String(THREADS),
  RATE_LIMIT_REQUESTS: '1000000',
  RATE_LIMIT_LOGINS: '1000000',
};

export async function logins(context: Context): Promise<Result[]> {
  const { scope, say, users = DEFAULT_USERS } = context;
  const count = Math.min(LOGINS, Math.ceil(users / USERS_PER_LOGIN));
  const orders = { hashes: Math.ceil(count / 2), cost: COST, threads: THREADS };
  const bare = [await bareHashes(scope, orders)];
  const { passed, alone } = await scope.within((inner) => idleService(inner, count, callsFor(users)));
  bare.push(await bareHashes(scope, orders));
  say(`logins: ${passed.calls.perSecond}/s`);
  const result = loginResult(passed, count, orders, bare);
  if (!redisVersion()) {
    say('logins: tokens are not measured during an import, because redis-server is not on this machine');
    return [result];
  }
  const loaded = await whileRunning(
    context,
    users,
    (running) => scope.within((inner) => programCalls(inner, running, callsFor(users))),
    SETTINGS,
  );
  const load = `${users} users are imported at ${loaded.loadPerSecond} users/s`;
  return [result, ...KINDS.map((kind) => callResult(kind, loaded.figures[kind], alone[kind], load))];
}

function callsFor(users: number): number {
  return Math.min(CALLS, Math.ceil(users / USERS_PER_CALL));
}

interface Passed {
  calls: Calls;
  /** Microseconds per login, by process. */
  cpu?: CpuTime;
}

async function idleService(scope: Scope, count: number, calls: number) {
  const stores = await startStores(scope, { redis: redisVersion() !== undefined });
  const service = await startService(scope, stores, 1, SETTINGS);
  const people = WARM_UP + count;
  await importAll(service, importBody(people, service.orgId), people);
  await stores.pool.query('analyze');
  const roles = { ...service.roles(), ...stores.roles() };
  await callAll(WARM_UP, LOGIN_CALLERS, (n) => login(service, n));
  const before = hasProc() ? cpuTime(roles) : undefined;
  const timed = await callAll(count, LOGIN_CALLERS, (n) => login(service, WARM_UP + n));
  const cpu = before && cpuPerUnit(before, cpuTime(roles), count);
  const alone = await programCalls(scope, service, calls);
  return { passed: { calls: timed, ...(cpu ? { cpu } : {}) }, alone };
}

function login({ client }: Service, n: number): Promise<unknown> {
  const checks = { user: { userId: userId(n) }, password: { password: passwordOf(n) } };
  return client.call('POST', '/v2beta/sessions', { checks }, undefined, 201);
}

const KINDS = ['token', 'introspection', 'userinfo'] as const;

async function programCalls(scope: Scope, service: Service, count: number): Promise<Record<Kind, Calls>> {
  const program = await startProgram(scope, service, 'bench');
  const token = await program.token();
  const measured = async (call: () => Promise<unknown>) => {
    await callAll(WARM_UP, CALLERS, call);
    return callAll(count, CALLERS, call);
  };
  return {
    token: await measured(program.token),
    introspection: await measured(() => program.introspect(token)),
    userinfo: await measured(() => program.userinfo(token)),
  };
}

type Kind = (typeof KINDS)[number];

function loginResult({ calls, cpu }: Passed, count: number, orders: BareOrders, bare: Bare[]): Result {
  const figures = bareFigures(bare, orders);
  const { ceiling, ownCpu } = figures;
  const value = calls.perSecond;
  const notes = [
    `${count} logins with bcrypt of cost ${COST}, ${LOGIN_CALLERS} callers, ${THREADS} threads: p50 ${calls.p50} ms, p99 ${calls.p99} ms`,
    `ceiling: bcryptjs alone in ${THREADS} threads, before and after; target: a ratio of at least ${TARGET_RATIO}`,
    ...bareNotes(value, figures, orders),
    ...(cpu ? [`CPU µs per login: ${shares(cpu)}`] : []),
  ];
  const extras = {
    logins: count,
    threads: THREADS,
    ...calls,
    ...bareExtras(value, figures),
    ...(cpu ? { cpu, cpuRatio: rounded(ownCpu / sumOf(cpu), 3) } : {}),
  };
  return { name: 'logins', value, unit: 'logins/s', ceiling, ratio: rounded(value / ceiling, 3), notes, extras };
}

function callResult(kind: Kind, loaded: Calls, alone: Calls, load: string): Result {
  const { perSecond: value } = loaded;
  const { perSecond: ceiling } = alone;
  const times = ({ p50, p99 }: Calls) => `p50 ${p50} ms, p99 ${p99} ms`;
  const notes = [
    `from ${CALLERS} callers while ${load}: ${times(loaded)}`,
    `ceiling: the same on an idle service, ${times(alone)}`,
  ];
  return {
    name: kind,
    value,
    unit: 'calls/s',
    ceiling,
    ratio: rounded(value / ceiling, 3),
    notes,
    extras: { loaded, alone },
  };
}

interface Calls {
  perSecond: number;
  /** Milliseconds of a call. */
  p50: number;
  p99: number;
}

/**
 * Makes `count` calls from `callers` callers, each of whom calls as soon as the call before is answered.
 * @throws what a call throws
 */
async function callAll(count: number, callers: number, call: (n: number) => Promise<unknown>): Promise<Calls> {
  const times: number[] = [];
  let next = 0;
  const caller = async () => {
    while (next < count) {
      const n = next++;
      times.push(await timed(() => call(n)));
    }
  };
  const ms = await timed(() => Promise.all(Array.from({ length: callers }, caller)));
  const at = (p: number) => rounded(percentile(times, p), 1);
  return { perSecond: rounded((count * 1000) / ms, 1), p50: at(0.5), p99: at(0.99) };
}
