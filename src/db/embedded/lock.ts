/**
 * One process at a time in a data folder.
 *
 * Each process that wants the folder first leaves a file named after itself and then looks who else did. Guarantee: of
 * two, the one that wrote later sees the other, so both can never have the folder; of those that come at once the first
 * by name gets it. If we die here our file stays and is removed by the next one: no living process bears its name.
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
/** lock-PID-START-RANDOM; process ids are used again, start times with them are not. */
const PATTERN = /^lock-(\d+)-(\w+)-[0-9a-f]{8}(\.held)?$/;

/**
 * Takes the folder.
 * @throws StartError naming the process that has it
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
    // They came later and go again, or have the folder and are about to say so.
    await sleep(5);
  }
}

/** Files of living processes; those of dead ones are removed. */
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
