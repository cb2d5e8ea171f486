/**
 * The state file of a pull, what it remembers between its runs: how far it read, what it sent, and when the last complete
 * run began. A lock beside it keeps it to one pull at a time.
 *
 * Guarantee: the file is replaced as a whole, only its owner can read it, and it contains no secret and no user.
 * On crash: the old file or the new one; the next run continues from it.
 */
import { open, readFile, rename, rm } from 'node:fs/promises';
import { type Lock, takeLock } from '../service/lock.ts';
import { EXIT, Failure, wrongUsage } from '../terminal/failure.ts';

export interface PullState {
  version: 1;
  /** What the users come from and where they go: the state fits no other pull. */
  from: string;
  to: string;
  /** The run that has not ended; undefined between runs. */
  run?: PullRun | undefined;
  /** The last run that ended. */
  last?: { startedAt: string; mark?: string | undefined };
}

export interface PullRun {
  startedAt: string;
  /** Only users that changed since then were asked for. */
  since?: string | undefined;
  /** Users up to here are sent, or saved. */
  cursor?: string | undefined;
  /** Users read up to the cursor. */
  read: number;
  /** Imports of this run. */
  imports: string[];
  /** The import whose users are stored by the service but that had not ended. */
  open?: string | undefined;
  /** Bytes of the saved file up to the cursor. */
  bytes?: number;
}

/** The path of the fingerprints that belong to a state file. */
export function sentPath(path: string): string {
  return `${path}.sent`;
}

/** @throws Failure (usage) when it is damaged, or belongs to another pull */
export async function readState(path: string, { from, to }: Pick<PullState, 'from' | 'to'>): Promise<PullState> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw wrongUsage(`The state file cannot be read: ${error.message}.`);
  });
  if (text === undefined) return { version: 1, from, to };
  const state = parsed(text);
  const advice = 'Name another file with --state, or start again with --restart.';
  if (state?.version !== 1) throw wrongUsage(`${path} is not a state file of muster pull.`, advice);
  if (state.from === from && state.to === to) return state;
  const other =
    state.from === from ? `goes to ${state.to}, this one to ${to}` : `reads ${state.from}, this one ${from}`;
  throw wrongUsage(`${path} belongs to another pull, which ${other}.`, advice);
}

function parsed(text: string): PullState | undefined {
  try {
    return JSON.parse(text) as PullState;
  } catch {
    return undefined;
  }
}

/** The state, whichever pull it belongs to; undefined when there is none. */
export async function peekState(path: string): Promise<PullState | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  return text === undefined ? undefined : parsed(text);
}

/** @throws Failure when it cannot be written */
export async function writeState(path: string, state: PullState): Promise<void> {
  const fresh = `${path}.${process.pid}`;
  try {
    const file = await open(fresh, 'w', 0o600);
    try {
      await file.writeFile(`${JSON.stringify(state, null, 2)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw wrongUsage(`The state file cannot be written: ${(error as Error).message}.`);
  }
}

export async function removeState(path: string): Promise<void> {
  await Promise.all([rm(path, { force: true }), rm(sentPath(path), { force: true })]);
}

/**
 * Keeps a state file to one pull at a time: two would both send what the other sends, and overwrite its place.
 * @param path of the state file; its folder exists
 * @throws Failure when another pull uses it
 */
export async function lockState(path: string): Promise<Lock> {
  const { lock, holder } = await takeLock(path).catch((error: Error) => {
    throw wrongUsage(`The state file cannot be locked: ${error.message}.`);
  });
  if (lock) return lock;
  const who = holder ? ` (process ${holder.pid} on ${holder.host}, since ${holder.since})` : '';
  throw new Failure(`Another muster pull uses the state file ${path}${who}.`, {
    exitCode: EXIT.failed,
    advice: `Wait until it ends, or stop it. If it no longer runs, delete ${path}.lock.`,
  });
}
