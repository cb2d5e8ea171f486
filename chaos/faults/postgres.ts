/** Faults of PostgreSQL: its server killed or restarted, its sessions ended, killed or frozen. */
import { openPool } from '../../src/platform/db/pool.ts';
import { waitFor } from '../../test/support/wait.ts';
import type { Stand } from '../stand/stand.ts';
import { ROLE } from '../stand/stores.ts';
import { during, type Fault } from './fault.ts';

const places = () => ['postgres'];
const BACK_MS = 60_000;
/** Sessions of Muster's processes and of BullMQ. */
const SESSIONS = `from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
  and backend_type = 'client backend' and application_name <> 'chaos'`;

/** Waits until a new connection works. */
export async function untilBack(stand: Stand): Promise<void> {
  await waitFor(
    async () => {
      const pool = openPool(stand.postgres.url, { max: 1, name: 'chaos' });
      return pool.query('select').finally(() => pool.end());
    },
    { what: 'PostgreSQL to be back', timeoutMs: BACK_MS },
  );
}

function signalServer(signal: NodeJS.Signals): Fault {
  return {
    least: 0,
    most: 0,
    places,
    async strike(stand) {
      const before = stand.postgres.pid;
      process.kill(before, signal);
      await during(stand, 'postgres', 0, async () => {
        await waitFor(() => stand.postgres.pid !== before, { what: 'PostgreSQL to restart', timeoutMs: BACK_MS });
        await untilBack(stand);
      });
    },
  };
}

/** SIGKILL to the postmaster: its sessions notice, and it recovers from its log. */
export const killPostgres = signalServer('SIGKILL');
/** Fast shutdown and start, as by an administrator. */
export const restartPostgres = signalServer('SIGINT');

/** SIGKILL to one session: PostgreSQL ends all of them and recovers. */
export const crashBackend: Fault = {
  least: 0,
  most: 0,
  places,
  async strike(stand, slot) {
    const pid = await sessionPid(stand, slot);
    if (pid === undefined) return;
    process.kill(pid, 'SIGKILL');
    await during(stand, 'postgres', 0, () => untilBack(stand));
  },
};

/** pg_terminate_backend on every session of every process. */
export const endSessions: Fault = {
  least: 0,
  most: 0,
  places,
  async strike(stand) {
    await during(stand, 'postgres', 0, () => stand.pool.query(`select pg_terminate_backend(pid) ${SESSIONS}`));
  },
};

/** Fewer than the processes want, and about as few as they need (docs/operations.md). */
const FEW = 15;

/** All sessions end, and PostgreSQL refuses most of the new ones. */
export const fewConnections: Fault = {
  least: 1000,
  most: 6000,
  places,
  async strike(stand, _slot, forMs) {
    const limit = (most: number) => stand.pool.query(`alter role ${ROLE} connection limit ${most}`);
    await limit(FEW);
    await stand.pool.query(`select pg_terminate_backend(pid) ${SESSIONS}`);
    await during(stand, 'postgres', forMs, () => limit(-1));
  },
};

/** SIGSTOP to one session, in the middle of whatever it does and holding its locks; then SIGCONT. */
export const freezeBackend: Fault = {
  least: 500,
  most: 6000,
  places,
  async strike(stand, slot, forMs) {
    const pid = await sessionPid(stand, slot);
    if (pid === undefined) return;
    process.kill(pid, 'SIGSTOP');
    await during(stand, 'postgres', forMs, () => process.kill(pid, 'SIGCONT'));
  },
};

/** A session of Muster: one that works, if there is any. */
async function sessionPid(stand: Stand, slot: number): Promise<number | undefined> {
  const { rows } = await stand.pool.query<{ pid: number }>(
    `select pid ${SESSIONS} order by state = 'active' desc, pid`,
  );
  return rows[slot % Math.max(1, Math.min(3, rows.length))]?.pid;
}
