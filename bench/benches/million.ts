/**
 * `million`, `growth`: how long a million users take from the request until the last one can be read, and whether the
 * last users are as fast as the first. Redis is the queue; each round has its own stores and service.
 *
 * The body is generated while it is sent, so no process holds it; the time to generate it is part of the figure. No
 * user is written before the 202, so the upload slows no tenth; PostgreSQL's checkpoints after it may slow the first
 * one.
 * Ceiling of `million`: 120 s for a million users; of `growth`: the users per second of the first tenth.
 */
import { type Context, counted, percentile, type Result, rounded, Skipped } from '../bench.ts';
import { type CpuTime, cpuPerUnit, cpuTime, hasProc, shares } from '../machine/cpu.ts';
import type { Scope } from '../scope.ts';
import { importAll, proveReady, tenthRates } from '../testbed/import-all.ts';
import { importBody } from '../testbed/load.ts';
import { redisVersion } from '../testbed/stores.ts';
import { startService, startStores } from '../testbed/testbed.ts';

const DEFAULT_USERS = 1_000_000;
/** Tenths of fewer users are meaningless. */
const LEAST_USERS = 100;
const ROUNDS = 3;
const CEILING_SECONDS_PER_MILLION = 120;
/** For a million. */
const TARGET_SECONDS = 75;
const GROWTH_TARGET = 0.95;
const POLL_MS = 200;

interface Round {
  seconds: number;
  /** From the request to its 202. */
  acceptedSeconds: number;
  /** Users per second of the last tenth over those of the first. */
  growth: number;
  usersPerSecondByTenth: number[];
  /** Microseconds per user, by process. */
  cpu?: CpuTime;
  /** Microseconds of the load generator per user; not part of the other figures. */
  loadGeneratorCpu: number;
}

export async function million(context: Context): Promise<Result[]> {
  if (!redisVersion()) throw new Skipped('redis-server is not on this machine');
  const users = Math.max(LEAST_USERS, context.users ?? DEFAULT_USERS);
  const workers = Math.max(1, context.workers);
  const wanted = users < DEFAULT_USERS ? 1 : ROUNDS;
  const rounds: Round[] = [];
  for (let n = 1; n <= wanted; n++) {
    const round = await context.scope.within((inner) => measureRound(inner, users, workers));
    context.say(`million: round ${n} of ${wanted}, ${round.seconds} s for ${users} users, growth ${round.growth}`);
    rounds.push(round);
  }
  return [millionResult(rounds, users, workers), growthResult(rounds, users)];
}

async function measureRound(scope: Scope, users: number, workers: number): Promise<Round> {
  const stores = await startStores(scope, { redis: true });
  const service = await startService(scope, stores, workers);
  await proveReady(service, users);
  const roles = { ...service.roles(), ...stores.roles() };

  const before = hasProc() ? cpuTime(roles) : undefined;
  const own = process.cpuUsage();
  const { ms, acceptedMs, samples } = await importAll(service, importBody(users, service.orgId), users, {
    pollMs: POLL_MS,
  });
  const { user, system } = process.cpuUsage(own);
  const cpu = before && cpuPerUnit(before, cpuTime(roles), users);
  const tenths = tenthRates(samples, users).map(Math.round);
  return {
    seconds: rounded(ms / 1000, 2),
    acceptedSeconds: rounded(acceptedMs / 1000, 2),
    growth: rounded((tenths.at(-1) as number) / (tenths[0] as number), 3),
    usersPerSecondByTenth: tenths,
    ...(cpu ? { cpu } : {}),
    loadGeneratorCpu: rounded((user + system) / users, 1),
  };
}

function millionResult(rounds: Round[], users: number, workers: number): Result {
  const { median, range } = ranked(rounds, 'seconds');
  const value = median.seconds;
  const ceiling = rounded((CEILING_SECONDS_PER_MILLION * users) / DEFAULT_USERS, 4);
  const notes = [
    `${users} users, ${counted(workers, 'worker', 'workers')}, from request to last user readable${among(range, ' s')}`,
    `ceiling: 120 s per million; target: ${TARGET_SECONDS} s; less is better; includes the time to generate the body`,
    ...(median.cpu ? [`CPU µs per user: ${shares(median.cpu)}; load generator ${median.loadGeneratorCpu}`] : []),
  ];
  const extras = { users, workers, least: range[0], most: range[1], rounds };
  return { name: 'million', value, unit: 's', ceiling, ratio: rounded(value / ceiling, 3), notes, extras };
}

function growthResult(rounds: Round[], users: number): Result {
  const { median, range } = ranked(rounds, 'growth');
  const [ceiling, value] = [median.usersPerSecondByTenth[0], median.usersPerSecondByTenth.at(-1)] as [number, number];
  const notes = [
    `the last tenth of ${users} users${among(range, '')}; ceiling: the first tenth`,
    `target: a ratio of at least ${GROWTH_TARGET}`,
  ];
  const extras = { users, target: GROWTH_TARGET, least: range[0], most: range[1] };
  return { name: 'growth', value, unit: 'users/s', ceiling, ratio: median.growth, notes, extras };
}

/** The median round by that figure, with the least and the most of all rounds. */
function ranked(rounds: Round[], by: 'seconds' | 'growth'): { median: Round; range: [number, number] } {
  const values = rounds.map((round) => round[by]);
  const middle = percentile(values, 0.5);
  const median = rounds.find((round) => round[by] === middle) as Round;
  return { median, range: [Math.min(...values), Math.max(...values)] };
}

function among([least, most]: [number, number], unit: string): string {
  return least === most ? '' : `, median of ${ROUNDS} (${least} to ${most}${unit})`;
}
