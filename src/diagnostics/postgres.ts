/** Facts about the database that matter to the service: its capacity, and whether "committed" means durable. */
import { migrationState } from '../db/migrate.ts';
import type { Pool } from '../db/pool.ts';
import { type ServerFacts, serverFacts } from './postgres-server.ts';

export interface PostgresFacts {
  /** `18.4` */
  version: string;
  /** `max` excludes connections that are reserved for superusers. */
  connections: { used: number; max: number };
  settings: { fsync: boolean; fullPageWrites: boolean; synchronousCommit: string };
  databaseBytes: number;
  migrations: { applied: number; known: number };
  server: ServerFacts;
}

const FACTS = `select current_setting('server_version') as version,
    (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as used,
    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as max,
    current_setting('fsync') = 'on' as fsync, current_setting('full_page_writes') = 'on' as "fullPageWrites",
    current_setting('synchronous_commit') as "synchronousCommit",
    pg_database_size(current_database())::float8 as "databaseBytes"`;

type Row = Omit<PostgresFacts, 'connections' | 'settings' | 'migrations' | 'server'> &
  PostgresFacts['connections'] &
  PostgresFacts['settings'];

/** @param direct see `serverFacts` */
export async function postgresFacts(db: Pool, direct?: Pool): Promise<PostgresFacts> {
  const { rows } = await db.query<Row>(FACTS);
  const { version, used, max, databaseBytes, ...settings } = rows[0] as Row;
  // `18.4 (Debian 18.4-1)`: the build is irrelevant.
  const [number = version] = version.split(' ');
  return {
    version: number,
    connections: { used, max },
    settings,
    databaseBytes,
    migrations: await migrationState(db),
    server: await serverFacts(db, direct),
  };
}
