/**
 * The soak: a service at the machine's limit, and samples of what must not grow.
 *
 * The load: bulk imports one after the other, some of whose users get mails; logins, failed logins, tokens, reset codes
 * and status polls at an even pace; event streams, a tenth of which nobody reads; and slow uploads. The service, its
 * workers, PostgreSQL and Redis are processes of their own.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Pool } from '../../src/platform/db/pool.ts';
import { claimPort } from '../../src/platform/lifecycle.ts';
import { WORKER_OPTIONS } from '../../src/start/v8-options.ts';
import { Skipped } from '../bench.ts';
import { UsageError } from '../command.ts';
import { hasProc } from '../machine/cpu.ts';
import type { Scope } from '../scope.ts';
import { startSink } from '../testbed/sink.ts';
import { redisVersion } from '../testbed/stores.ts';
import { type Service, type Stores, startService, startStores, startWorkers } from '../testbed/testbed.ts';
import { type Measured, readFigures } from './figures.ts';
import { addPeople, loadFigures, type Meter, type RunningLoad, startLoad } from './load.ts';
import type { Sampled } from './report.ts';

/** All calls come from one address. */
const UNLIMITED = { RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_LOGINS: '0' };
/**
 * Share of the run whose samples do not count: caches fill, and the first rows are removed. An ended import is gone
 * after some 140 seconds: it ages for 20, and is erased and removed in rounds of a minute.
 */
const WARM_UP = 0.4;
const SAMPLES = 120;
const LEAST_INTERVAL_MS = 250;

interface Soaked {
  /** After the warm-up. */
  samples: Sampled[];
  meters: Meter[];
  usersPerSecond: number;
  messages: number;
}

export async function soak(scope: Scope, options: SoakOptions, say: (line: string) => void): Promise<Soaked> {
  if (!hasProc()) throw new Skipped('this system has no /proc, from which memory and handles are read');
  if (!redisVersion()) throw new Skipped('redis-server is not on this machine');
  const stores = await startStores(scope, { redis: true });
  const { service, measured } = await startProcesses(scope, stores, options.workers);
  await addPeople(service);
  const ending = await scope.start(
    async () => new AbortController(),
    async (controller) => controller.abort(),
  );
  const { streams, users } = options;
  const load = await startLoad(scope, service, { token: stores.keys.token, streams, users, ending: ending.signal });
  say(`the load runs: ${streams} event streams, imports of ${users} users`);
  return sampled(options, load, { stores, measured, say, end: () => ending.abort() });
}

async function startProcesses(
  scope: Scope,
  stores: Stores,
  count: number,
): Promise<{ service: Service; measured: Measured }> {
  const sink = await startSink(scope);
  const service = await startService(scope, stores, 0, UNLIMITED);
  const started = await Promise.all(
    Array.from({ length: count }, async () => {
      const port = await claimPort('127.0.0.1', 0);
      const settings = { SMTP_URL: sink.url, HEALTH_PORT: String(port) };
      const [pid] = await startWorkers(scope, stores, 1, { settings, execArgv: [...WORKER_OPTIONS] });
      return { pid: pid as number, metrics: `http://127.0.0.1:${port}/metrics` };
    }),
  );
  const { postgres, redis } = stores.roles() as Record<'postgres' | 'redis', [number]>;
  const workers = started.map(({ pid }) => pid);
  return {
    service,
    measured: {
      pids: { api: service.apiPid, workers, postgres: postgres[0], redis: redis[0] },
      metrics: { api: `${service.baseUrl}/metrics`, workers: started.map(({ metrics }) => metrics) },
      pool: stores.pool,
    },
  };
}

interface Run {
  stores: Stores;
  measured: Measured;
  say(line: string): void;
  end(): void;
}

async function sampled(
  { minutes }: SoakOptions,
  load: RunningLoad,
  { stores, measured, say, end }: Run,
): Promise<Soaked> {
  const ms = minutes * 60_000;
  const interval = Math.max(LEAST_INTERVAL_MS, ms / SAMPLES);
  const start = performance.now();
  const passed = () => performance.now() - start;
  const samples: Sampled[] = [];
  // A short run lasts until each kind of call has been made once.
  while (passed() < ms || load.meters.some(({ done, failed }) => done + failed === 0)) {
    await sleep(interval);
    await passTime(stores.pool);
    const figures = { ...(await readFigures(measured)), ...loadFigures(load) };
    const seconds = passed() / 1000;
    if (passed() > WARM_UP * ms) samples.push({ seconds, figures });
    say(`${Math.round(seconds)} s: ${load.imports.users()} users, ${load.streams.open()} streams open`);
  }
  const usersPerSecond = Math.round((load.imports.users() / passed()) * 1000);
  end();
  return { samples, meters: load.meters, usersPerSecond, messages: load.streams.messages() };
}

const AGED_AFTER = `interval '20 seconds'`;
const YEARS = `interval '2 years'`;

/** Rows that passed AGED_AFTER, but have not been aged yet. */
function aged(column: string): string {
  return `${column} < now() - ${AGED_AFTER} and ${column} > now() - interval '1 day'`;
}

function ageBy(table: string, column: string): string {
  return `update ${table} set ${column} = ${column} - ${YEARS} where ${aged(column)}`;
}

const AGING = [
  // Unused codes of mails that are about to be removed have expired.
  `update codes c set expires_at = expires_at - ${YEARS} from mail_outbox m
   where m.code_id = c.id and c.expires_at > now() and ${aged('m.settled_at')}`,
  ageBy('mail_outbox', 'settled_at'),
  ageBy('codes', 'used_at'),
  ageBy('sessions', 'created_at'),
  ageBy('login_delays', 'last_failure_at'),
  ageBy('audit_events', 'created_at'),
  `update imports set finished_at = finished_at - ${YEARS} where state = 'succeeded' and ${aged('finished_at')}`,
  // An access token is valid for an hour.
  `update oauth_models set expires_at = now() where kind = 'ClientCredentials'
     and expires_at < now() + interval '1 hour' - ${AGED_AFTER} and expires_at > now()`,
];

/**
 * Lets time pass for what the service keeps: what is older than AGED_AFTER becomes older than it is ever kept, so that
 * the service's own sweeps remove it during the run. Tables that should shrink then stay as large as what is new.
 */
async function passTime(db: Pool): Promise<void> {
  for (const step of AGING) await db.query(step);
}

export interface SoakOptions {
  minutes: number;
  /** Event streams that are open at the same time. */
  streams: number;
  /** Users of each bulk import. */
  users: number;
  /** Worker processes. */
  workers: number;
  json: boolean;
}

/** @throws UsageError */
export function readSoakOptions(args: string[]): SoakOptions {
  const { json, minutes, streams, users, workers } = parsed(args);
  return {
    minutes: number('--minutes', minutes, { least: 0.05, most: 10_000 }),
    streams: whole('--streams', streams, { least: 1, most: 2500 }),
    users: whole('--users', users, { least: 10, most: 1_000_000 }),
    workers: whole('--workers', workers, { least: 1, most: 64 }),
    json,
  };
}

function parsed(args: string[]) {
  const options = {
    json: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '10' },
    streams: { type: 'string', default: '2000' },
    users: { type: 'string', default: '200000' },
    workers: { type: 'string', default: '1' },
  } as const;
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

interface Range {
  least: number;
  most: number;
}

function number(option: string, text: string, { least, most }: Range): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= least && value <= most) return value;
  throw new UsageError(`${option} takes a number from ${least} to ${most}, not "${text}".`);
}

function whole(option: string, text: string, range: Range): number {
  const value = number(option, text, range);
  if (Number.isInteger(value)) return value;
  throw new UsageError(`${option} takes a whole number, not "${text}".`);
}
