/**
 * Keeps the server running on one address until it is told to stop.
 *
 * Guarantee: whoever is connected finds it again where it was. If it cannot be started again, the process fails with
 * the reason, as nothing of ours works without a database.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { stopPostmaster } from './postmaster.ts';
import { isPassing, type LaunchOptions, launch, type Running } from './server.ts';

export interface Supervised {
  port: number;
  pid(): number;
  stop(): Promise<void>;
}

/** @throws StartError when the server does not start */
export async function supervise(
  options: Omit<LaunchOptions, 'port'>,
  fixedPort: number | undefined,
  log: (line: string) => void,
): Promise<Supervised> {
  let port = 0;
  let running = await persist(async () => {
    port = fixedPort ?? (await freePort());
    return launch({ ...options, port });
  });
  log(`PostgreSQL runs as process ${running.pid} on port ${port}`);
  let stopping = false;
  const keep = async () => {
    for (;;) {
      await running.exited;
      if (stopping) return;
      log('PostgreSQL ended unexpectedly; starting it again');
      running = await persist(
        () => launch({ ...options, port }),
        () => stopping,
      );
      // Told to stop in the meantime: what was stopped then was the one that had died already.
      if (stopping) await stopPostmaster(running.pid);
    }
  };
  const kept = keep();
  return {
    port,
    pid: () => running.pid,
    async stop() {
      stopping = true;
      running.hold();
      await stopPostmaster(running.pid);
      await kept;
    },
  };
}

/** Tries again while the reason for the failure passes by itself: about 20 seconds. */
async function persist(attempt: () => Promise<Running>, stopping = () => false): Promise<Running> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isPassing(error) || tries >= 40 || stopping()) throw error;
      await sleep(500);
    }
  }
}

/** A TCP port of 127.0.0.1 that nobody listens on. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
