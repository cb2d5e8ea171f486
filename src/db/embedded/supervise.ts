/**
 * Keeps the server running on one address until it is told to stop.
 *
 * Guarantee: clients can reconnect to the same address. If the server cannot be restarted, the process fails with the
 * reason, as nothing works without a database.
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
      // `stop` was called in the meantime, and stopped only the process that had already died.
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

/** Retries while the reason for the failure is transient, for about 20 seconds. */
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

/** A free TCP port on 127.0.0.1. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
