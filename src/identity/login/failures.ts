/**
 * Counts failed logins: by the name or id entered, to delay answers, and by user, to lock them.
 *
 * Guarantee: the delay of an answer depends only on earlier failures of the same name or id, so it does not reveal
 * whether the user exists. For the same reason a successful login resets the user's count but leaves the name's count
 * to expire.
 *
 * On crash: at most one failure is not counted.
 */
import { createHash } from 'node:crypto';
import type { Db } from '../../db/pool.ts';
import { sweepRows } from '../../db/sweep.ts';
import { nameKey } from '../../fields/fields.ts';
import type { LoginUser } from './store.ts';

/** This many failures are answered without delay: people mistype. */
const FREE_FAILURES = 3;
const LONGEST_MS = 2000;
/** A count restarts after this time without a failure. */
const FORGOTTEN = `interval '24 hours'`;
/** 2^20 buckets: the table has at most a million short rows. */
const BUCKET_BITS = 20;

export interface Failures {
  /** Failures in a row for the name or id entered. */
  typed: number;
  /** Failures in a row for the user; 0 if the user is unknown or has no password. */
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
 * @param userId the user whose password was wrong; undefined if the user is unknown or has no password
 */
export async function countFailure(db: Db, typed: LoginUser, userId: string | undefined): Promise<Failures> {
  const { rows } = await db.query<Failures>(COUNT, [bucketOf(typed), userId ?? null]);
  return rows[0] as Failures;
}

/** Delay in milliseconds of the answer to the `failures`-th failure in a row: 0 for the first 3, then doubling. */
export function failureDelayMs(failures: number, baseMs: number): number {
  if (failures <= FREE_FAILURES) return 0;
  return Math.min(baseMs * 2 ** Math.min(failures - FREE_FAILURES - 1, 30), LONGEST_MS);
}

/** Removes one batch each of counts that would restart anyway; returns the number of rows of the larger batch. */
export async function sweepFailures(db: Db): Promise<number> {
  const expired = { where: `last_failure_at < now() - ${FORGOTTEN}`, order: 'last_failure_at' };
  const users = await sweepRows(db, { table: 'login_failures', ...expired });
  return Math.max(users, await sweepRows(db, { table: 'login_delays', ...expired }));
}

/** Names that compare as equal are counted together. */
function bucketOf(typed: LoginUser): number {
  const text = 'userId' in typed ? `id:${typed.userId}` : `name:${nameKey(typed.loginName)}`;
  return createHash('sha256').update(text).digest().readUInt32BE(0) >>> (32 - BUCKET_BITS);
}
