/** The programs that generate clients or send requests, as `tools/` pins them. */
import { readFileSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { installed, run } from '../../../bench/testbed/programs.ts';
import { findProgram } from '../../support/runner/programs.ts';

const PINS = resolve('test/contract/clients/tools');
const pinsOf = (file: string) => readFileSync(join(PINS, file));

/**
 * The folder of the npm packages; their programs are in `node_modules/.bin`.
 * @param name of the folder: files that run at the same time have one each
 */
export function npmTools(name: 'npm' | 'zitadel'): Promise<string> {
  return installed(`clients/${name}`, pinsOf('package-lock.json'), async (folder) => {
    for (const file of ['package.json', 'package-lock.json']) await copyFile(join(PINS, file), join(folder, file));
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], folder);
  });
}

/** The folder of the Python packages of a file of `tools/`; their programs are in `bin`. */
export function pythonTools(pins: 'generators.txt' | 'schemathesis.txt'): Promise<string> {
  return installed('clients/python', pinsOf(pins), async (folder) => {
    await run(findProgram('python') as string, ['-m', 'venv', folder], PINS);
    await run(join(folder, 'bin/pip'), ['install', '--quiet', '--require-hashes', '-r', join(PINS, pins)], PINS);
  });
}
