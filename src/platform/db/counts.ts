/**
 * Counts of what may happen a number of times within a window, for all processes together: attempts of an address, wrong
 * codes, what strangers have stored, changes of the own account.
 *
 * Guarantee: what is counted is stored as a hash, for little longer than its window. In a transaction, a count that is
 * rolled back has not happened.
 * On crash: the counts remain; after a crash of the database they start at 0, as the table is not in its log.
 */
import { createHash } from 'node:crypto';
import { ApiError, type IdOf } from '../errors.ts';
import { type Db, prepared } from './pool.ts';
import { oneRow } from './rows.ts';
import { sweepRows } from './sweep.ts';

export interface Limit {
  /** Units within a window. */
  limit: number;
  windowMs: number;
  /** What the caller is told. */
  message: string;
  /** The id of the error; default: RATE-LIMIT. */
  id?: IdOf<'RESOURCE_EXHAUSTED'>;
}

const IS_OVER = '(a.ends_at <= clock_timestamp())';

/**
 * Counts, and refuses what goes beyond the limit.
 * @param key says what is counted, and of whom
 * @param units what this one counts for
 * @throws ApiError 429 RATE-LIMIT, or `id`
 */
export async function countWithin(
  db: Db,
  key: string,
  { limit, windowMs, message, id = 'RATE-LIMIT' }: Limit,
  units: number = 1,
): Promise<void> {
  const { attempts, ms } = await addAttempt(db, key, windowMs, units);
  if (attempts <= limit) return;
  const retryAfterS = Math.max(1, Math.ceil(ms / 1000));
  throw new ApiError('RESOURCE_EXHAUSTED', id, message, { retryAfterS });
}

/** Takes back one unit that `countWithin` has counted. */
export async function discount(db: Db, key: string): Promise<void> {
  const text = 'update attempt_counts set attempts = attempts - 1 where address = $1 and attempts > 0';
  await db.query(prepared(text, [hashOf(key)]));
}

/** The keys of what the limits of an organization count. */
export const ORG_COUNTS = {
  /** Of the day of UTC. */
  mails: (orgId: string, now = new Date()) => `mails of ${orgId} on ${now.toISOString().slice(0, 10)}`,
  /** Of the day of UTC. */
  texts: (orgId: string, now = new Date()) => `text messages of ${orgId} on ${now.toISOString().slice(0, 10)}`,
  requests: (orgId: string) => `requests of ${orgId}`,
};

/**
 * Counts one unit, unless that would go beyond the limit: then the count stays.
 * @param windowMs from the first one on
 */
export async function takeWithin(db: Db, key: string, limit: number, windowMs: number): Promise<boolean> {
  if (limit < 1) return false;
  const text = `insert into attempt_counts as a (address, attempts, ends_at)
    values ($1, 1, clock_timestamp() + $2 * interval '1 millisecond')
    on conflict (address) do update set
      attempts = case when ${IS_OVER} then 1 else a.attempts + 1 end,
      ends_at = case when ${IS_OVER} then excluded.ends_at else a.ends_at end
      where ${IS_OVER} or a.attempts < $3`;
  return (await db.query(prepared(text, [hashOf(key), windowMs, limit]))).rowCount === 1;
}

/** How far the windows of these keys are that have not ended, in the order of the keys. */
export async function countsOf(db: Db, keys: readonly string[]): Promise<number[]> {
  const text = `select coalesce(a.attempts, 0) as n from unnest($1::bigint[]) with ordinality as k (address, place)
    left join attempt_counts a on a.address = k.address and not ${IS_OVER} order by k.place`;
  const { rows } = await db.query<{ n: number }>(prepared(text, [keys.map(hashOf)]));
  return rows.map(({ n }) => n);
}

export interface Counted {
  attempts: number;
  /** Until the count starts again. */
  ms: number;
}

/** Far from the end of an integer, so that a flood never overflows it. */
const MOST = 1_000_000_000;

/** Adds to the count of a key. @param windowMs from the first one on */
export async function addAttempt(db: Db, key: string, windowMs: number, units: number = 1): Promise<Counted> {
  const text = `insert into attempt_counts as a (address, attempts, ends_at)
    values ($1, $3, clock_timestamp() + $2 * interval '1 millisecond')
    on conflict (address) do update set
      attempts = case when ${IS_OVER} then excluded.attempts else least(a.attempts, ${MOST}) + excluded.attempts end,
      ends_at = case when ${IS_OVER} then excluded.ends_at else a.ends_at end
    returning attempts, ceil(extract(epoch from ends_at - clock_timestamp()) * 1000)::float8 as ms`;
  const { rows } = await db.query<Counted>(prepared(text, [hashOf(key), windowMs, units]));
  return oneRow(rows);
}

/** 64 bits, so that nobody finds an address that shares its count with another one. */
function hashOf(key: string): string {
  return createHash('sha256').update(key).digest().readBigInt64BE().toString();
}

/** Removes one batch of counts whose window is over; returns how many. */
export function sweepAttempts(db: Db): Promise<number> {
  return sweepRows(db, { table: 'attempt_counts', where: 'ends_at < now()', order: 'ends_at' });
}
