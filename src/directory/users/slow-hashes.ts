/**
 * Which times the checks of password hashes take that are in use in this instance: the answer to a wrong password takes
 * as long as the slowest of them, for every user and for unknown ones. More than two seconds do not count: otherwise
 * one organization could delay the answers of all others by the most expensive hash that is accepted.
 *
 * Guarantee: a time is known to all processes from the import of its first user, and at the latest from the first
 * attempt to log in as one. It is forgotten when no such hash was imported or tried for 90 days. The table has at most
 * 50 rows. Of a password source, the time of its slowest refusal counts for an hour.
 */
import { isTriedAsDigest, readingCount } from '../../passwords/forms.ts';
import { checkMs } from '../../passwords/hasher.ts';
import type { Db } from '../../platform/db/pool.ts';
import { oneRow } from '../../platform/db/rows.ts';

/** Times are rounded up to this, so few of them differ. */
const STEP_MS = 100;
const REMEMBERED = `interval '90 days'`;
/** Sources are slow for other reasons than hashes: an outage must not slow down all sign-ins for long. */
const SOURCE_REMEMBERED = `interval '1 hour'`;
/** What bcrypt of cost 14 takes, and more than any usual hash. */
const MOST_MS = 2000;

/**
 * How much longer than for an unknown user the check of this hash takes, in milliseconds, as stored: 0 if hardly.
 * @param times of a hash with a pepper: how often it is computed for each reading of a password
 */
export function slowMs(encoded: string, times?: number): number {
  const { hash, count } = readingCount(encoded);
  // Whatever was typed: with all readings that a password may have, of which each is a task.
  const isTasks = times !== undefined || isTriedAsDigest(encoded);
  return inSteps((isTasks ? count * (times ?? 1) * checkMs(hash) : checkMs(encoded)) - checkMs());
}

function inSteps(ms: number): number {
  return ms < STEP_MS ? 0 : STEP_MS * Math.ceil(ms / STEP_MS);
}

/**
 * Records that a hash is in use; writes nothing for those that are no slower than the service's own.
 * @param times as for `slowMs`
 */
export async function rememberSlowHash(db: Db, encoded: string, times?: number): Promise<void> {
  await rememberSlow(db, slowMs(encoded, times));
}

/** Records a time that `slowMs` returned. Writes at most once a day for each time. */
export async function rememberSlow(db: Db, ms: number): Promise<void> {
  if (ms === 0) return;
  await db.query(
    `insert into slow_hashes (ms)
     select $1 where not exists (select from slow_hashes where ms = $1 and seen_at > now() - interval '1 day')
     on conflict (ms) do update set seen_at = now()`,
    [ms],
  );
}

/** Records how long a password source took to refuse a password; see src/signin/password-sources/. */
export async function rememberSlowSource(db: Db, sourceId: string, ms: number): Promise<void> {
  const slow = Math.min(inSteps(ms - checkMs()), MOST_MS);
  await db.query(
    `update password_sources set slow_ms = $2, slow_at = now()
     where id = $1 and (slow_ms < $2 or slow_at is null or slow_at < now() - ${SOURCE_REMEMBERED})`,
    [sourceId, slow],
  );
}

/** The longest of these times, up to MOST_MS; 0 if there is none. */
export async function slowestMs(db: Db): Promise<number> {
  const { rows } = await db.query<{ ms: number }>(
    `select least($1, greatest(
       (select coalesce(max(ms), 0) from slow_hashes where seen_at > now() - ${REMEMBERED}),
       (select coalesce(max(slow_ms), 0) from password_sources where slow_at > now() - ${SOURCE_REMEMBERED})))::int as ms`,
    [MOST_MS],
  );
  return oneRow(rows).ms;
}
