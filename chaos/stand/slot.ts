/**
 * A place for a process: what runs there may die, freeze and be replaced, its lines and its name stay.
 *
 * Guarantee: `start` resolves when a process is ready there, however often the first attempts fail, as under a service
 * manager.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { TestProcess } from '../../test/support/processes/child.ts';
import type { Line } from './line.ts';

export interface Slot {
  name: string;
  /** Its connections to the servers; `front` is that of the callers to an API. */
  lines: { postgres: Line; redis?: Line; smtp?: Line; front?: Line };
  /** The running process, or the last one; undefined if another process starts it. */
  readonly process: TestProcess | undefined;
  /** The port of an API. */
  readonly port: number;
  /** @param env settings of this process alone */
  start(env?: Record<string, string>): Promise<void>;
  /** Sends a signal to the process, if it lives. */
  signal(signal: NodeJS.Signals): void;
  /** Resolves when the process has ended. */
  ended(): Promise<void>;
  /** The output of all its processes. */
  output(): string;
}

const RETRY_MS = 200;
const GIVE_UP_MS = 120_000;

/** Starts a process. @param env in addition to its settings */
type Launch = (env: Record<string, string>) => Promise<TestProcess>;

export function openSlot(name: string, lines: Slot['lines'], launch: Launch): Slot {
  const processes: TestProcess[] = [];
  const current = () => processes.at(-1);
  return {
    name,
    lines,
    get process() {
      return current();
    },
    get port() {
      return Number(current()?.ready.port ?? 0);
    },
    async start(env = {}) {
      if (current()?.isOver === false) return;
      processes.push(await persist(() => launch(env)));
    },
    signal(signal) {
      if (current()?.isOver === false) current()?.kill(signal);
    },
    async ended() {
      await current()?.exited;
    },
    output: () => processes.map((one) => `--- process ${one.pid}\n${one.output()}`).join('\n'),
  };
}

/** @throws the last error when it fails for too long */
async function persist(launch: () => Promise<TestProcess>): Promise<TestProcess> {
  const end = performance.now() + GIVE_UP_MS;
  for (;;) {
    try {
      return await launch();
    } catch (error) {
      if (performance.now() > end) throw error;
      await sleep(RETRY_MS);
    }
  }
}
