/**
 * Writes audit events: who did what to whom, from where. `events.ts` adds one for each change; sign-ins and tokens,
 * which change nothing that has a `sequence`, call `recordAudit`. `src/audit/` searches them and deletes old ones.
 *
 * Guarantee: no event holds a password, code, token, secret or hash.
 * On crash: an event exists exactly if its transaction was committed.
 */
import { type RequestContext, requestContext } from '../request-context.ts';
import type { Db } from './pool.ts';

/** The actor of work that no caller started. */
export const SYSTEM = 'system';

export interface AuditEvent {
  /** One of AUDIT_TYPES (`src/audit/types.ts`). */
  type: string;
  /** User id of the actor, or SYSTEM; absent: nobody was authenticated. */
  actor?: string | undefined;
  /** An OAuth client that acts for itself; then there is no `actor`. */
  actingClient?: string | undefined;
  /** The user concerned. */
  userId?: string | undefined;
  /** The organization concerned; absent: that of the user concerned. */
  orgId?: string | undefined;
  /** Absent: the client of the request. */
  clientId?: string | undefined;
  /** What was changed, if it is not a user. */
  object?: { type: string; id: string } | undefined;
  payload?: object | undefined;
  /** Equal keys share one row, which counts them. */
  repeatKey?: Buffer | undefined;
  /** Absent: that of the request in progress. */
  origin?: Partial<Pick<RequestContext, 'address' | 'userAgent' | 'requestId'>> | undefined;
}

const COLUMNS = `type, actor_kind, actor_id, user_id, org_id, client_id, object_type, object_id, address, user_agent,
  request_id, payload, repeat_key`;

/** SQL of the row, with `auditValues` from parameter `first` on. */
function row(first: number): string {
  const at = (n: number) => `$${first + n}::text`;
  const kind = `case when ${at(1)} <> 'user' then ${at(1)}
    else coalesce((select kind::text from users where id = ${at(2)}), 'deleted') end`;
  const org = `coalesce(${at(4)}, (select org_id from users where id = ${at(3)}))`;
  const values = [
    at(0),
    kind,
    at(2),
    at(3),
    org,
    ...[5, 6, 7].map(at),
    `${at(8)}::inet`,
    at(9),
    at(10),
    `${at(11)}::jsonb`,
  ];
  return [...values, `$${first + 12}::bytea`].join(', ');
}

/** SQL that adds the event of a change, of which `changed` is a step with its `sequence`. */
export function auditOfChange(changed: string, first: number): string {
  return `insert into audit_events (sequence, ${COLUMNS}) select sequence, ${row(first)} from ${changed}`;
}

/** SQL that adds an event where the step `found` has a row, with `auditValues` from parameter `first` on. */
export function auditWhere(found: string, first: number): string {
  return `insert into audit_events (${COLUMNS}) select ${row(first)} from ${found}`;
}

const RECORD = {
  name: 'record_audit',
  text: `insert into audit_events as a (${COLUMNS}) values (${row(1)})
    on conflict (repeat_key) where repeat_key is not null
    do update set count = a.count + 1, last_at = clock_timestamp()`,
};

/** Adds an event with the context of the request in progress. */
export async function recordAudit(db: Db, event: AuditEvent): Promise<void> {
  await db.query({ ...RECORD, values: auditValues(event) });
}

export function auditValues(event: AuditEvent): unknown[] {
  const context = requestContext();
  const { type, actor, actingClient, userId, orgId, clientId = context?.clientId, object, payload, repeatKey } = event;
  const { origin = context } = event;
  const kind = actorKind(event);
  return [
    ...[type, kind, kind === 'system' ? null : (actor ?? actingClient), userId, orgId, clientId],
    ...[object?.type, object?.id, origin?.address, origin?.userAgent, origin?.requestId],
    ...[payload && JSON.stringify(payload), repeatKey],
  ].map((value) => value ?? null);
}

/** A user may have the id `system`; such a caller is not the system. */
function actorKind({ actor, actingClient }: AuditEvent): 'system' | 'user' | 'client' | 'anonymous' {
  if (actor === SYSTEM && requestContext()?.userId !== SYSTEM) return 'system';
  if (actor !== undefined) return 'user';
  return actingClient === undefined ? 'anonymous' : 'client';
}
