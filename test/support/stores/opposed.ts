import { randomBytes } from 'node:crypto';
import type { TestDatabase } from './postgres.ts';

/** Settings of a database or a role that contradict what the code assumes of its sessions. */
export const AGAINST: Readonly<Record<string, string>> = {
  search_path: 'pg_temp',
  datestyle: 'SQL, DMY',
  intervalstyle: 'iso_8601',
  timezone: 'Asia/Kolkata',
  client_encoding: 'LATIN1',
  bytea_output: 'escape',
  extra_float_digits: '-5',
  standard_conforming_strings: 'off',
  array_nulls: 'off',
  transform_null_equals: 'on',
  default_transaction_isolation: 'serializable',
  default_transaction_deferrable: 'on',
  default_transaction_read_only: 'on',
  row_security: 'on',
  session_replication_role: 'replica',
  exit_on_error: 'on',
  gin_fuzzy_search_limit: '1',
  idle_session_timeout: '1s',
  lock_timeout: '1ms',
  statement_timeout: '50ms',
  idle_in_transaction_session_timeout: '50ms',
  jit: 'on',
  enable_seqscan: 'on',
};

export interface Opposed {
  /** Of the same database, for a superuser who has the settings. */
  url: string;
  drop(): Promise<void>;
}

/** Gives a new superuser every setting, or only one. */
export async function opposed({ pool, url }: TestDatabase, settings = AGAINST): Promise<Opposed> {
  const role = `opposed_${randomBytes(5).toString('hex')}`;
  await pool.query(`create role ${role} superuser login password 'opposed'`);
  for (const set of setClauses(settings)) await pool.query(`alter role ${role} ${set}`);
  const changed = new URL(url);
  changed.username = role;
  changed.password = 'opposed';
  return {
    url: changed.toString(),
    async drop() {
      await pool.query(`drop owned by ${role}`);
      await pool.query(`drop role ${role}`);
    },
  };
}

/** Gives the database every setting: for connections that open later. */
export async function opposeDatabase({ pool, url }: TestDatabase, settings = AGAINST): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  for (const set of setClauses(settings)) await pool.query(`alter database ${name} ${set}`);
}

function setClauses(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).map(([name, value]) => {
    return `set ${name} = ${name === 'datestyle' || name === 'search_path' ? value : `'${value}'`}`;
  });
}
