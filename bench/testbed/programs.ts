/**
 * Programs that benches and tests run: those of the machine, and those that they install from package registries in
 * `node_modules/.cache`.
 *
 * Guarantee: an installation is used only when it is complete and of the pinned versions. Each name has a folder of its
 * own, so files that run at the same time do not disturb each other if they use different names.
 * On crash: an incomplete installation is removed by the next run.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const CACHE = resolve('node_modules/.cache');
/** Far more than downloads of 100 MB and thousands of requests take on a busy machine. */
const LIMITS = { timeout: 1_200_000, maxBuffer: 2 ** 26 };

/**
 * Runs a program, and returns what it wrote to stdout.
 * @param signal ends it
 * @throws Error with its output when it fails
 */
export async function run(
  file: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
  signal?: AbortSignal,
) {
  const options = { ...LIMITS, cwd, env: { ...process.env, ...env }, ...(signal ? { signal } : {}) };
  return promisify(execFile)(file, [...args], options).then(
    ({ stdout }) => stdout,
    ({ message, stdout, stderr }) => {
      throw new Error(`${message}\n${stdout}\n${stderr}`);
    },
  );
}

/**
 * The folder that `install` filled, in this run or in an earlier one.
 * @param name of the folder in the cache
 * @param pins text with all versions: another text is another installation
 */
export async function installed(
  name: string,
  pins: string | Buffer,
  install: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = resolve(CACHE, `${name}-${createHash('sha256').update(pins).digest('hex').slice(0, 12)}`);
  const done = resolve(folder, 'complete');
  if (existsSync(done)) return folder;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await install(folder);
  await writeFile(done, '');
  return folder;
}

/**
 * The path of the first of these programs that is in a folder of PATH.
 * @param folders searched before and after those of PATH
 */
export function findExecutable(
  files: string[],
  { before = [], after = [] }: { before?: string[]; after?: string[] } = {},
): string | undefined {
  const folders = [...before, ...(process.env.PATH ?? '').split(delimiter), ...after];
  return files.flatMap((file) => folders.map((folder) => join(folder, file))).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
