/**
 * Counting failed logins: by what was typed, to slow the answers down, and by user, to lock it.
 *
 * Guarantee: how long an answer takes depends on what was typed before and on nothing else, so it does not tell whether
 * there is such a user. For the same reason a good login forgets the user's count and leaves that of the name to age.
 * If we die in mid-count, one failure is not counted.
 */
import { createHash } from 'node:crypto';
import type { Db } from '../../db/pool.ts';
import { nameKey } from '../../fields/fields.ts';
import type { LoginUser } from './store.ts';

/** This many failures are answered at once: people mistype. */
const FREE_FAILURES = 3;
const LONGEST_MS = 2000;
/** A count that rested for so long starts anew. */
const FORGOTTEN = `interval '24 hours'`;
/** 2^20 buckets: a table of a million short rows at most. */
const BUCKET_BITS = 20;

export interface Failures {
  /** In a row, by what was typed. */
  typed: number;
  /** In a row, of the user; 0 when there is none. */
  user: number;
}

const COUNT = `with typed as (
    insert into login_delays as d (bucket, failures) values ($1, 1)
    on conflict (bucket) do update set ${oneMore('d')} returning failures),
  known as (
    insert into login_failures as f (user_id, failures) select id, 1 from users where id = $2 for key share
    on conflict (user_id) do update set ${oneMore('f')} returning failures)
  select (select failures from typed) as typed, coalesce((select failures from known), 0) as "user"`;

function oneMore(row: string): string {
  return `failures = case when ${row}.last_failure_at < now() - ${FORGOTTEN} then 1 else ${row}.failures + 1 end,
    last_failure_at = now()`;
}

/**
 * Counts one failure.
 * @param userId of the user whose password was not met; none when there is no such user, or it has no password
 */
export async function countFailure(db: Db, typed: LoginUser, userId: string | undefined): Promise<Failures> {
  const { rows } = await db.query<Failures>(COUNT, [bucketOf(typed), userId ?? null]);
  return rows[0] as Failures;
}

/** Milliseconds to wait with the answer to the `failures`-th failure in a row: none for 3, then twice as long each time. */
export function failureDelayMs(failures: number, baseMs: number): number {
  if (failures <= FREE_FAILURES) return 0;
  return Math.min(baseMs * 2 ** Math.min(failures - FREE_FAILURES - 1, 30), LONGEST_MS);
}

/** Removes counts that rested for so long that they would start anew; answers how many. Any number may run at once. */
export async function sweepFailures(db: Db): Promise<number> {
  let swept = 0;
  for (const table of ['login_failures', 'login_delays']) {
    const { rowCount } = await db.query(`delete from ${table} where last_failure_at < now() - ${FORGOTTEN}`);
    swept += rowCount ?? 0;
  }
  return swept;
}

/** Names that compare as one are counted as one. */
function bucketOf(typed: LoginUser): number {
  const text = 'userId' in typed ? `id:${typed.userId}` : `name:${nameKey(typed.loginName)}`;
  return createHash('sha256').update(text).digest().readUInt32BE(0) >>> (32 - BUCKET_BITS);
}
