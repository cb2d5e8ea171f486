/**
 * Processes that run one API or worker after the other, for all services of a test file, because loading the code takes
 * longer than most of them live.
 *
 * They run the same code as the entry files.
 * Guarantee: each runs one API or worker at a time, and is reused only after that has stopped. They end with the test's
 * process.
 */
import type { Socket } from 'node:net';
import { type Child, type Exit, spawnChild, type TestProcess, untilReady } from './child.ts';

export type Role = 'api' | 'worker';
/** A message to a host: run this or, without it, stop. */
export interface Order {
  run?: Role;
  env?: Record<string, string>;
}

const idle: Record<Role, Child[]> = { api: [], worker: [] };

/**
 * Runs an API or a worker, and waits until it is ready. SIGTERM stops it and keeps the process for the next one; other
 * signals reach the process.
 * @param env all of its environment
 * @throws Error with its output when it ends instead
 */
export async function startHosted(role: Role, env: Record<string, string>): Promise<TestProcess> {
  const host = idle[role].pop() ?? spawnChild('test/support/processes/host.ts', {});
  hold(host, true);
  const from = host.output().length;
  const output = () => host.output().slice(from);
  const order: Order = { run: role, env };
  host.process.send(order);
  const ready = await untilReady(host, role);

  const { promise: exited, resolve } = Promise.withResolvers<Exit>();
  let isOver = false;
  const over = (exit: Exit) => {
    isOver = true;
    resolve(exit);
  };
  void host.exited.then(over);
  return {
    pid: host.process.pid as number,
    ready,
    output,
    exited,
    kill(signal) {
      if (signal !== 'SIGTERM') return void host.process.kill(signal);
      if (isOver) return;
      host.process.once('message', () => {
        over({ code: 0, signal: null });
        hold(host, false);
        idle[role].push(host);
      });
      host.process.send({} satisfies Order);
    },
    get isOver() {
      return isOver;
    },
  };
}

/** Sets whether the host keeps this process alive. */
function hold({ process: child }: Child, held: boolean): void {
  const method = held ? 'ref' : 'unref';
  for (const handle of [child, child.channel, child.stdout as Socket | null, child.stderr as Socket | null]) {
    handle?.[method]();
  }
}
