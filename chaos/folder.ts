/** The folder of a run: the stores' data, and what explains a problem. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Problem } from './client/sent.ts';
import type { Plan } from './plan/plan.ts';
import type { Stand } from './stand/stand.ts';

export async function makeFolder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'muster-chaos-'));
  // As root, we run PostgreSQL as another user, which must reach its folder inside this one.
  await chmod(dir, 0o711);
  return dir;
}

export function removeFolder(dir: string): Promise<void> {
  return rm(dir, { recursive: true, force: true });
}

/** Writes the plan, the problems, the mails, the webhooks and the log of each process next to the stores' data. */
export async function keepEvidence(stand: Stand, plan: Plan, problems: Problem[]): Promise<void> {
  const json = { plan, problems, mails: stand.smtp.copies, webhooks: stand.receiver.messages };
  const files = Object.entries(json).map(([name, value]) => [`${name}.json`, JSON.stringify(value, null, 1)] as const);
  // The children of `npm start` write to the output of their parent.
  const logs = [...stand.workers, ...stand.apis].map((slot) => [`${slot.name}.log`, slot.output()] as const);
  for (const [name, text] of [...files, ...logs]) await writeFile(join(stand.dir, name), text);
}
