/**
 * One process at a time in a data folder.
 *
 * Each process that wants the folder first creates a file named after itself and then lists the files of the others.
 * Guarantee: of two processes, the one that wrote later sees the other's file, so they can never both have the folder;
 * of several that start at once, the first by name gets it.
 * On crash: our file stays, and the next process removes it, because no living process has its name.
 */
import { randomBytes } from 'node:crypto';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StartError } from '../../start-error.ts';
import { startedAt } from './process.ts';

export interface FolderLock {
  release(): Promise<void>;
}

const HELD = '.held';
/** lock-PID-START-RANDOM; a process id may be reused, but not together with its start time. */
const PATTERN = /^lock-(\d+)-(\w+)-[0-9a-f]{8}(\.held)?$/;

/**
 * Locks the folder.
 * @throws StartError naming the process that holds it
 */
export async function lockFolder(dir: string): Promise<FolderLock> {
  const me = `lock-${process.pid}-${await startWord(process.pid)}-${randomBytes(4).toString('hex')}`;
  const release = async () => {
    await rm(join(dir, me + HELD), { force: true });
    await rm(join(dir, me), { force: true });
  };
  await writeFile(join(dir, me), '');
  try {
    await untilAlone(dir, me);
    await writeFile(join(dir, me + HELD), '');
  } catch (error) {
    await release();
    throw error;
  }
  return { release };
}

async function untilAlone(dir: string, me: string): Promise<void> {
  for (;;) {
    const others = (await living(dir)).filter((name) => name !== me);
    if (others.length === 0) return;
    const winner = others.find((name) => name.endsWith(HELD) || name < me);
    if (winner) {
      const pid = PATTERN.exec(winner)?.[1];
      throw new StartError(
        `The data folder ${dir} is in use by process ${pid}: stop that one, or set DATA_DIR to another.`,
      );
    }
    // The others started later and will give up, or have the folder and are about to create their `.held` file.
    await sleep(5);
  }
}

/** The files of living processes; files of dead ones are removed. */
async function living(dir: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of await readdir(dir)) {
    const [, pid, start] = PATTERN.exec(name) ?? [];
    if (!pid) continue;
    if ((await startWord(Number(pid))) === start) found.push(name);
    else await rm(join(dir, name), { force: true });
  }
  return found;
}

async function startWord(pid: number): Promise<string> {
  return ((await startedAt(pid)) ?? 'gone').replace(/\W+/g, '_');
}
