/**
 * PostgreSQL and Redis of a run. Both can be killed and come back with what they had.
 *
 * Guarantee: PostgreSQL keeps every answered commit through a SIGKILL of its processes (not of the machine), and
 * records when each transaction was committed, which the checker reads.
 *
 * On crash: both end with this process.
 */
import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/platform/db/embedded/embedded.ts';
import { openPool } from '../../src/platform/db/pool.ts';
import { findProgram } from '../../test/support/runner/programs.ts';
import { startRedis, type TestRedis } from '../../test/support/stores/redis.ts';

const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'on',
  track_commit_timestamp: 'on',
  max_connections: '200',
  // The files may be in memory.
  max_wal_size: '256MB',
};

export function openPostgres(dir: string): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDir: dir, settings: SETTINGS, background: true });
}

/** The role of Muster's processes: no limit of connections holds for a superuser. */
export const ROLE = 'muster_chaos';

/** Creates the role, which owns the database. @returns the URL of the database with it */
export async function openRole(url: string): Promise<string> {
  const pool = openPool(url, { max: 1, name: 'chaos' });
  const own = new URL(url);
  own.username = ROLE;
  own.password = randomBytes(12).toString('hex');
  await pool.query(`create role ${ROLE} login password '${own.password}'`);
  await pool.query(`alter database ${own.pathname.slice(1)} owner to ${ROLE}`);
  await pool.query(`alter schema public owner to ${ROLE}`);
  await pool.end();
  return own.href;
}

export interface ChaosRedis {
  /** It changes with each start. */
  readonly port: number;
  readonly pid: number;
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
  /** Starts it again with its append-only file. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a Redis that writes an append-only file, synced every second. @throws Error when the machine has none */
export async function openRedis(dir: string): Promise<ChaosRedis> {
  const program = findProgram('redis');
  if (!program) throw new Error('redis-server is not on this machine: use --backend postgres.');
  await mkdir(dir, { recursive: true });
  const start = () => startRedis(program, ['--appendonly', 'yes', '--appendfsync', 'everysec', '--dir', dir]);
  let running: TestRedis = await start();
  return {
    get port() {
      return Number(new URL(running.url).port);
    },
    get pid() {
      return running.pid;
    },
    async kill() {
      process.kill(running.pid, 'SIGKILL');
      await running.stop();
    },
    async restart() {
      running = await start();
    },
    stop: () => running.stop(),
  };
}
