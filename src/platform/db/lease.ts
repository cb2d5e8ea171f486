/**
 * What one process holds until a time: a duty of all processes, or a row that it works on.
 *
 * Guarantee: a holder that is dead or frozen loses what it holds when the time has come, and another process takes it.
 * Each duty must tolerate two holders for a moment: its lease only saves work. Statements about a row that is held name
 * what the claim found, so that a late holder changes nothing.
 */
import type { Db } from './pool.ts';

/** Takes or renews the lease. Returns whether `holder` has it for the next `ttlMs` milliseconds. */
export async function holdLease(db: Db, name: string, holder: string, ttlMs: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into leases as l (name, holder, expires_at) values ($1, $2, ${heldFor(3)})
     on conflict (name) do update set holder = $2, expires_at = excluded.expires_at
     where l.holder = $2 or l.expires_at < clock_timestamp()`,
    [name, holder, ttlMs],
  );
  return rowCount === 1;
}

/** Releases the lease, so that the next holder need not wait until it expires. */
export async function releaseLease(db: Db, name: string, holder: string): Promise<void> {
  await db.query('delete from leases where name = $1 and holder = $2', [name, holder]);
}

/** SQL: when a lease ends that begins now. @param ms the number of the parameter with its milliseconds */
export function heldFor(ms: number): string {
  return `clock_timestamp() + $${ms} * interval '1 millisecond'`;
}

/** SQL: nobody holds the row. @param until the column with the end of its lease; null without one */
export function isFree(until: string): string {
  return `(${until} is null or ${until} < clock_timestamp())`;
}

/** A table whose rows are due at `next_attempt_at`, and its alias in the statement. */
export type Outbox = 'mail_outbox m' | 'webhook_deliveries w';

/** SQL: gives up claims; the rows are due at once. @param where which rows: those that are not settled */
export function releaseRows(outbox: Outbox, where: string): string {
  return `update ${outbox} set next_attempt_at = now() where ${where}`;
}
