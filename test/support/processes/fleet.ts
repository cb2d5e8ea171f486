/**
 * API and worker processes of one service, any number of each.
 *
 * Guarantee: `stop` leaves no process behind, not even frozen ones.
 *
 * On crash: if the test itself dies, they end on their own.
 */
import { setPriority } from 'node:os';
import { type Exit, startChild, type TestProcess } from './child.ts';
import { startHosted } from './hosts.ts';

export interface ApiProcess extends TestProcess {
  url: string;
}

export interface Fleet {
  /** Address of the API that was started last. */
  readonly url: string;
  /** All processes that were started, in order, living or not. */
  processes: TestProcess[];
  apis: ApiProcess[];
  startApi(env?: Record<string, string>): Promise<ApiProcess>;
  startWorker(env?: Record<string, string>): Promise<TestProcess>;
  /** Ends all processes. @throws Error naming each one that did not end cleanly on request */
  stop(): Promise<void>;
}

/** Longer than the processes' own limit, so that they can report what they wait for. */
const STOP_WITHIN_MS = 75_000;

export interface FleetOptions {
  /** Settings of all processes; settings of a single start override them. */
  env: Record<string, string>;
  /** Whether to start processes by their entry files, as users do, and not by hosts.ts. */
  ownProcesses: boolean;
}

export function openFleet({ env, ownProcesses }: FleetOptions): Fleet {
  const processes: TestProcess[] = [];
  const apis: ApiProcess[] = [];
  const fleet: Fleet = {
    get url() {
      return apis.at(-1)?.url ?? '';
    },
    processes,
    apis,
    async startApi(changes) {
      const given = { ...env, ...changes };
      const child = await (ownProcesses ? startChild('src/start/api.ts', given) : startHosted('api', given));
      const api = Object.assign(child, { url: `http://127.0.0.1:${child.ready.port}` });
      processes.push(api);
      apis.push(api);
      return api;
    },
    async startWorker(changes) {
      // Workers write the links in mails.
      const given = { ...env, BASE_URL: fleet.url, ...changes };
      const child = await (ownProcesses ? startChild('workers/all-in-one.ts', given) : startHosted('worker', given));
      if (ownProcesses) haveFairShare(child.pid);
      processes.push(child);
      return child;
    },
    stop: () => endAll(processes),
  };
  return fleet;
}

/**
 * Workers run at low priority, so other load on the machine would slow down all tests; only root can raise it again.
 */
function haveFairShare(pid: number): void {
  if (process.getuid?.() === 0) setPriority(pid, 0);
}

async function endAll(processes: TestProcess[]): Promise<void> {
  const living = processes.filter((p) => !p.isOver);
  const exits = await Promise.all(
    living.map(async (p): Promise<Exit> => {
      p.kill('SIGCONT');
      p.kill('SIGTERM');
      const force = setTimeout(() => p.kill('SIGKILL'), STOP_WITHIN_MS);
      return p.exited.finally(() => clearTimeout(force));
    }),
  );
  const unclean = living.filter((_, i) => exits[i]?.code !== 0);
  if (unclean.length === 0) return;
  throw new Error(`Processes did not stop cleanly:\n${unclean.map((p) => p.output().slice(-2000)).join('\n')}`);
}
