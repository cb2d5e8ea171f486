import { link, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { type Holder, mayRun, ourselves } from '../service/lock.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
/**
 * What a pull remembers between its runs: how far it read, what it sent, and when the last complete run began.
 *
 * Guarantee: the file is replaced as a whole, only its owner can read it, and it contains no secret and no user.
 * On crash: the old file or the new one; the next run continues from it.
 */

export interface PullState {
  version: 1;
  /** What the users come from and where they go: the state fits no other pull. */
  from: string;
  to: string;
  /** The run that has not ended; undefined between runs. */
  run?: PullRun | undefined;
  /** The last run that ended. */
  last?: { startedAt: string; mark?: string | undefined } | undefined;
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
  bytes?: number | undefined;
}

/** The path of the fingerprints that belong to a state file. */
export function sentPath(path: string): string {
  return `${path}.sent`;
}

/** @throws Failure (usage) when it is damaged, or belongs to another pull */
export async function readState(path: string, { from, to }: Pick<PullState, 'from' | 'to'>): Promise<PullState> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new Failure(`The state file cannot be read: ${error.message}.`, { exitCode: EXIT.usage });
  });
  if (text === undefined) return { version: 1, from, to };
  const state = parsed(text);
  const advice = 'Name another file with --state, or start again with --restart.';
  if (state?.version !== 1)
    throw new Failure(`${path} is not a state file of muster pull.`, { exitCode: EXIT.usage, advice });
  if (state.from === from && state.to === to) return state;
  const other =
    state.from === from ? `goes to ${state.to}, this one to ${to}` : `reads ${state.from}, this one ${from}`;
  throw new Failure(`${path} belongs to another pull, which ${other}.`, { exitCode: EXIT.usage, advice });
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
    throw new Failure(`The state file cannot be written: ${(error as Error).message}.`, { exitCode: EXIT.usage });
  }
}

export async function removeState(path: string): Promise<void> {
  await Promise.all([rm(path, { force: true }), rm(sentPath(path), { force: true })]);
}

/**
 * Keeps a state file to one pull at a time: two would both send what the other sends, and overwrite its place.
 *
 * Guarantee: of the pulls on one machine, one at a time has the lock.
 * On crash: the lock of a process that has ended is taken over by the next run, also when another process has its id by then.
 */

export interface Lock {
  release(): Promise<void>;
}

interface Claim extends Holder {
  since: string;
}

/** @param statePath of the state file; its folder exists @throws Failure when another pull uses it */
export async function lockState(statePath: string): Promise<Lock> {
  const path = `${statePath}.lock`;
  const mine = JSON.stringify({ ...(await ourselves()), since: new Date().toISOString() } satisfies Claim);
  const fresh = `${path}.${process.pid}`;
  try {
    // A link appears with its content, so nobody reads half a lock.
    await writeFile(fresh, mine, { mode: 0o600 });
    if (!(await linked(fresh, path))) {
      const found = await textOf(path);
      const holder = holderOf(found);
      if (found !== undefined && (holder === undefined || (await isHeld(holder)))) throw inUse(statePath, path, holder);
      if (found !== undefined) await removeDead(path, found);
      if (!(await linked(fresh, path))) throw inUse(statePath, path, holderOf(await textOf(path)));
    }
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(`The state file cannot be locked: ${(error as Error).message}.`, { exitCode: EXIT.usage });
  } finally {
    await rm(fresh, { force: true });
  }
  return {
    async release() {
      if ((await textOf(path)) === mine) await rm(path, { force: true });
    },
  };
}

/** False if there is a lock already. */
async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function textOf(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

function holderOf(text: string | undefined): Claim | undefined {
  try {
    const { pid, host, since, started } = JSON.parse(text ?? '') as Partial<Claim>;
    if (typeof pid !== 'number' || host === undefined || since === undefined) return undefined;
    return { pid, host, since, started };
  } catch {
    return undefined;
  }
}

/** A lock of an earlier version with our own number is that of a process before us, as in a container. */
async function isHeld(claim: Claim): Promise<boolean> {
  const { pid, host } = await ourselves();
  if (claim.started === undefined && claim.pid === pid && claim.host === host) return false;
  return mayRun(claim);
}

/** Two may find the same dead lock: what is moved away and is not it was taken meanwhile, and goes back. */
async function removeDead(path: string, dead: string): Promise<void> {
  const aside = `${path}.${process.pid}.dead`;
  try {
    await rename(path, aside);
    if ((await textOf(aside)) !== dead) await linked(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  } finally {
    await rm(aside, { force: true });
  }
}

function inUse(statePath: string, path: string, holder: Claim | undefined): Failure {
  const who = holder ? ` (process ${holder.pid} on ${holder.host}, since ${holder.since})` : '';
  return new Failure(`Another muster pull uses the state file ${statePath}${who}.`, {
    exitCode: EXIT.failed,
    advice: `Wait until it ends, or stop it. If it no longer runs, delete ${path}.`,
  });
}
