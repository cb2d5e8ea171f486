/**
 * Where PostgreSQL's time goes: processor time by what each of its processes is there for, and by statement how long it
 * took and what it wrote.
 *
 * Only the first is processor time. A statement's time is elapsed time, with its waits for client, locks and disk; its
 * commit comes after it.
 */
import { type CpuTime, cpuTime, livingTime } from '../machine/cpu.ts';
import type { Scope } from '../scope.ts';
import type { Stores } from '../testbed/testbed.ts';

/** What a server must be started with for `statements`. */
export const STATEMENT_SETTINGS = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'all',
  'pg_stat_statements.track_utility': 'on',
};

/** By name of application. */
const CLIENTS: Record<string, string> = {
  'muster-api': 'API (COPY, status calls)',
  'muster-writer': 'batches',
  'muster-worker': 'dispatcher and other loops',
  'muster-queue': 'queue',
};
const ENDED = 'parent and ended processes';

const LOOK_MS = 1000;

export interface BackendWatch {
  /** Ends the watch; answers the microseconds used since it began, by what the processes are there for. */
  end(): Promise<CpuTime>;
}

/**
 * Watches the server's processes from now on, at most as long as the scope lasts: connections that are not used for some
 * time are closed, and their time would be the parent's.
 */
export async function watchBackends(scope: Scope, stores: Stores): Promise<BackendWatch> {
  const first = new Map<number, number>();
  const last = new Map<number, { role: string; time: number }>();
  let failed: unknown;
  const look = async (isFirst = false) => {
    const found = await backends(stores);
    const times = livingTime(found.map(({ pid }) => pid));
    for (const { pid, role } of found) {
      const time = times.get(pid);
      // Ended meanwhile: what it used is known from the look before.
      if (time === undefined) continue;
      if (!first.has(pid)) first.set(pid, isFirst ? time : 0);
      last.set(pid, { role, time });
    }
  };
  await look(true);
  const before = serverTime(stores);
  const timer = await scope.start(
    async () => setInterval(() => void look().catch((error: unknown) => (failed = error)), LOOK_MS),
    async (opened) => clearInterval(opened),
  );
  return {
    async end() {
      clearInterval(timer);
      await look();
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

/** Forgets what was counted so far. The server must run with STATEMENT_SETTINGS. */
export async function resetStatements({ pool }: Stores): Promise<void> {
  await pool.query('create extension if not exists pg_stat_statements');
  await pool.query('select pg_stat_statements_reset()');
}

/** The statements that took longest since the reset, per user. */
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
