/**
 * The programs that generate clients or send requests, installed in `node_modules/.cache/clients` as `tools/` pins them.
 *
 * Guarantee: an installation is used only when it is complete and of the pinned versions. Each test file has
 * installations of its own, so files that run at the same time do not disturb each other.
 * On crash: an incomplete installation is removed by the next run.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../../support/runner/programs.ts';

const PINS = resolve('test/openapi/clients/tools');
const CACHE = resolve('node_modules/.cache/clients');
/** Far more than downloads of 100 MB and thousands of requests take on a busy machine. */
const LIMITS = { timeout: 1_200_000, maxBuffer: 2 ** 26 };

/** Runs a program, and returns what it wrote to stdout. @throws Error with its output when it fails */
export async function run(file: string, args: readonly string[], cwd: string, env: Record<string, string> = {}) {
  const options = { ...LIMITS, cwd, env: { ...process.env, ...env } };
  return promisify(execFile)(file, [...args], options).then(
    ({ stdout }) => stdout,
    ({ message, stdout, stderr }) => {
      throw new Error(`${message}\n${stdout}\n${stderr}`);
    },
  );
}

/** The folder of the npm packages; their programs are in `node_modules/.bin`. */
export function npmTools(): Promise<string> {
  return installed('npm', 'package-lock.json', async (folder) => {
    for (const file of ['package.json', 'package-lock.json']) await copyFile(join(PINS, file), join(folder, file));
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], folder);
  });
}

/** The folder of the Python packages of a file of `tools/`; their programs are in `bin`. */
export function pythonTools(pins: 'generators.txt' | 'schemathesis.txt'): Promise<string> {
  return installed('python', pins, async (folder) => {
    await run(findProgram('python') as string, ['-m', 'venv', folder], PINS);
    await run(join(folder, 'bin/pip'), ['install', '--quiet', '--require-hashes', '-r', join(PINS, pins)], PINS);
  });
}

async function installed(name: string, pins: string, install: (folder: string) => Promise<void>): Promise<string> {
  const digest = createHash('sha256').update(readFileSync(join(PINS, pins)));
  const folder = join(CACHE, `${name}-${digest.digest('hex').slice(0, 12)}`);
  const done = join(folder, 'complete');
  if (existsSync(done)) return folder;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await install(folder);
  await writeFile(done, '');
  return folder;
}
