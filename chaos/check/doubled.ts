/** Doubled: an import with two ids, a user with two rows, events that do not match the users one to one. */
import type { Db } from '../../src/platform/db/pool.ts';
import { type Problem, problem, type SentImport } from '../client/sent.ts';
import type { Rows } from './rows.ts';

export async function findDoubled(db: Db, sent: SentImport, rows: Rows): Promise<(Problem | undefined)[]> {
  const { id } = rows.import;
  const created = rows.items.filter(
    ({ state }, i) => sent.users[i]?.fate === 'created' && ['succeeded', 'undone'].includes(state),
  );
  const undone = rows.items.filter(({ state }) => state === 'undone');
  const updated = rows.items.filter(({ state }, i) => sent.users[i]?.fate === 'updated' && state === 'succeeded');
  const idsOf = (items: typeof created) => (sent.dryRun ? [] : items.map(({ userId }) => userId ?? ''));
  const mismatch = async (type: string, items: typeof created) => different(await eventsOf(db, id, type), idsOf(items));
  return [
    problem(sent, 'doubled', 'ids for one key', sent.importIds.size > 1 ? [...sent.importIds].slice(1) : []),
    problem(sent, 'doubled', 'rows of users that are no success', await rowsWithoutSuccess(db, rows)),
    problem(
      sent,
      'doubled',
      'events of creation that do not match the users',
      await mismatch('user.human.imported', created),
    ),
    problem(sent, 'doubled', 'events of removal that do not match the users', await mismatch('user.removed', undone)),
    problem(
      sent,
      'doubled',
      'events of updates that do not match the users',
      await mismatch('user.human.updated', updated),
    ),
  ];
}

/** The user of each event, with repetitions. */
async function eventsOf(db: Db, importId: string, type: string): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select aggregate_id as id from history where type = $2 and payload ->> 'importId' = $1::text`,
    [importId, type],
  );
  return rows.map(({ id }) => id);
}

/** What one list has more often than the other. */
function different(found: string[], wanted: string[]): string[] {
  const rest = new Map<string, number>();
  for (const id of found) rest.set(id, (rest.get(id) ?? 0) + 1);
  for (const id of wanted) rest.set(id, (rest.get(id) ?? 0) - 1);
  return [...rest].filter(([, count]) => count !== 0).map(([id]) => id);
}

async function rowsWithoutSuccess(db: Db, { import: { id }, items }: Rows): Promise<string[]> {
  const successes = new Set(items.filter(({ state }) => state === 'succeeded').map(({ userId }) => userId));
  const { rows } = await db.query<{ id: string }>('select id from users where import_id = $1', [id]);
  return rows.map((row) => row.id).filter((userId) => !successes.has(userId));
}

/** Imports of the round's organizations whose id no caller was answered. */
export async function findUnknownImports(db: Db, orgIds: readonly string[], sent: SentImport[]): Promise<string[]> {
  const known = new Set(sent.flatMap(({ importIds }) => [...importIds]));
  const { rows } = await db.query<{ id: string }>(
    `select distinct i.id from imports i join import_orgs o on o.import_id = i.id
     where o.org_id = any($1) and i.kind = 'bulk' and i.state <> 'receiving'`,
    [orgIds],
  );
  return rows.map(({ id }) => id).filter((id) => !known.has(id));
}
