/** A person's home folder, in which `muster login` stores its tokens, with nothing else in the environment. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Kept } from '../../src/cli/service/settings.ts';
import { type Finished, runMuster } from '../support/processes/muster.ts';
import {
  type MusterOptions,
  openTerminal,
  type Running,
  startMuster,
  type Terminal,
} from '../support/processes/terminal.ts';
import { waitFor } from '../support/wait.ts';

export interface Home {
  /** The environment, for other ways to start `muster`. */
  env: Record<string, string>;
  /** The path of the file that holds the tokens. */
  path: string;
  kept(): Promise<Kept>;
  muster(args: readonly string[], options?: MusterOptions): Promise<Finished>;
  start(args: readonly string[], options?: MusterOptions): Running;
  terminal(t: TestContext, args: readonly string[]): Terminal;
}

/** @param url of the service, as MUSTER_URL; without it commands go where the last login went */
export async function openHome(t: TestContext, url?: string): Promise<Home> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-home-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const env: Record<string, string> = { XDG_CONFIG_HOME: folder, ...(url ? { MUSTER_URL: url } : {}) };
  const path = join(folder, 'muster', 'credentials.json');
  const given = (options: MusterOptions = {}) => ({ ...options, env: { ...env, ...options.env } });
  return {
    env,
    path,
    kept: async () => JSON.parse(await readFile(path, 'utf8')) as Kept,
    muster: (args, options) => runMuster(args, given(options)),
    start: (args, options) => startMuster(args, given(options)),
    terminal: (t, args) => openTerminal(t, args, { env }),
  };
}

/** Waits for a text on standard error, where a running command prints its notes. */
export async function said(running: Running, what: RegExp): Promise<string> {
  const found = waitFor(() => what.exec(running.stderr()), { what: String(what) });
  const [all, part = all] = await found.catch((error: Error) => {
    throw new Error(`${error.message}; standard error:\n${running.stderr()}`);
  });
  return part;
}
