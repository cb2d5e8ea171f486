/**
 * Runs test files in the order of its arguments, with a given number of processes at once and a time limit for each.
 * TEST_TIMES=1 prints at the end how long each took.
 *
 * Exit code 1: a test failed. A signal also ends the running tests.
 */
import { relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { NEW_SPACE } from '../processes/base-env.ts';
import { runTogether } from './together.ts';

const [atOnce, mostMs, ...files] = process.argv.slice(2);
const interruption = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    interruption.abort();
    process.exitCode = 130;
  });
}
/** Addresses of files, which have no spaces. */
const preloads = process.env.TEST_NODE_OPTIONS?.split(' ') ?? [];
const times: [file: string, seconds: number][] = [];
const events = run({
  files: runTogether(files),
  concurrency: Number(atOnce),
  execArgv: [NEW_SPACE, `--import=${new URL('./end.ts', import.meta.url)}`, ...preloads],
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

/** A file is a suite if its process runs several files. */
function noteSuite({ name, nesting, details }: { name: string; nesting: number; details: { duration_ms: number } }) {
  if (nesting === 0 && files.includes(name)) noteTime(name, details.duration_ms);
}

const out = events.compose(new spec());
out.pipe(process.stdout);
out.on('end', () => {
  if (!process.env.TEST_TIMES) return;
  for (const [file, seconds] of times.sort(([, a], [, b]) => b - a)) console.log(`${seconds.toFixed(1)} s  ${file}`);
});
