/**
 * The processes of `npm start` as slots: the parent, and its children, which the parent starts again.
 *
 * All have one name and one set of lines.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../test/support/free-port.ts';
import { startChild, type TestProcess } from '../../test/support/processes/child.ts';
import { openSlot, type Slot } from './slot.ts';

const WORKERS = 3;
/** The parent starts a child again after a fraction of a second. */
const RESTART_MS = 500;

/** The parent. @param env its settings without PORT and WORKERS */
export async function openParent(lines: Slot['lines'], env: Record<string, string>): Promise<Slot> {
  const port = await freePort();
  const launch = async (): Promise<TestProcess> => {
    const child = await startChild('src/main.ts', { ...env, PORT: String(port), WORKERS: String(WORKERS) });
    return Object.assign(child, { ready: { port } });
  };
  return openSlot('npm-start', lines, launch);
}

/** The children of the parent, the API among them. */
export function childrenOf(parent: Slot): Slot[] {
  return Array.from({ length: 1 + WORKERS }, (_, n) => ({
    name: parent.name,
    lines: parent.lines,
    process: undefined,
    port: parent.port,
    start: () => sleep(RESTART_MS),
    ended: async () => {},
    output: () => '',
    signal(signal) {
      const pid = pidsOf(parent)[n];
      if (pid !== undefined) process.kill(pid, signal);
    },
  }));
}

/** Empty on systems other than Linux, and when the parent is dead. */
function pidsOf(parent: Slot): number[] {
  const pid = parent.process?.isOver === false ? parent.process.pid : undefined;
  if (pid === undefined) return [];
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return children === '' ? [] : children.split(' ').map(Number);
  } catch {
    return []; // it has just died
  }
}
