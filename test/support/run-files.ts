/**
 * Runs test files: so many at once, each for at most so many milliseconds, in the order that its arguments list them.
 * TEST_TIMES=1 lists at the end how long each took.
 *
 * Ends with status 1 when a test failed. On a signal the tests that run are ended too.
 */
import { relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const [atOnce, mostMs, ...files] = process.argv.slice(2);
const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interruption.abort();
    process.exitCode = 130;
  });
}
const times: [file: string, seconds: number][] = [];
const events = run({ files, concurrency: Number(atOnce), timeout: Number(mostMs), signal: interruption.signal });
events.on('test:fail', () => {
  process.exitCode ??= 1;
});
events.on('test:summary', ({ file, duration_ms: ms }) => {
  if (file) times.push([relative('.', file), ms / 1000]);
});
const out = events.compose(new spec());
out.pipe(process.stdout);
out.on('end', () => {
  if (!process.env.TEST_TIMES) return;
  for (const [file, seconds] of times.sort(([, a], [, b]) => b - a)) console.log(`${seconds.toFixed(1)} s  ${file}`);
});
