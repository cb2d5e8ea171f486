/**
 * Keeps the server running on one address until it is told to stop.
 *
 * Guarantee: clients can reconnect to the same address. A server that ended because its disk is full is restarted once
 * there is space. If the server cannot be restarted for another reason, the process fails with it, as nothing works
 * without a database.
 */
import { once } from 'node:events';
import { statfs } from 'node:fs/promises';
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
  let isWaiting = false;
  const mayRetry = async (error: unknown, tries: number) => {
    const isFull = await lacksSpace(options.clusterDir);
    if (isFull && !isWaiting) log('PostgreSQL is started again when its disk has space');
    isWaiting = isFull;
    return !stopping && (isFull || isSoonOver(error, tries));
  };
  const keep = async () => {
    for (;;) {
      await running.exited;
      if (stopping) return;
      log('PostgreSQL ended unexpectedly; starting it again');
      running = await persist(() => launch({ ...options, port }), mayRetry).catch((error) => {
        if (stopping) return running;
        throw error;
      });
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

const PAUSE_MS = 500;
const MOST_TRIES = 40;
/** PostgreSQL may need two new segments of its log, of 16 MB, before it accepts connections. */
const LEAST_SPACE = 32 * 2 ** 20;

type MayRetry = (error: unknown, tries: number) => boolean | Promise<boolean>;

async function persist(attempt: () => Promise<Running>, mayRetry: MayRetry = isSoonOver): Promise<Running> {
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(await mayRetry(error, tries))) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

/** Whether the reason for the failure is transient; for about 20 seconds. */
function isSoonOver(error: unknown, tries: number): boolean {
  return isPassing(error) && tries < MOST_TRIES;
}

/** The server's own log may be on the same disk and lack the reason. */
async function lacksSpace(dir: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize < LEAST_SPACE;
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
