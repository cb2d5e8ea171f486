/**
 * Keeps a state file to one pull at a time: two would both send what the other sends, and overwrite its place.
 *
 * Guarantee: of the pulls on one machine, one at a time has the lock.
 * On crash: the lock of a process that has ended is taken over by the next run, also when another process has its id by then.
 */
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { type Holder, mayRun, ourselves } from '../service/holder.ts';
import { EXIT, Failure } from '../terminal/failure.ts';

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
