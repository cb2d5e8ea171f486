/**
 * The soak: a service at the machine's limit, and samples of what must not grow.
 *
 * The load: bulk imports one after the other, some of whose users get mails; logins, failed logins, tokens, reset codes
 * and status polls at an even pace; event streams, a tenth of which nobody reads; and slow uploads. The service, its
 * workers, PostgreSQL and Redis are processes of their own.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { claimPort } from '../../src/platform/lifecycle.ts';
import { WORKER_OPTIONS } from '../../src/start/v8-options.ts';
import { Skipped } from '../bench.ts';
import { hasProc } from '../machine/cpu.ts';
import type { Scope } from '../scope.ts';
import { redisVersion } from '../testbed/redis.ts';
import { startSink } from '../testbed/sink.ts';
import { type Service, type Stores, startService, startStores } from '../testbed/testbed.ts';
import { startWorkers } from '../testbed/workers-apart.ts';
import { addPeople, startCalls } from './calls.ts';
import { type Figures, type Measured, readFigures } from './figures.ts';
import { startImports } from './imports.ts';
import { Meter } from './meter.ts';
import type { SoakOptions } from './options.ts';
import { passTime } from './pass-time.ts';
import type { Sampled } from './report.ts';
import { startSlowUploads } from './slow-uploads.ts';
import { startStreams } from './streams.ts';

/** All calls come from one address. */
const UNLIMITED = { RATE_LIMIT_REQUESTS: '0', RATE_LIMIT_LOGINS: '0' };
/**
 * Share of the run whose samples do not count: caches fill, and the first rows are removed. An ended import is gone
 * after some 140 seconds: it ages for 20, and is erased and removed in rounds of a minute.
 */
const WARM_UP = 0.4;
const SAMPLES = 120;
const LEAST_INTERVAL_MS = 250;

export interface Soaked {
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
  const load = await startLoad(scope, service, stores.keys.token, options, ending.signal);
  say(`the load runs: ${options.streams} event streams, imports of ${options.users} users`);
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

async function startLoad(scope: Scope, service: Service, token: string, options: SoakOptions, ending: AbortSignal) {
  const { client, orgId, baseUrl } = service;
  const importing = new Meter('import');
  const imports = await startImports({ client, orgId, users: options.users, ending }, importing);
  const calls = await startCalls({ scope, service, imports, ending });
  const streams = startStreams({ baseUrl, token, count: options.streams, imports, ending });
  const slow = startSlowUploads({ client, orgId, ending });
  return { imports, calls, streams, meters: [importing, ...Object.values(calls), streams.meter, slow] };
}

interface Run {
  stores: Stores;
  measured: Measured;
  say(line: string): void;
  end(): void;
}

async function sampled(
  { minutes }: SoakOptions,
  load: Awaited<ReturnType<typeof startLoad>>,
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

function loadFigures({ calls, streams }: Awaited<ReturnType<typeof startLoad>>): Figures {
  const figures: Figures = { 'open streams': streams.open() };
  for (const meter of [calls.login, calls.poll]) {
    const { p50, p99 } = meter.takeTimes();
    figures[`p50 ${meter.name}`] = p50;
    figures[`p99 ${meter.name}`] = p99;
  }
  return figures;
}
