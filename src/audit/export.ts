/**
 * Exports audit events as NDJSON or CSV.
 *
 * Guarantee: pages are read as fast as the client takes them, memory does not grow with the number of events, and no
 * transaction stays open. Events that are added after the export began are not in it, so it ends.
 * On crash: the connection breaks, so the client can tell that the export is incomplete.
 */
import type { Db } from '../db/pool.ts';
import { type Position, readEvents } from './read.ts';
import type { AuditFilter } from './schema.ts';
import { type AuditRow, auditView, CSV_HEADER, csvLine } from './view.ts';

const PAGE = 1000;

/** @param orgIds as in `readEvents` */
export async function* exportText(
  db: Db,
  { format, ...filter }: AuditFilter & { format: 'ndjson' | 'csv' },
  orgIds: string[] | undefined,
): AsyncIterable<string> {
  if (format === 'csv') yield CSV_HEADER;
  for await (const row of eventsUntilNow(db, filter, orgIds)) {
    yield format === 'csv' ? csvLine(row) : `${JSON.stringify(auditView(row))}\n`;
  }
}

async function* eventsUntilNow(db: Db, filter: AuditFilter, orgIds: string[] | undefined): AsyncIterable<AuditRow> {
  const to = await endOf(db, filter.to);
  for (let after: Position | undefined; ; ) {
    const rows = await readEvents(db, { ...filter, to }, { orgIds, limit: PAGE, after });
    yield* rows;
    if (rows.length < PAGE) return;
    after = rows.at(-1);
  }
}

/** By the clock of the database, which dates the events. */
async function endOf(db: Db, to: Date | undefined): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>('select clock_timestamp() as now');
  const now = (rows[0] as { now: Date }).now;
  return to !== undefined && to < now ? to : now;
}
