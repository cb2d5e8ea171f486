/** What a soak reads of processes and tables: each reading is a flat list of named numbers. */
import { readdirSync, readFileSync } from 'node:fs';
import type { Pool } from '../../src/platform/db/pool.ts';
import { familyOf } from '../machine/cpu.ts';

export type Figures = Record<string, number>;

const MB = 1e6;
const BYTES_PER_KB = 1024;
const PATIENCE_MS = 10_000;

export interface Measured {
  /** Root processes by role. */
  pids: Record<'api' | 'redis' | 'postgres', number> & { workers: number[] };
  /** Addresses of `/metrics` by role. */
  metrics: { api: string; workers: string[] };
  pool: Pool;
}

export async function readFigures({ pids, metrics, pool }: Measured): Promise<Figures> {
  const workers = numbered('worker', pids.workers);
  const nodes = { api: pids.api, ...workers };
  const addresses = { api: metrics.api, ...numbered('worker', metrics.workers) };
  return {
    ...mapped({ ...nodes, redis: pids.redis }, 'memory', (pid) => memory(pid, 'VmRSS')),
    // Each backend's RSS would count the shared buffers again.
    'memory postgres': sum(familyOf(pids.postgres).map((pid) => memory(pid, 'RssAnon'))),
    ...(await heaps(addresses)),
    ...mapped({ ...nodes, redis: pids.redis }, 'handles', handles),
    'handles postgres': sum(familyOf(pids.postgres).map(handles)),
    ...(await storeFigures(pool)),
  };
}

function numbered<T>(name: string, list: T[]): Record<string, T> {
  return Object.fromEntries(list.map((one, n) => [list.length === 1 ? name : `${name} ${n + 1}`, one]));
}

function mapped(pids: Record<string, number>, name: string, read: (pid: number) => number): Figures {
  return Object.fromEntries(Object.entries(pids).map(([role, pid]) => [`${name} ${role}`, read(pid)]));
}

function sum(values: number[]): number {
  return values.reduce((a, b) => a + b, 0);
}

/** Megabytes; 0 for a process that has ended. */
function memory(pid: number, field: 'VmRSS' | 'RssAnon'): number {
  const kb = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(
    ofProcess(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? '',
  );
  return (Number(kb?.[1] ?? 0) * BYTES_PER_KB) / MB;
}

/** Open files and sockets; 0 for a process that has ended. */
function handles(pid: number): number {
  return ofProcess(() => readdirSync(`/proc/${pid}/fd`).length) ?? 0;
}

/** Undefined when a backend of PostgreSQL has ended meanwhile. */
function ofProcess<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/** Without those of processes that are too busy to answer. */
async function heaps(addresses: Record<string, string>): Promise<Figures> {
  const read = Object.entries(addresses).map(async ([role, address]): Promise<[string, number]> => {
    const answer = await fetch(address, { signal: AbortSignal.timeout(PATIENCE_MS) });
    const bytes = /^nodejs_heap_size_used_bytes (\S+)$/m.exec(await answer.text())?.[1];
    return [`heap ${role}`, Number(bytes) / MB];
  });
  const answers = await Promise.allSettled(read);
  return Object.fromEntries(answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : [])));
}

/** Connections, and the live rows and the size of each table with its indexes, as PostgreSQL counts them. */
async function storeFigures(pool: Pool): Promise<Figures> {
  const connections = await pool.query<{ n: number }>(
    `select count(*)::int as n from pg_stat_activity where backend_type = 'client backend'`,
  );
  const tables = await pool.query<{ name: string; rows: number; bytes: number }>(
    `select relname as name, n_live_tup::float8 as rows, pg_total_relation_size(relid)::float8 as bytes
     from pg_stat_user_tables order by relname`,
  );
  return {
    'connections postgres': connections.rows[0]?.n ?? 0,
    ...Object.fromEntries(
      tables.rows.flatMap(({ name, rows, bytes }) => [
        [`rows ${name}`, rows],
        [`size ${name}`, bytes / MB],
      ]),
    ),
  };
}
