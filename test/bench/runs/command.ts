/** `npm run bench` and `npm run soak` as commands, with its own folder for all of its files. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

const BENCH = fileURLToPath(new URL('../../../bench/main.ts', import.meta.url));
export const SOAK = fileURLToPath(new URL('../../../bench/soak/main.ts', import.meta.url));

export interface Started {
  child: ChildProcess;
  /** The folder of all its files. */
  dir: string;
}

export async function start(
  t: TestContext,
  args: string[],
  env: Record<string, string> = {},
  main = BENCH,
): Promise<Started> {
  const dir = await mkdtemp(join(tmpdir(), 'muster-bench-test-'));
  await chmod(dir, 0o711);
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...process.env, TMPDIR: dir, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(async () => {
    if (child.exitCode === null && child.kill('SIGTERM')) await once(child, 'exit');
    await rm(dir, { recursive: true, force: true });
  });
  return { child, dir };
}

export async function run(t: TestContext, args: string[], env?: Record<string, string>, main?: string) {
  const { child, dir } = await start(t, args, env, main);
  const exited = once(child, 'exit');
  const [out, err] = await Promise.all([text(child.stdout as never), text(child.stderr as never)]);
  const [status] = await exited;
  return { status, out, err, dir };
}

export interface Line {
  name: string;
  value: number;
  unit: string;
  ceiling: number;
  ratio: number;
  [extra: string]: unknown;
}

export async function runJson(
  t: TestContext,
  args: string[],
  env?: Record<string, string>,
): Promise<Map<string, Line>> {
  const { status, out, err, dir } = await run(t, [...args, '--json'], env);
  assert.equal(status, 0, err);
  assert.deepEqual(await readdir(dir), [], 'nothing is left in the folder for temporary files');
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  for (const line of lines) {
    assert.deepEqual(Object.keys(line).slice(0, 5), ['name', 'value', 'unit', 'ceiling', 'ratio']);
  }
  return new Map(lines.map((line) => [line.name, line]));
}

export function assertMeasured(line: Line | undefined, unit: string): asserts line is Line {
  assert.ok(line);
  assert.equal(line.unit, unit);
  assert.ok(line.value > 0 && line.ceiling > 0, JSON.stringify(line));
  assert.ok(Math.abs(line.ratio - line.value / line.ceiling) < 0.001, JSON.stringify(line));
}
