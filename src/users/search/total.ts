/**
 * The total of a search: exact up to COUNTED, then the planner's estimate.
 *
 * Guarantee: programs that page until they have `total` users miss nobody, because an estimate is never below the
 * number of users that the search has shown, and is above it while there may be more.
 */
import type { Db } from '../../db/pool.ts';
import type { Filter, Parameter } from './filter.ts';
import { conditionOf, countUpTo } from './listing.ts';

/** To count this many takes milliseconds. */
export const COUNTED = 10_000;

export interface Total {
  total: number;
  isEstimate: boolean;
}

/** What is known from the page itself. */
export interface Shown {
  /** The users before the page; undefined after a page token. */
  before?: number | undefined;
  users: number;
  /** Whether a further page may have users. */
  hasMore: boolean;
}

export async function totalOf(db: Db, filterWith: (parameter: Parameter) => Filter, shown: Shown): Promise<Total> {
  const counted = await count(db, filterWith);
  if (counted <= COUNTED) return { total: counted, isEstimate: false };
  const { before, users, hasMore } = shown;
  if (before !== undefined && !hasMore && users > 0) return { total: before + users, isEstimate: false };
  const estimate = Math.max(COUNTED + 1, await estimated(db, filterWith));
  if (before === undefined) return { total: estimate, isEstimate: true };
  const total = hasMore ? Math.max(estimate, before + users + 1) : Math.min(estimate, before);
  return { total, isEstimate: true };
}

async function count(db: Db, filterWith: (parameter: Parameter) => Filter): Promise<number> {
  const { values, parameter } = parameters();
  const text = countUpTo(filterWith(parameter), parameter, COUNTED + 1);
  const { rows } = await db.query<{ total: string }>(text, values);
  return Number(rows[0]?.total);
}

/** How many rows the planner expects, by the statistics of the last ANALYZE. */
async function estimated(db: Db, filterWith: (parameter: Parameter) => Filter): Promise<number> {
  const { values, parameter } = parameters();
  const text = `explain (format json) select from users u where ${conditionOf(filterWith(parameter), parameter)}`;
  const { rows } = await db.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(text, values);
  return rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
}

/** Collects the parameters of a statement. */
export function parameters(): { values: unknown[]; parameter: Parameter } {
  const values: unknown[] = [];
  return { values, parameter: (value) => `$${values.push(value)}` };
}
