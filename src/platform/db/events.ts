/**
 * The history of changes, and the audit events that operators search (`src/directory/` has the search).
 *
 * Each change of an organization, user or policy appends one event, and with it one audit event: who did what to whom,
 * from where. `sequence` in a `details` object is the number of the object's last event. Sign-ins and tokens, which
 * change nothing that has a `sequence`, write an audit event only. Users that an import writes have no audit event
 * each: the import has.
 *
 * Guarantee: no event holds a password, code, token, secret or hash.
 * On crash: an event exists exactly if its transaction was committed.
 */
import { type RequestContext, requestContext } from '../request-context.ts';
import { countWithin } from './counts.ts';
import type { Db } from './pool.ts';
import { oneRow } from './rows.ts';
import type { Events } from './tables.ts';

/** The actor of work that no caller started. */
export const SYSTEM = 'system';

export interface NewEvent {
  aggregateType: 'organization' | 'user' | 'import' | 'instance' | 'client';
  aggregateId: string;
  /** Id of the organization (or `instance`) that the object belongs to. */
  resourceOwner: string;
  /** Past tense, dotted: `user.human.imported`. */
  type: string;
  /** User id of the caller, or `system`. */
  editor: string;
  /** Must never contain a secret or a hash. */
  payload?: Record<string, unknown>;
}

export interface AppendedEvent {
  sequence: string;
  createdAt: Date;
}

export interface AuditEvent {
  /** One of AUDIT_TYPES (`src/contract/events.ts`). */
  type: string;
  /** User id of the actor, or SYSTEM; absent: nobody was authenticated. */
  actor?: string | undefined;
  /** An OAuth client that acts for itself; then there is no `actor`. */
  actingClient?: string | undefined;
  /** The user concerned. */
  userId?: string | undefined;
  /** The organization concerned; absent: the organization of the user concerned. */
  orgId?: string | undefined;
  /** Absent: the client of the request. */
  clientId?: string | undefined;
  /** What was changed, if it is not a user. */
  object?: { type: string; id: string } | undefined;
  payload?: object | undefined;
  /** Equal keys share one row, which counts them. */
  repeatKey?: Buffer;
  /** Absent: the origin of the request in progress. */
  origin?: Partial<Pick<RequestContext, 'address' | 'userAgent' | 'requestId'>>;
}

const COLUMNS = `type, actor_kind, actor_id, user_id, org_id, client_id, object_type, object_id, address, user_agent,
  request_id, payload, repeat_key`;

const APPEND = {
  name: 'append_event',
  text: `with ${eventWhere('(values (1)) as always', 1)} select sequence, created_at from added`,
};

const RECORD = {
  name: 'record_audit',
  text: `insert into audit_events as a (${COLUMNS}) values (${row(1)})
    on conflict (repeat_key) where repeat_key is not null
    do update set count = a.count + 1, last_at = clock_timestamp()`,
};

/** Changes of the own account, which need no role; the history of changes is kept for a year. */
const OWN_CHANGES = {
  limit: 200,
  windowMs: 24 * 60 * 60_000,
  message: 'Too many changes of your own account. Try again later, or ask a manager.',
};

/**
 * Appends one event and its audit event. Call it in the transaction that makes the change.
 * @throws ApiError 429 RATE-LIMIT for a user who changes themselves very often
 */
export async function appendEvent(db: Db, event: NewEvent): Promise<AppendedEvent> {
  const { aggregateType, aggregateId, editor } = event;
  if (aggregateType === 'user' && editor === aggregateId) {
    await countWithin(db, `own changes ${aggregateId}`, OWN_CHANGES);
  }
  const values = eventValues(event);
  const { rows } = await db.query<Pick<Events, 'sequence' | 'created_at'>>({ ...APPEND, values });
  const { sequence, created_at: createdAt } = oneRow(rows);
  return { sequence, createdAt };
}

/** Adds an event with the context of the request in progress. */
export async function recordAudit(db: Db, event: AuditEvent): Promise<void> {
  await db.query({ ...RECORD, values: auditValues(event) });
}

/**
 * SQL steps that append an event and its audit event where the step `found` has a row, for a change that is one
 * statement. The event is the step `added`.
 * @param first parameter of `eventValues`
 */
export function eventWhere(found: string, first: number): string {
  const at = (n: number) => `$${first + n}`;
  return `added as (
      insert into events (aggregate_type, aggregate_id, resource_owner, type, editor, payload)
      select ${at(0)}::text, ${at(1)}::text, ${at(2)}::text, ${at(3)}::text, ${at(4)}::text, ${at(5)}::jsonb from ${found}
      returning sequence, created_at),
    audited as (${auditOfChange('added', first + 6)})`;
}

/** The parameters of `eventWhere`. */
export function eventValues(event: NewEvent): unknown[] {
  const { aggregateType, aggregateId, resourceOwner, type, editor, payload = null } = event;
  return [aggregateType, aggregateId, resourceOwner, type, editor, payload, ...auditValues(auditOf(event))];
}

/** The events of a membership belong to the organization or the instance, and concern the user in the payload. */
function auditOf({ aggregateType, aggregateId, resourceOwner, type, editor, payload }: NewEvent): AuditEvent {
  const member = typeof payload?.userId === 'string' ? payload.userId : undefined;
  return {
    type,
    actor: editor,
    userId: aggregateType === 'user' ? aggregateId : member,
    orgId: resourceOwner === 'instance' ? undefined : resourceOwner,
    object: aggregateType === 'user' ? undefined : { type: aggregateType, id: aggregateId },
    payload,
  };
}

/** SQL that adds the event of a change, of which `changed` is a step with its `sequence`. */
export function auditOfChange(changed: string, first: number): string {
  return `insert into audit_events (sequence, ${COLUMNS}) select sequence, ${row(first)} from ${changed}`;
}

/** SQL that adds an event where the step `found` has a row, with `auditValues` from parameter `first` on. */
export function auditWhere(found: string, first: number): string {
  return `insert into audit_events (${COLUMNS}) select ${row(first)} from ${found}`;
}

/** The parameters of `auditOfChange` and `auditWhere`. */
export function auditValues(event: AuditEvent): unknown[] {
  const context = requestContext();
  const { type, actor, actingClient, userId, orgId, clientId = context?.clientId, object, payload, repeatKey } = event;
  const { origin = context } = event;
  const kind = actorKind(event);
  return [
    type,
    kind,
    kind === 'system' ? null : (actor ?? actingClient),
    userId,
    orgId,
    clientId,
    object?.type,
    object?.id,
    origin?.address,
    origin?.userAgent,
    origin?.requestId,
    payload && JSON.stringify(payload, (_, value) => (typeof value === 'string' ? storable(value) : value)),
    repeatKey,
  ].map((value) => (typeof value === 'string' ? storable(value) : (value ?? null)));
}

/** PostgreSQL has no text with NUL or half a surrogate pair, which anybody may send. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd');
}

/** A user may have the id `system`; such a caller is not the system. */
function actorKind({ actor, actingClient }: AuditEvent): 'system' | 'user' | 'client' | 'anonymous' {
  if (actor === SYSTEM && requestContext()?.userId !== SYSTEM) return 'system';
  if (actor !== undefined) return 'user';
  return actingClient === undefined ? 'anonymous' : 'client';
}

/** SQL of the values of an audit event, with `auditValues` from parameter `first` on. */
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
    at(5),
    at(6),
    at(7),
    `${at(8)}::inet`,
    at(9),
    at(10),
    `${at(11)}::jsonb`,
    `$${first + 12}::bytea`,
  ];
  return values.join(', ');
}

/** The `details` object of a response; only some operations return `creationDate`. */
export interface Details {
  sequence: string;
  creationDate?: string;
  changeDate: string;
  resourceOwner: string;
}

/** Builds a details object from a row's columns. */
export function details<T extends { sequence: string; changedAt: Date; resourceOwner: string; createdAt?: Date }>(
  of: T,
) {
  return {
    sequence: of.sequence,
    ...(of.createdAt ? { creationDate: of.createdAt.toISOString() } : {}),
    changeDate: of.changedAt.toISOString(),
    resourceOwner: of.resourceOwner,
  } as T extends { createdAt: Date } ? Details & { creationDate: string } : Details;
}

/** The answer to a change, from its event. */
export function changedAnswer({ sequence, createdAt }: AppendedEvent, resourceOwner: string): { details: Details } {
  return { details: details({ sequence, changedAt: createdAt, resourceOwner }) };
}

/** The details of something new, from its event. */
export function newDetails({ sequence, createdAt }: AppendedEvent, resourceOwner: string) {
  return details({ sequence, createdAt, changedAt: createdAt, resourceOwner });
}
