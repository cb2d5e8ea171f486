/** Any table of users in PostgreSQL, MySQL or MariaDB, by a query of one's own. */
import { UsageError } from '../../read/records.ts';
import { DATABASE, DATABASE_PASSWORD, openDatabase } from '../open-sql.ts';
import { asksForChanges, keysetPages } from '../sql.ts';
import { numberOption, type PullSystem, requiredOption } from '../system.ts';

export const sql: PullSystem = {
  name: 'sql',
  title: 'SQL',
  describe: 'any query in PostgreSQL, MySQL or MariaDB, read-only',
  source: undefined,
  options: {
    database: DATABASE,
    query: { describe: 'the query: one row for each user; :since is the time of the last changes', required: true },
    key: { describe: 'column that is unique', default: 'id' },
    schema: { describe: 'schema of the tables (PostgreSQL)' },
    'page-size': { describe: 'rows in a page', default: '1000' },
  },
  secrets: [DATABASE_PASSWORD],
  tellsChanges: true,
  continues: true,
  async open(settings) {
    const query = requiredOption(settings, 'query');
    const key = requiredOption(settings, 'key');
    const size = numberOption(requiredOption(settings, 'page-size'), 'page-size', [1, 10_000]);
    const database = await openDatabase(settings);
    return {
      identity: `${database.identity} ${query}`,
      async *pages(start) {
        if (start.since !== undefined && !asksForChanges(query)) {
          throw new UsageError(
            'The query has no place for the time of the last changes: where updated_at >= :since. Without --since, all users are read and those that differ are sent.',
          );
        }
        yield* keysetPages(database, { query, key, size }, start);
      },
      close: () => database.close(),
    };
  },
};
