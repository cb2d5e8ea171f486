/**
 * `npm test`: one PostgreSQL and one Redis for the whole run, then node's test runner.
 *
 * `npm test -- test/mail` runs a folder, `npm test -- test/mail/rule.test.ts` a file; options go to the runner.
 * Guarantee: what the machine lacks is named, and is a failure where TEST_REQUIRE names it. If we die here, both
 * servers end by themselves.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { startTestServer } from './support/postgres.ts';
import { findProgram, PROGRAMS, type ProgramName, required } from './support/programs.ts';
import { startRedis } from './support/redis.ts';

/** Every test file and every service under test is a process of its own: what one has compiled the next need not. */
const COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/node', import.meta.url));

const names = Object.keys(PROGRAMS) as ProgramName[];
const lacking = names.filter((name) => !findProgram(name));

function patterns(args: string[]): string[] {
  const paths = args.filter((arg) => !arg.startsWith('-'));
  if (paths.length === 0) return ['test/**/*.test.ts'];
  return paths.map((path) =>
    statSync(path, { throwIfNoEntry: false })?.isDirectory() ? `${path}/**/*.test.ts` : path,
  );
}

/** No file takes a tenth of it; what hangs is named and fails instead of holding the run. */
const MOST_MS = 600_000;

let interrupted = false;
let runner: ChildProcess | undefined;
// Ctrl-C reaches the runner too: it ends, and then so do we. A signal to us alone is passed on.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interrupted = true;
    if (signal === 'SIGTERM') runner?.kill(signal);
  });
}

async function runTests(env: Record<string, string | undefined>): Promise<number> {
  const args = process.argv.slice(2);
  const options = args.filter((arg) => arg.startsWith('-'));
  const concurrency = `--test-concurrency=${Math.max(2, availableParallelism())}`;
  runner = spawn(
    process.execPath,
    ['--test', concurrency, `--test-timeout=${MOST_MS}`, ...options, ...patterns(args)],
    {
      stdio: 'inherit',
      env: { NODE_COMPILE_CACHE: COMPILE_CACHE, ...process.env, ...env },
    },
  );
  const [code] = await once(runner, 'exit');
  return code ?? 130;
}

const demanded = required().filter(
  (name) => !names.includes(name as ProgramName) || lacking.includes(name as ProgramName),
);
if (demanded.length > 0) {
  console.error(`TEST_REQUIRE asks for ${demanded.join(', ')}, which this machine lacks.`);
  process.exit(1);
}
const postgres = await startTestServer();
const redisProgram = findProgram('redis');
const redis = redisProgram ? await startRedis(redisProgram) : undefined;
try {
  const stores = { TEST_DATABASE_URL: postgres.url, TEST_REDIS_URL: redis?.url };
  process.exitCode = interrupted ? 130 : await runTests(stores);
} finally {
  await redis?.stop();
  await postgres.stop();
}
for (const name of lacking) console.log(`Skipped: what needs ${PROGRAMS[name]}, which this machine lacks.`);
