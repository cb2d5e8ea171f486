/**
 * Audit events: reads them page by page, shows them as the API does, exports and deletes them.
 *
 * Guarantee: a page continues after the last event of the page before it, so events that are added meanwhile neither
 * shift nor repeat others. Each filter has an index in the order of the pages. An export reads pages as fast as the
 * client takes them; memory does not grow with the number of events, and no transaction stays open. Events that are
 * added after an export began are not in it, so it ends.
 *
 * On crash: the connection of an export breaks, so the client can tell that it is incomplete.
 */
import type { z } from 'zod';
import type { AuditFilter, auditEvent } from '../contract/events.ts';
import type { Db } from '../platform/db/pool.ts';
import { columnList, type Named, type Names, oneRow } from '../platform/db/rows.ts';
import { sweepRows } from '../platform/db/sweep.ts';
import type { AuditEvents } from '../platform/db/tables.ts';
import { csvRecord } from '../platform/text/lines.ts';

const AUDIT_EVENT = {
  sequence: 'sequence',
  createdAt: 'created_at',
  type: 'type',
  actorKind: 'actor_kind',
  actorId: 'actor_id',
  userId: 'user_id',
  orgId: 'org_id',
  clientId: 'client_id',
  objectType: 'object_type',
  objectId: 'object_id',
  userAgent: 'user_agent',
  requestId: 'request_id',
  count: 'count',
  lastAt: 'last_at',
} as const satisfies Names<AuditEvents>;

export interface AuditRow extends Named<AuditEvents, typeof AUDIT_EVENT> {
  /** Without the length of a network. */
  address: string | null;
  payload: Record<string, unknown> | null;
}

export const COLUMNS = `${columnList(AUDIT_EVENT)}, host(address) as address, payload`;

/** The last event of a page. */
export interface Position {
  createdAt: Date;
  sequence: string;
}

export interface AuditPage {
  /** The organizations whose events the caller may read; undefined: all, and events of no organization. */
  orgIds: string[] | undefined;
  limit: number;
  after: Position | undefined;
}

/** One page of the events that match the filter. */
export async function readEvents(db: Db, filter: AuditFilter, page: AuditPage): Promise<AuditRow[]> {
  const values: unknown[] = [];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const where = conditions(filter, page, parameter);
  const order = filter.asc ? 'asc' : 'desc';
  const { rows } = await db.query<AuditRow>(
    `select ${COLUMNS} from audit_events ${where.length > 0 ? `where ${where.join(' and ')}` : ''}
     order by created_at ${order}, sequence ${order} limit ${parameter(page.limit)}`,
    values,
  );
  return rows;
}

function conditions(
  { types, userId, actorId, orgId, clientId, address, from, to, asc }: AuditFilter,
  { orgIds, after }: AuditPage,
  parameter: (value: unknown) => string,
): string[] {
  const all: [unknown, (p: string) => string][] = [
    [one(types), (p) => `type = ${p}`],
    [many(types), (p) => `type = any(${p}::text[])`],
    [userId, (p) => `user_id = ${p}`],
    [actorId, (p) => `actor_id = ${p}`],
    [orgId ?? one(orgIds), (p) => `org_id = ${p}`],
    [orgId === undefined ? many(orgIds) : undefined, (p) => `org_id = any(${p}::text[])`],
    [clientId, (p) => `client_id = ${p}`],
    [address, (p) => `address <<= ${p}::inet`],
    [from, (p) => `created_at >= ${p}`],
    [to, (p) => `created_at < ${p}`],
  ];
  const given = all.filter(([value]) => value !== undefined).map(([value, sql]) => sql(parameter(value)));
  if (!after) return given;
  const position = `(${parameter(after.createdAt)}::timestamptz, ${parameter(after.sequence)}::bigint)`;
  return [...given, `(created_at, sequence) ${asc ? '>' : '<'} ${position}`];
}

/** An index can return one value in order; several need a sort. */
function one<T>(list: T[] | undefined): T | undefined {
  return list?.length === 1 ? list[0] : undefined;
}

function many<T>(list: T[] | undefined): T[] | undefined {
  return list?.length === 1 ? undefined : list;
}

/** @param token of the form that the schema checks */
export function positionOf(token: string | undefined): Position | undefined {
  if (token === undefined) return undefined;
  const [ms, sequence = ''] = token.split('-');
  return { createdAt: new Date(Number(ms)), sequence };
}

/** The page token that leads to the events after this one. */
export function tokenAfter({ createdAt, sequence }: Position): string {
  return `${createdAt.getTime()}-${sequence}`;
}

const PAGE = 1000;

/** All events that match the filter, as NDJSON or CSV. @param orgIds as in `AuditPage` */
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

/** When the export ends, by the clock of the database, which dates the events. */
async function endOf(db: Db, to: Date | undefined): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>('select clock_timestamp() as now');
  const now = oneRow(rows).now;
  return to !== undefined && to < now ? to : now;
}

type AuditView = z.input<typeof auditEvent>;

/** An event as the API returns it. Fields without a value are absent. */
export function auditView(row: AuditRow): AuditView {
  const { createdAt, lastAt, actorKind, actorId, objectType, objectId, sequence, type, ...rest } = row;
  const { address, userAgent, requestId, payload, count, ...ids } = rest;
  return withoutNulls({
    sequence,
    creationDate: createdAt.toISOString(),
    type,
    actor: withoutNulls({ kind: actorKind, id: actorId }),
    ...ids,
    address,
    userAgent,
    requestId,
    payload,
    count,
    object: objectType && { type: objectType, id: objectId },
    lastDate: lastAt?.toISOString() ?? null,
  }) as AuditView;
}

function withoutNulls(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** The first line of an export as CSV. */
export const CSV_HEADER = csvRecord([
  'sequence',
  'creationDate',
  'type',
  'actorKind',
  'actorId',
  'userId',
  'orgId',
  'clientId',
  'objectType',
  'objectId',
  'address',
  'userAgent',
  'requestId',
  'payload',
  'count',
  'lastDate',
]);

/** An event as a line of CSV. */
export function csvLine(row: AuditRow): string {
  const { createdAt, payload, count, lastAt } = row;
  return csvRecord([
    row.sequence,
    createdAt.toISOString(),
    row.type,
    row.actorKind,
    row.actorId ?? '',
    row.userId ?? '',
    row.orgId ?? '',
    row.clientId ?? '',
    row.objectType ?? '',
    row.objectId ?? '',
    row.address ?? '',
    row.userAgent ?? '',
    row.requestId ?? '',
    payload ? JSON.stringify(payload) : '',
    count,
    lastAt?.toISOString() ?? '',
  ]);
}

/**
 * Removes one batch of events that are older than the retention time; returns how many. The history of changes
 * (`events`) has times of its own.
 * @param days 0: keeps all
 */
export async function sweepAudit(db: Db, days: number): Promise<number> {
  if (days === 0) return 0;
  const expired = { where: `created_at < now() - $1 * interval '1 day'`, order: 'created_at, sequence' };
  return sweepRows(db, { table: 'audit_events', ...expired }, [days]);
}
