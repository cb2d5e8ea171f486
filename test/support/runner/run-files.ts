/**
 * Runs test files: so many processes at once, each for at most so many milliseconds, in the order that its arguments list
 * them. TEST_TIMES=1 lists at the end how long each took.
 *
 * Ends with status 1 when a test failed. On a signal the tests that run are ended too.
 */
import { relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { runTogether } from './together.ts';

const [atOnce, mostMs, ...files] = process.argv.slice(2);
const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interruption.abort();
    process.exitCode = 130;
  });
}
const times: [file: string, seconds: number][] = [];
const events = run({
  files: runTogether(files),
  concurrency: Number(atOnce),
  timeout: Number(mostMs),
  signal: interruption.signal,
});
const noteTime = (name: string, ms: number) => times.push([relative('.', name), ms / 1000]);
events.on('test:pass', noteSuite);
events.on('test:fail', (test) => {
  process.exitCode ??= 1;
  noteSuite(test);
});
events.on('test:summary', ({ file, duration_ms: ms }) => {
  if (file) noteTime(file, ms);
});

/** One of several files of a process is a suite. */
function noteSuite({ name, nesting, details }: { name: string; nesting: number; details: { duration_ms: number } }) {
  if (nesting === 0 && files.includes(name)) noteTime(name, details.duration_ms);
}

const out = events.compose(new spec());
out.pipe(process.stdout);
out.on('end', () => {
  if (!process.env.TEST_TIMES) return;
  for (const [file, seconds] of times.sort(([, a], [, b]) => b - a)) console.log(`${seconds.toFixed(1)} s  ${file}`);
});
