/**
 * Keycloak's own PostgreSQL database, read-only: the only way to read password hashes from a running Keycloak, as its
 * admin API does not return them.
 *
 * Keycloak stores no time of a user's last change, so changes are found by comparison.
 */
import { type Fields, UsageError } from '../../../sources/source.ts';
import { numberOption, requiredOption } from '../../settings.ts';
import type { Database } from '../../sql/database.ts';
import { DATABASE, DATABASE_PASSWORD, openDatabase } from '../../sql/open.ts';
import { type Page, PullError, type PullSettings, type PullSystem } from '../../system.ts';
import { type GroupRow, groupPaths, representationOf, type UserRow } from './representation.ts';
import { GROUPS, REALM, USERS } from './statements.ts';

export const keycloakDb: PullSystem = {
  name: 'keycloak-db',
  title: 'Keycloak (PostgreSQL)',
  describe: "Keycloak's PostgreSQL database, read-only, with password hashes",
  source: 'keycloak',
  options: {
    database: DATABASE,
    realm: { describe: 'name of the realm', required: true },
    schema: { describe: "schema of Keycloak's tables", default: 'public' },
    'page-size': { describe: 'users in a query', default: '1000' },
  },
  secrets: [DATABASE_PASSWORD],
  tellsChanges: false,
  continues: true,
  async open(settings) {
    const database = await openDatabase(settings);
    try {
      return await openRealm(database, settings);
    } catch (error) {
      await database.close();
      throw error;
    }
  },
};

async function openRealm(database: Database, settings: PullSettings) {
  if (database.dialect !== 'postgres') throw new UsageError('keycloak-db reads PostgreSQL; see --database.');
  const realm = requiredOption(settings, 'realm');
  const size = numberOption(requiredOption(settings, 'page-size'), 'page-size', [1, 10_000]);
  const [found] = await database.query(REALM, [realm]).catch(notKeycloak);
  if (found === undefined) throw new PullError('failed', `The database has no realm "${realm}".`, 'Check --realm.');
  const realmId = String(found.id);
  return {
    identity: `${database.identity} realm ${realm}`,
    pages: ({ cursor = '' }: { cursor: string | undefined }) => pages(database, realmId, cursor, size),
    close: () => database.close(),
  };
}

async function* pages(database: Database, realmId: string, from: string, size: number): AsyncGenerator<Page> {
  const rows = (await database.query(GROUPS, [realmId]).catch(notKeycloak)) as unknown as GroupRow[];
  const groups = groupPaths(rows);
  for (let cursor = from; ; ) {
    const users = (await database.query(USERS, [realmId, cursor, size]).catch(notKeycloak)) as unknown as UserRow[];
    cursor = users.at(-1)?.id ?? cursor;
    if (users.length > 0) yield { records: users.map((row) => representationOf(row, groups)), cursor };
    if (users.length < size) return;
  }
}

/** Undefined table or column. */
const OTHER_SCHEMA = ['42P01', '42703'];

function notKeycloak(error: Error & { code?: string }): Fields[] {
  if (!OTHER_SCHEMA.includes(error.code ?? '')) throw error;
  throw new PullError(
    'failed',
    `The tables are not those of Keycloak 8 or later: ${error.message}`,
    'Check the name of the database in --database, and --schema.',
  );
}
