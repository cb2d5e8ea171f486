/**
 * Where PostgreSQL spends its time: processor time by purpose of its processes, and for each statement its duration and
 * the bytes it wrote.
 *
 * Only the first is processor time. A statement's time is elapsed time, including waits for client, locks and disk, but
 * not its commit.
 */
import { type CpuTime, cpuTime, livingTime } from '../machine/cpu.ts';
import type { Scope } from '../scope.ts';
import type { Stores } from '../testbed/testbed.ts';

/** The settings that a server needs for `statements`. */
export const STATEMENT_SETTINGS = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'all',
  'pg_stat_statements.track_utility': 'on',
};

/** By application name. */
const CLIENTS: Record<string, string> = {
  'muster-api': 'API (COPY, status calls)',
  'muster-writer': 'batches',
  'muster-worker': 'dispatcher and other loops',
  'muster-queue': 'queue',
};
const ENDED = 'parent and ended processes';

const SAMPLE_MS = 1000;

export interface BackendWatch {
  /** Ends the watch; returns the microseconds used since it began, by purpose of the processes. */
  end(): Promise<CpuTime>;
}

/**
 * Watches the server's processes from now on, at most as long as the scope lasts. Without that, the time of idle
 * connections that are closed would count as their parent's.
 */
export async function watchBackends(scope: Scope, stores: Stores): Promise<BackendWatch> {
  const first = new Map<number, number>();
  const last = new Map<number, { role: string; time: number }>();
  let failed: unknown;
  const sample = async (isFirst = false) => {
    const found = await backends(stores);
    const times = livingTime(found.map(({ pid }) => pid));
    for (const { pid, role } of found) {
      const time = times.get(pid);
      // It ended meanwhile: the previous sample has its time.
      if (time === undefined) continue;
      if (!first.has(pid)) first.set(pid, isFirst ? time : 0);
      last.set(pid, { role, time });
    }
  };
  await sample(true);
  const before = serverTime(stores);
  const timer = await scope.start(
    async () => setInterval(() => void sample().catch((error: unknown) => (failed = error)), SAMPLE_MS),
    async (opened) => clearInterval(opened),
  );
  return {
    async end() {
      clearInterval(timer);
      await sample();
      if (failed) throw failed;
      const used: CpuTime = { [ENDED]: serverTime(stores) - before };
      for (const [pid, { role, time }] of last) {
        const mine = time - (first.get(pid) as number);
        used[role] = (used[role] ?? 0) + mine;
        (used[ENDED] as number) -= mine;
      }
      return used;
    },
  };
}

async function backends({ pool }: Stores): Promise<{ pid: number; role: string }[]> {
  const { rows } = await pool.query<{ pid: number; kind: string; name: string }>(
    `select pid, backend_type as kind, application_name as name from pg_stat_activity where pid <> pg_backend_pid()`,
  );
  return rows.map(({ pid, kind, name }) => ({
    pid,
    role: kind === 'client backend' ? (CLIENTS[name] ?? 'others') : kind,
  }));
}

function serverTime({ roles }: Stores): number {
  return cpuTime({ server: roles().postgres as number[] }).server as number;
}

export interface Statement {
  /** Its beginning. */
  query: string;
  /** Called by a function, not by a client. */
  nested: boolean;
  calls: number;
  /** Elapsed microseconds per user. */
  microseconds: number;
  /** Bytes of write-ahead log per user. */
  walBytes: number;
}

/** Resets the statistics. The server must run with STATEMENT_SETTINGS. */
export async function resetStatements({ pool }: Stores): Promise<void> {
  await pool.query('create extension if not exists pg_stat_statements');
  await pool.query('select pg_stat_statements_reset()');
}

/** The statements that took longest since the reset; figures are per user. */
export async function statements({ pool }: Stores, users: number): Promise<Statement[]> {
  const { rows } = await pool.query<Statement>(
    `select regexp_replace(left(query, 400), '\\s+', ' ', 'g') as query, not toplevel as nested, calls::int,
       round((1000 * total_exec_time)::numeric / $1::numeric, 1)::float as microseconds,
       round(wal_bytes / $1::numeric, 1)::float as "walBytes"
     from pg_stat_statements order by total_exec_time desc limit 12`,
    [users],
  );
  return rows.map((row) => ({ ...row, query: row.query.trim().slice(0, 60) }));
}
