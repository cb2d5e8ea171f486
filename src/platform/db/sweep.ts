/**
 * Removes rows that are past their time.
 *
 * Guarantee: one statement removes at most SWEEP_ROWS rows, finds them by an index, and waits for nobody: it leaves
 * rows that another transaction has locked to the next round. So any number of processes may sweep at once.
 */
import type { Db } from './pool.ts';

/** The most rows of a table that one statement removes, and so the number of which there may be more. */
export const SWEEP_ROWS = 1000;

export interface Expired {
  table: string;
  /** SQL over the table: an index starts with what it compares, and holds the rows in this order. */
  where: string;
  /** The indexed time. */
  order: string;
}

/** Removes the oldest expired rows, at most SWEEP_ROWS; returns how many. */
export async function sweepRows(db: Db, expired: Expired, values: unknown[] = []): Promise<number> {
  const { rowCount } = await db.query(
    `delete from ${expired.table} where ctid = any(array(${oldest('ctid', expired)}))`,
    values,
  );
  return rowCount ?? 0;
}

/** SQL of the oldest expired rows, locked, without those that somebody else has locked. */
export function oldest(columns: string, { table, where, order }: Expired): string {
  return `select ${columns} from ${table} where ${where} order by ${order} limit ${SWEEP_ROWS} for update skip locked`;
}
