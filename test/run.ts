/**
 * `npm test`: one PostgreSQL and one Redis for the whole run, then node's test runner.
 *
 * `npm test -- test/mail` runs a folder, `npm test -- test/mail/rule.test.ts` a file; options go to the runner.
 * The pipeline's tests run twice: on the embedded PostgreSQL and Redis, and on what the machine's distribution has, with its
 * settings: PostgreSQL and Valkey. TEST_STORES=embedded leaves the second time out.
 * Guarantee: what the machine lacks is named, and is a failure where TEST_REQUIRE names it. If we die here, the servers
 * end by themselves.
 */
import { globSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { relative, resolve } from 'node:path';
import { startDistributionServer } from './support/distribution.ts';
import { needsOf } from './support/needs.ts';
import { startTestServer } from './support/postgres.ts';
import { findProgram, LABELS, PROGRAMS, type ProgramName, required } from './support/programs.ts';
import { startRedis, type TestRedis } from './support/redis.ts';
import { type Runner, type RunnerOptions, startRunner } from './support/runner.ts';

/** Those that take longest, the longest first, so that no long one is begun at the end. */
const LONG = ['bench/bench', 'crash/', 'browser/', 'pipeline/', 'cli/', 'bench/', 'db/', 'start/', 'openapi/', 'mail/'];
/** What runs on a distribution's stores as well. */
const PIPELINE = /^test\/(?:pipeline|crash)\//;
/** Most tests wait most of the time: for a process to start, for a lock to run out. */
const AT_ONCE = Math.max(4, 2 * availableParallelism());
const AT_ONCE_AGAIN = Math.max(2, availableParallelism());

const args = process.argv.slice(2);
const options = args.filter((arg) => arg.startsWith('-'));
const files = filesOf(args.filter((arg) => !arg.startsWith('-')));
const needs = needsOf(files);
const pipeline = process.env.TEST_STORES === 'embedded' ? [] : files.filter((file) => PIPELINE.test(file));

const names = Object.keys(PROGRAMS) as ProgramName[];
const lacking = names.filter((name) => !findProgram(name));
const demanded = required().filter(
  (name) => !names.includes(name as ProgramName) || lacking.includes(name as ProgramName),
);
if (demanded.length > 0) {
  console.error(`TEST_REQUIRE asks for ${demanded.join(', ')}, which this machine lacks.`);
  process.exit(1);
}

function filesOf(paths: string[]): string[] {
  const patterns = paths.length > 0 ? paths : ['test'];
  const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory();
  const found = patterns.flatMap((path) => globSync(isFolder(path) ? `${path}/**/*.test.ts` : path));
  const rank = (file: string) =>
    (LONG.findIndex((part) => file.startsWith(`test/${part}`)) + LONG.length + 1) % (LONG.length + 1);
  return [...new Set(found.map((file) => relative('.', resolve(file))))].sort(
    (a, b) => rank(a) - rank(b) || (a < b ? -1 : 1),
  );
}

let interrupted = false;
const stopping: { stop(): Promise<void> }[] = [];
const runners: Runner[] = [];

function runFiles(how: Omit<RunnerOptions, 'options'>): Runner['ended'] {
  if (interrupted) return Promise.resolve({ code: 130, output: '' });
  const runner = startRunner({ ...how, options });
  runners.push(runner);
  return runner.ended;
}

/** Starts a server that is stopped with the run, where it is wanted. */
async function started<T extends { stop(): Promise<void> }>(
  wanted: unknown,
  start: () => Promise<T>,
): Promise<T | undefined> {
  if (!wanted) return undefined;
  const server = await start();
  stopping.push(server);
  return server;
}

const ofProgram = (name: 'redis' | 'valkey', wanted: boolean): Promise<TestRedis | undefined> => {
  const program = findProgram(name);
  return started(wanted && program, () => startRedis(program as string));
};

/** The pipeline again, on what the distribution has; its output is kept until the first run is over. */
async function startAgain(redis: TestRedis | undefined, embeddedUrl: string | undefined) {
  const [postgres, valkey] = await Promise.all([
    started(pipeline.length > 0 && findProgram('postgres'), startDistributionServer),
    ofProgram('valkey', pipeline.length > 0),
  ]);
  if (!postgres && !valkey) return undefined;
  const stores = [postgres && `PostgreSQL ${postgres.version} as it comes`, valkey && 'Valkey']
    .filter(Boolean)
    .join(', ');
  const env = {
    TEST_DATABASE_URL: postgres?.url ?? embeddedUrl,
    TEST_REDIS_URL: (valkey ?? redis)?.url,
    TEST_STORES_NAME: stores,
    ...(postgres ? { TEST_OWN_POSTGRES: 'distribution' } : {}),
    ...(valkey ? { TEST_OWN_REDIS: 'valkey' } : {}),
  };
  return { stores, ended: runFiles({ files: pipeline, atOnce: AT_ONCE_AGAIN, env, keepOutput: true }) };
}

async function runAll(): Promise<number> {
  if (files.length === 0) {
    console.error('There is no such test file.');
    return 1;
  }
  const [postgres, redis] = await Promise.all([
    started(needs.has('postgres'), startTestServer),
    ofProgram('redis', needs.has('redis')),
  ]);
  const again = startAgain(redis, postgres?.url);
  again.catch(() => {}); // it is thrown when the first run is over
  const env = { TEST_DATABASE_URL: postgres?.url, TEST_REDIS_URL: redis?.url };
  const { code: first } = await runFiles({ files, atOnce: AT_ONCE, env });
  const second = await again;
  if (!second) return first;
  const { code, output } = await second.ended;
  console.log(`\nThe pipeline on ${second.stores}:\n${output}`);
  return first || code;
}

// Ctrl-C reaches the runners too: they end, and then so do we. A signal to us alone is passed on.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interrupted = true;
    if (signal === 'SIGTERM') for (const runner of runners) runner.kill(signal);
  });
}
try {
  process.exitCode = await runAll();
} finally {
  await Promise.all(stopping.map((server) => server.stop()));
}
for (const name of lacking) console.log(`Skipped: what needs ${LABELS[name]}, which this machine lacks.`);
