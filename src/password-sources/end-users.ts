/**
 * Ends password sources whose time has come, and gives the users who still depend on an ended or deleted source the
 * initialisation email.
 *
 * Guarantee: the user, the event, the code and the mail are one transaction, so each user gets one mail. The mail
 * counts for the import that wrote the user: it keeps to the rate of its mails, and waits while the import holds them.
 * Users who are deactivated or locked, or have no address, get no mail, as in an import.
 * On crash: nothing of the batch, and the next round begins there. Any number of processes may run it.
 */
import { SYSTEM } from '../db/audit.ts';
import { type Db, type Pool, transaction } from '../db/pool.ts';
import { IS_AT_SOURCE, sourceOf } from '../passwords/at-source.ts';
import { endSource, findSource, IS_ACTIVE } from './store.ts';

/** Users in a transaction. */
const BATCH = 500;

/** @returns whether there may be more to do at once */
export async function endRound(pool: Pool, { codeTtlMs }: { codeTtlMs: number }): Promise<boolean> {
  await endDue(pool);
  for (const mark of await marksInUse(pool)) {
    if (await isActive(pool, mark)) continue;
    const ended = await transaction(pool, (db) => endUsers(db, mark, codeTtlMs));
    if (ended > 0) return true;
  }
  return false;
}

/** Sources whose `until` has passed. */
async function endDue(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ id: string }>(
    'select id from password_sources where until <= now() and ended_at is null',
  );
  for (const { id } of rows) {
    await transaction(pool, async (db) => {
      const source = await findSource(db, id, 'for update');
      if (source) await endSource(db, source, SYSTEM);
    });
  }
}

/** Skips from mark to mark over the index, however many users have each. */
async function marksInUse(db: Db): Promise<string[]> {
  const { rows } = await db.query<{ mark: string }>(
    `with recursive m (mark) as (
       (select u.password_hash from users u where ${IS_AT_SOURCE} order by u.password_hash limit 1)
       union all
       select (select u.password_hash from users u where ${IS_AT_SOURCE} and u.password_hash > m.mark
         order by u.password_hash limit 1)
       from m where m.mark is not null)
     select mark from m where mark is not null`,
  );
  return rows.map(({ mark }) => mark);
}

async function isActive(db: Db, mark: string): Promise<boolean> {
  const { rowCount } = await db.query(`select from password_sources s where s.id = $1 and ${IS_ACTIVE}`, [
    sourceOf(mark),
  ]);
  return rowCount === 1;
}

// Users are locked before imports, and imports before mails, as everywhere.
const LOCK_USERS = `
  select u.id, u.import_id as "importId", u.state = 'active' and u.email is not null as "isDue"
  from users u where ${IS_AT_SOURCE} and u.password_hash = $1 order by u.id limit ${BATCH} for update skip locked`;

const END = `
with ended as (
  select id, nextval('events_sequence_seq') as sequence from unnest($1::text[]) as id
),
changed as (
  update users u set password_hash = null, password_changed_at = null, rehashed_from = null,
    state = case when u.state = 'active' then 'initial' else u.state end, sequence = e.sequence, changed_at = now()
  from ended e where u.id = any($1::text[]) and u.id = e.id
  returning u.id, u.org_id, e.sequence
),
events_added as (
  insert into events (sequence, aggregate_type, aggregate_id, resource_owner, type, editor, payload)
  select sequence, 'user', id, org_id, 'user.human.password_source.ended', '${SYSTEM}',
    jsonb_build_object('sourceId', $4::text) from changed
),
codes_added as (
  insert into codes (user_id, purpose, expires_at)
  select id, 'initialise', now() + $3 * interval '1 millisecond' from unnest($2::text[]) as id returning id, user_id
)
insert into mail_outbox (kind, user_id, code_id, import_id)
select 'initialise', c.user_id, c.id, u.import_id from codes_added c join users u on u.id = c.user_id`;

interface Ending {
  id: string;
  importId: string | null;
  isDue: boolean;
}

async function endUsers(db: Db, mark: string, codeTtlMs: number): Promise<number> {
  const { rows: users } = await db.query<Ending>(LOCK_USERS, [mark]);
  if (users.length === 0) return 0;
  const due = users.filter(({ isDue }) => isDue);
  await countMails(db, due);
  await db.query(END, [users.map(({ id }) => id), due.map(({ id }) => id), codeTtlMs, sourceOf(mark)]);
  return users.length;
}

async function countMails(db: Db, due: Ending[]): Promise<void> {
  const counts = Map.groupBy(due, ({ importId }) => importId);
  const imports = [...counts.keys()].filter((id) => id !== null).sort((a, b) => Number(a) - Number(b));
  if (imports.length === 0) return;
  await db.query('select from imports where id = any($1::bigint[]) order by id for update', [imports]);
  await db.query(
    `update imports i set mails_due = i.mails_due + c.n from unnest($1::bigint[], $2::int[]) as c (id, n)
     where i.id = c.id`,
    [imports, imports.map((id) => counts.get(id)?.length ?? 0)],
  );
}
