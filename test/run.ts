/**
 * `npm test`: one PostgreSQL and one Redis for the whole run, then node's test runner.
 *
 * `npm test -- test/messages` runs a folder, `npm test -- test/messages/mail/relay.test.ts` a file; options go to the runner.
 * Without a path, the pipeline's tests run with the queue on Redis only, if there is one, and what has a command
 * of its own (benches, alerts, generated clients, chart, packages, upgrade, groups of Redis servers) does not run.
 * `npm run test:stores` runs the pipeline's tests with both queues, on the stores of the machine's distribution and with
 * its settings: PostgreSQL and, where it is packaged, Valkey.
 * `npm run test:story` runs a whole move in the console with 50,000 users instead of 3,000, and with both queues.
 * `npm run test:unbatched` runs those of the pipeline's tests that run with each queue, with `QUEUE_BATCHING=off`: the
 * setting changes only how jobs are added, taken and completed.
 * `npm run test:pooled` runs the pipeline's tests with a PgBouncer in transaction mode before each database.
 *
 * Guarantee: missing programs are named, and fail the run if TEST_REQUIRE names them.
 *
 * On crash: the servers end on their own.
 */
import { globSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { bundlePrograms } from './support/runner/bundle.ts';
import { needsOf } from './support/runner/needs.ts';
import { findProgram, LABELS, PROGRAMS, type ProgramName, required } from './support/runner/programs.ts';
import { type Runner, startRunner } from './support/runner/runner.ts';
import { startDistributionServer } from './support/stores/distribution.ts';
import { startTestServer } from './support/stores/postgres.ts';
import { startRedis, type TestRedis } from './support/stores/redis.ts';

/** What takes long or needs the network: each has a command of its own. */
const APART = [
  ...['test/bench/runs/', 'test/operate/runs/', 'test/contract/clients/', 'test/deploy/chart/', 'test/deploy/image/'],
  ...['test/packages/', 'test/upgrade/', 'test/signin/providers/servers/'],
];
/** The slowest tests, the slowest first, so that no long test starts at the end. */
const LONG = [
  ...['console/', 'crash/', 'imports/queue/', 'browser/', 'ways/', 'pipeline/', 'platform/db/', 'cli/', 'contract/'],
  ...['start/', 'bench/', 'sources/', 'messages/', 'roles/'],
];
/** Groups of Redis servers, for `npm run test:stores`. */
const GROUPS = 'test/imports/queue/servers/';
/**
 * What runs on a distribution's stores: the pipeline, the console that shows it, its trace, the plans of its statements,
 * and groups of Redis servers.
 */
const PIPELINE = [
  ...['test/pipeline', 'test/crash', 'test/console/imports.test.ts', 'test/operate/trace.test.ts'],
  ...['test/platform/db/plans.test.ts', GROUPS],
];
/** Most tests spend most of their time waiting: for a process to start, for a lock to expire. */
const AT_ONCE = Math.max(4, 3 * availableParallelism());
/** The number of services for which PostgreSQL's default of 100 connections is enough. */
const AT_ONCE_ON_DISTRIBUTION = 2;

const [DISTRIBUTION, UNBATCHED, POOLED] = ['--distribution', '--unbatched', '--pooled'];
const args = process.argv.slice(2);
const onDistribution = args.includes(DISTRIBUTION);
const isUnbatched = args.includes(UNBATCHED);
const isPooled = args.includes(POOLED);
const options = args.filter((arg) => arg.startsWith('-') && ![DISTRIBUTION, UNBATCHED, POOLED].includes(arg));
const paths = args.filter((arg) => !arg.startsWith('-'));
/** No path is given. */
const isWhole = paths.length === 0 && !isUnbatched && !isPooled;
/** Every test of the service runs, and with the options of the runner that collect errors. */
const isComplete = isWhole && !onDistribution && options.length === 0 && findProgram('redis') !== undefined;
const files = isUnbatched ? filesOf(['test/pipeline']).filter(isOnEachQueue) : filesOf(chosenPaths());
const needs = needsOf(files);

const names = Object.keys(PROGRAMS) as ProgramName[];
const lacking = names.filter((name) => !findProgram(name));
const demanded = [...required(), ...(isPooled ? ['pgbouncer'] : [])].filter(
  (name) => !names.includes(name as ProgramName) || lacking.includes(name as ProgramName),
);
if (demanded.length > 0) {
  console.error(`This run needs ${demanded.join(', ')}, not found on this machine.`);
  process.exit(1);
}

function chosenPaths(): string[] {
  if (isPooled && paths.length === 0) return ['test/pipeline'];
  if (!isWhole) return paths;
  return onDistribution ? PIPELINE : ['test'];
}

/** By its use of `onEachBackend` (support/processes/service.ts). */
function isOnEachQueue(file: string): boolean {
  return readFileSync(file, 'utf8').includes('onEachBackend(');
}

function filesOf(patterns: string[]): string[] {
  const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory();
  const found = patterns
    .flatMap((path) => globSync(isFolder(path) ? `${path}/**/*.test.ts` : path))
    .filter((file) => !isWhole || onDistribution || ![...APART, GROUPS].some((folder) => file.startsWith(folder)));
  for (const part of LONG) {
    if (!isFolder(`test/${part}`)) throw new Error(`There are no tests in test/${part}, which LONG names.`);
  }
  const rank = (file: string) =>
    (LONG.findIndex((part) => file.startsWith(`test/${part}`)) + LONG.length + 1) % (LONG.length + 1);
  return [...new Set(found.map((file) => relative('.', resolve(file))))].sort(
    (a, b) => rank(a) - rank(b) || (a < b ? -1 : 1),
  );
}

const stopping: { stop(): Promise<void> }[] = [];
let interrupted = false;
let runner: Runner | undefined;

/** Starts a server, if wanted, that stops with the run. */
async function started<T extends { stop(): Promise<void> }>(
  wanted: unknown,
  start: () => Promise<T>,
): Promise<T | undefined> {
  if (!wanted) return undefined;
  const server = await start();
  stopping.push(server);
  return server;
}

const ofProgram = (program: string | undefined): Promise<TestRedis | undefined> =>
  started(program && needs.has('redis'), () => startRedis(program as string));

/** The stores of the tests, as environment variables. */
async function startStores(): Promise<Record<string, string | undefined>> {
  const [postgres, redis] = await Promise.all([
    started(needs.has('postgres'), startTestServer),
    ofProgram(findProgram('redis')),
  ]);
  return {
    TEST_DATABASE_URL: postgres?.url,
    TEST_REDIS_URL: redis?.url,
    ...(isWhole && redis ? { TEST_BACKENDS: 'redis' } : {}),
  };
}

/** The same with the distribution's stores; the usual ones replace those that the machine lacks. */
async function startDistribution(): Promise<Record<string, string | undefined>> {
  const valkeyServer = findProgram('valkey');
  const postgres = await started(findProgram('postgres'), startDistributionServer);
  const [embedded, redis] = await Promise.all([
    started(!postgres, startTestServer),
    ofProgram(valkeyServer ?? findProgram('redis')),
  ]);
  const names = [postgres && `PostgreSQL ${postgres.version} with default settings`, valkeyServer && 'Valkey'];
  return {
    TEST_DATABASE_URL: (postgres ?? embedded)?.url,
    TEST_REDIS_URL: redis?.url,
    TEST_STORES_NAME: names.filter(Boolean).join(', ') || 'usual stores',
    ...(postgres ? { TEST_OWN_POSTGRES: 'distribution' } : {}),
    ...(valkeyServer ? { TEST_OWN_REDIS: 'valkey' } : {}),
  };
}

async function runAll(): Promise<number> {
  if (files.length === 0) {
    console.error('No test file matches the arguments.');
    return 1;
  }
  const env = await (onDistribution ? startDistribution() : startStores());
  if (isUnbatched) env.QUEUE_BATCHING = 'off';
  if (isPooled) env.TEST_POOLED = 'yes';
  if (isWhole || isUnbatched || isPooled) env.TEST_BUNDLES = await bundlePrograms();
  if (interrupted) return 130;
  const folder = mkdtempSync(join(tmpdir(), 'muster-errors-'));
  const errorsFile = join(folder, 'errors');
  try {
    writeFileSync(errorsFile, '');
    const atOnce = onDistribution ? AT_ONCE_ON_DISTRIBUTION : AT_ONCE;
    runner = startRunner({ files, options, atOnce, env, errorsFile });
    return (await runner.ended) || (await checkErrors(readFileSync(errorsFile, 'utf8')));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Names errors that operations answered and do not list, and after a complete run those that no test has seen.
 * TEST_ERRORS names a file to which the answered ones are appended.
 */
async function checkErrors(seen: string): Promise<number> {
  if (process.env.TEST_ERRORS) writeFileSync(process.env.TEST_ERRORS, seen, { flag: 'a' });
  // Loads the contract, so not before it is needed.
  const { problemsOf } = await import('./support/runner/seen-errors.ts');
  const problems = problemsOf(seen, { isWhole: isComplete });
  for (const problem of problems) console.error(problem);
  return problems.length > 0 ? 1 : 0;
}

// Ctrl-C reaches the runner too: it ends, and then this process does. A signal to this process alone is passed on.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interrupted = true;
    if (signal === 'SIGTERM') runner?.kill(signal);
  });
}
try {
  process.exitCode = await runAll();
} finally {
  await Promise.all(stopping.map((server) => server.stop()));
}
for (const name of lacking) console.log(`Skipped: tests that need ${LABELS[name]}, not found on this machine.`);
