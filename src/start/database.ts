/**
 * Prepares the database before a process uses it: it must be reachable, new enough, migrated, and contain an instance.
 * Any number of processes may do this at once.
 */
import type { Logger } from 'pino';
import { firstStartTexts } from '../contract/findings.ts';
import { migrateQueue } from '../imports/queue/schema.ts';
import { openHasher } from '../passwords/hasher.ts';
import type { Config } from '../platform/config.ts';
import { MIGRATION_MS } from '../platform/db/client.ts';
import { sqlState } from '../platform/db/faults.ts';
import { migrate } from '../platform/db/migrate.ts';
import { openPool, type Pool } from '../platform/db/pool.ts';
import { StartError } from '../platform/errors.ts';
import { directUrl, type StoresConfig } from '../platform/lifecycle.ts';
import { type Bootstrapped, bootstrap } from '../signin/bootstrap.ts';

const NOT_ALLOWED = '42501';
/** The oldest version of PostgreSQL that has what the statements need. */
const OLDEST = 15;

/**
 * @returns the token of the first administrator if this call created it
 * @throws StartError when the database does not answer or is too old
 */
export async function prepareDatabase(url: string, config: Config): Promise<Bootstrapped> {
  const pool = openPool(url, { max: 3, name: 'muster start', statementMs: MIGRATION_MS });
  const hasher = openHasher({ threads: 1 });
  try {
    await requireServer(pool);
    await bringSchema(pool);
    return await bootstrap({ pool, config, hasher });
  } finally {
    await hasher.close();
    await pool.end();
  }
}

/**
 * Prepares the database, and shows a created token: on the terminal and not in the log, which other people can read.
 * @throws StartError when the database does not answer or is too old
 */
export async function prepareInstance(config: StoresConfig, logger: Logger): Promise<void> {
  const { token, unused } = await prepareDatabase(directUrl(config), config);
  warnOfUnused(unused, logger);
  if (token) console.error(`\nToken of the first administrator, shown only once:\n  ${token}\n`);
}

/** Settings of the first start that were changed later: somebody may believe that they let them in. */
export function warnOfUnused(unused: Bootstrapped['unused'], logger: Logger): void {
  for (const name of unused) logger.warn({ setting: name }, `${firstStartTexts(name).join('. ')}`);
}

async function requireServer(pool: Pool): Promise<void> {
  const version = await serverVersion(pool).catch((error: NodeJS.ErrnoException) => {
    throw new StartError(`The database of DATABASE_URL does not respond (${error.message || error.code}).`);
  });
  if (version < OLDEST) {
    throw new StartError(`The database of DATABASE_URL is PostgreSQL ${version}; it must be ${OLDEST} or newer.`);
  }
  if (await isReadOnly(pool)) {
    throw new StartError(
      'The database of DATABASE_URL takes no writes: it is a replica that was not promoted, or it was made read-only.',
    );
  }
}

/** A role without the right to change the schema is enough for a database that has it. */
async function bringSchema(pool: Pool): Promise<void> {
  try {
    await migrate(pool);
    await migrateQueue(pool);
  } catch (error) {
    if (sqlState(error) !== NOT_ALLOWED) throw error;
    throw new StartError(
      `The role of DATABASE_URL may not bring the schema to this version (${(error as Error).message}): run "npm run migrate" with the role that owns the database.`,
    );
  }
}

async function isReadOnly(pool: Pool): Promise<boolean> {
  const { rows } = await pool.query<{ is: boolean }>(`select current_setting('transaction_read_only') = 'on' as is`);
  return rows[0]?.is ?? false;
}

async function serverVersion(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ v: number }>(`select current_setting('server_version_num')::int / 10000 as v`);
  return rows[0]?.v ?? 0;
}
