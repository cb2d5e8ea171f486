/**
 * Reads audit events, page by page.
 *
 * Guarantee: a page continues after the last event of the page before it, so events that are added meanwhile neither
 * shift nor repeat others. Each filter has an index in the order of the pages.
 */
import type { Db } from '../db/pool.ts';
import type { AuditFilter } from './schema.ts';
import { type AuditRow, COLUMNS } from './view.ts';

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

export function tokenAfter({ createdAt, sequence }: Position): string {
  return `${createdAt.getTime()}-${sequence}`;
}
