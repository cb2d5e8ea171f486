/** An audit event as the API returns it. Fields without a value are absent. */
import { csvRecord } from '../streaming/csv-record.ts';

export interface AuditRow {
  sequence: string;
  createdAt: Date;
  type: string;
  actorKind: string;
  actorId: string | null;
  userId: string | null;
  orgId: string | null;
  clientId: string | null;
  objectType: string | null;
  objectId: string | null;
  address: string | null;
  userAgent: string | null;
  requestId: string | null;
  payload: Record<string, unknown> | null;
  count: number;
  lastAt: Date | null;
}

export const COLUMNS = `sequence, created_at as "createdAt", type, actor_kind as "actorKind", actor_id as "actorId",
  user_id as "userId", org_id as "orgId", client_id as "clientId", object_type as "objectType",
  object_id as "objectId", host(address) as address, user_agent as "userAgent", request_id as "requestId", payload,
  count, last_at as "lastAt"`;

export function auditView(row: AuditRow): Record<string, unknown> {
  const { createdAt, lastAt, actorKind, actorId, objectType, objectId, sequence, type, ...rest } = row;
  return withoutNulls({
    sequence,
    creationDate: createdAt.toISOString(),
    type,
    actor: withoutNulls({ kind: actorKind, id: actorId }),
    ...rest,
    object: objectType && { type: objectType, id: objectId },
    lastDate: lastAt?.toISOString() ?? null,
  });
}

function withoutNulls(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

export const CSV_HEADER = csvRecord([
  ...['sequence', 'creationDate', 'type', 'actorKind', 'actorId', 'userId', 'orgId', 'clientId', 'objectType'],
  ...['objectId', 'address', 'userAgent', 'requestId', 'payload', 'count', 'lastDate'],
]);

export function csvLine(row: AuditRow): string {
  const { createdAt, payload, count, lastAt } = row;
  return csvRecord([
    ...[row.sequence, createdAt.toISOString(), row.type, row.actorKind, row.actorId ?? '', row.userId ?? ''],
    ...[row.orgId ?? '', row.clientId ?? '', row.objectType ?? '', row.objectId ?? '', row.address ?? ''],
    ...[row.userAgent ?? '', row.requestId ?? '', payload ? JSON.stringify(payload) : '', count],
    lastAt?.toISOString() ?? '',
  ]);
}
