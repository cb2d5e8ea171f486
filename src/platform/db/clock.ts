/** How far the clock of this process is from that of the database. */
import type { Db } from './pool.ts';

/** How far this clock is ahead of PostgreSQL's, in seconds. Compares with the middle of the round trip, so a slow network is not taken for a wrong clock. */
export async function clockSkew(db: Db): Promise<number> {
  const asked = Date.now();
  const { rows } = await db.query<{ at: number }>('select extract(epoch from clock_timestamp())::float8 as at');
  return (asked + Date.now()) / 2000 - (rows[0]?.at ?? Number.NaN);
}
