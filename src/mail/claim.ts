/**
 * Claims the next mails. Mails outside imports come first, as somebody waits for them; then imports are served in turn,
 * so that a large one never blocks the others. Imports whose mails are held are skipped.
 *
 * Guarantee: no two callers get the same row, and no caller waits for another. With a rate per import, all callers
 * together exceed it by at most one mail plus the mails of a tenth of a second.
 *
 * On crash: claimed rows are due again when the claim expires.
 */
import type { Db } from '../db/pool.ts';
import type { MailPointer } from './outbox.ts';

export interface ClaimedMail {
  pointer: MailPointer;
  /** Outside imports: somebody waits for it, so it goes before all mails of imports. */
  isAlone: boolean;
  /** The first attempt for a mail of an import whose mails were held before. */
  isReleased: boolean;
}

export interface ClaimSettings {
  /** Time after which claimed rows are due again, in milliseconds. */
  handOverMs: number;
  /** Mails of one import a second; 0: no limit. */
  perImportRate?: number;
}

/** Claims at most `limit` due rows, the oldest of each import first. */
export async function claimDue(db: Db, limit: number, settings: ClaimSettings): Promise<ClaimedMail[]> {
  const { handOverMs, perImportRate = 0 } = settings;
  const alone = await claim(db, 'claim-alone', ALONE, [limit, handOverMs]);
  if (alone.length === limit) return alone;
  const room = limit - alone.length;
  const ofImports =
    perImportRate > 0
      ? await claim(db, 'claim-turns-rated', TURNS_RATED, [room, handOverMs, perImportRate])
      : await claim(db, 'claim-turns', TURNS, [room, handOverMs]);
  return [...alone, ...ofImports];
}

async function claim(db: Db, name: string, text: string, values: unknown[]): Promise<ClaimedMail[]> {
  const { rows } = await db.query<{ id: string; attempts: number; until: string; alone: boolean; released: boolean }>({
    name,
    text,
    values,
  });
  return rows.map((row) => ({
    pointer: { id: row.id, attempt: row.attempts, until: row.until },
    isAlone: row.alone,
    isReleased: row.released && row.attempts === 0,
  }));
}

// The array makes the planner look up each id; without it, a planner that expects few mails reads the whole index.
const HAND_OVER = `update mail_outbox m set next_attempt_at = now() + $2 * interval '1 millisecond'
  from due where m.id = any(array(select id from due)) and m.id = due.id returning m.id, m.attempts, m.next_attempt_at::text as until, due.import_id is null as alone, due.released`;

const ALONE = `
with due as (
  select id, import_id, false as released from mail_outbox
  where state = 'pending' and import_id is null and next_attempt_at <= now()
  order by next_attempt_at, id limit $1 for update skip locked
)
${HAND_OVER}`;

/** A recursive step of SQL: the ids of imports with pending mails, and null. Reads one index entry for each import. */
export const NEXT_IMPORT = `next_import (id) as (
  (select import_id from mail_outbox where state = 'pending' and import_id is not null order by import_id limit 1)
  union all
  select (
    select m.import_id from mail_outbox m where m.state = 'pending' and m.import_id > n.id order by m.import_id limit 1)
  from next_import n where n.id is not null
)`;

// Skips from import to import over the index, however many mails they have. The lateral and scalar subqueries force
// index lookups: with plain joins, a planner that expects few mails or imports would read all of them.
const OPEN = `
with recursive ${NEXT_IMPORT},
open as materialized (
  select n.id, coalesce(i.mails = 'released', false) as released
  from next_import n left join lateral (select mails from imports where id = n.id offset 0) i on true
  where n.id is not null and i.mails is distinct from 'held' and (
    select m.next_attempt_at from mail_outbox m where m.state = 'pending' and m.import_id = n.id
    order by m.next_attempt_at limit 1) <= now()
),
share as (select ceil($1::numeric / greatest(count(*), 1))::int as n from open)`;

const DUE = `
due as materialized (
  select d.id, t.id as import_id, t.released from turn t cross join lateral (
    select m.id from mail_outbox m
    where m.state = 'pending' and m.import_id = t.id and m.next_attempt_at <= now()
    order by m.next_attempt_at, m.id limit t.n for update skip locked) d
  limit $1
)`;

const TURNS = `${OPEN},
turn as materialized (select open.id, open.released, share.n from open, share order by random()),
${DUE}
${HAND_OVER}`;

// `mails_free_at` is when the mails handed over so far would all be sent at the rate; claims may run ahead of it by one
// mail plus the mails of a tenth of a second. Both ends of the calculation use now(): with two clocks, a microsecond's
// difference could cost a mail.
//
// Single imports are removed after a day, and `import_dispatch` with them: their mails have no rate any more.
const TURNS_RATED = `${OPEN},
rated as materialized (
  select open.id, open.released, least(share.n, greatest(0, floor(
    1.001 + $3::float8 * (0.1 + extract(epoch from now() - greatest(d.mails_free_at, now()))))))::int as n
  from import_dispatch d join open on open.id = d.import_id cross join share
  where d.import_id = any(array(select id from open))
  order by random() for update of d skip locked
),
turn as materialized (
  select id, released, n from rated
  union all
  select open.id, open.released, share.n from open cross join share
  where not exists (select from import_dispatch d where d.import_id = open.id)
),
${DUE},
moved as (
  update import_dispatch d
  set mails_free_at = greatest(d.mails_free_at, now()) + c.n / $3::float8 * interval '1 second'
  from (select import_id, count(*) as n from due group by import_id) c
  where d.import_id = any(array(select import_id from due)) and d.import_id = c.import_id
)
${HAND_OVER}`;
