/**
 * The folder of a run: the stores' data, and what explains a problem.
 *
 * The stores' files are on a disk of their own, which can be made full, where this process may mount one.
 *
 * On crash: the disk stays mounted until the machine restarts; `umount` ends it.
 */
import { chmod, cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mountSmallDisk, type SmallDisk } from '../test/support/stores/small-disk.ts';
import type { Problem } from './client/sent.ts';
import type { Plan } from './plan/plan.ts';
import type { Stand } from './stand/stand.ts';

export interface Folder {
  dir: string;
  disk?: SmallDisk;
}

/** More than the files of 200 rounds take. */
const DISK_MEGABYTES = 8192;

export async function makeFolder(): Promise<Folder> {
  const dir = await mkdtemp(join(tmpdir(), 'muster-chaos-'));
  // As root, we run PostgreSQL as another user, which must reach its folder inside this one.
  await chmod(dir, 0o711);
  const disk = await mountSmallDisk(join(dir, 'disk'), DISK_MEGABYTES);
  return { dir, ...(disk ? { disk } : {}) };
}

/** Removes the folder, when the stores have stopped. @param keep keep its files, those on the disk too */
export async function leaveFolder({ dir, disk }: Folder, keep: boolean): Promise<void> {
  if (keep && disk) await cp(disk.dir, join(dir, 'stores'), { recursive: true, preserveTimestamps: true });
  await disk?.unmount();
  if (!keep) await rm(dir, { recursive: true, force: true });
}

/** Writes the plan, the problems, the mails, the webhooks and the log of each process next to the stores' data. */
export async function keepEvidence(stand: Stand, plan: Plan, problems: Problem[]): Promise<void> {
  const json = { plan, problems, mails: stand.smtp.copies, webhooks: stand.receiver.messages };
  const files = Object.entries(json).map(([name, value]) => [`${name}.json`, JSON.stringify(value, null, 1)] as const);
  // The children of `npm start` write to the output of their parent.
  const logs = [...stand.workers, ...stand.apis].map((slot) => [`${slot.name}.log`, slot.output()] as const);
  for (const [name, text] of [...files, ...logs]) await writeFile(join(stand.dir, name), text);
}
