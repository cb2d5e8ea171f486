import type { Db } from './pool.ts';

/**
 * One holder per duty at a time.
 *
 * Guarantee: a holder that stops renewing, because it is dead or frozen, loses the duty when its lease expires. Each
 * duty must tolerate two holders for a moment; a lease only saves work.
 */

/** Takes or renews the lease. Returns whether `holder` has it for the next `ttlMs` milliseconds. */
export async function holdLease(db: Db, name: string, holder: string, ttlMs: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into leases as l (name, holder, expires_at) values ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
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
