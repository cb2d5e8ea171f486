/**
 * The history of changes: each change of an organization, user or policy appends one event, and with it the audit event
 * that operators search (`audit.ts`). Users that an import writes have no audit event each: the import has.
 * `sequence` in a `details` object is the number of the object's last event.
 */
import { type AuditEvent, auditOfChange, auditValues } from './audit.ts';
import type { Db } from './pool.ts';

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

const APPEND = {
  name: 'append_event',
  text: `with ${eventWhere('(values (1)) as always', 1)} select sequence, created_at from added`,
};

/** Appends one event and its audit event. Call it in the transaction that makes the change. */
export async function appendEvent(db: Db, event: NewEvent): Promise<AppendedEvent> {
  const values = eventValues(event);
  const { rows } = await db.query<{ sequence: string; created_at: Date }>({ ...APPEND, values });
  const row = rows[0] as { sequence: string; created_at: Date };
  return { sequence: row.sequence, createdAt: row.created_at };
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

/** The `details` object of a response; only some operations return `creationDate`. */
export interface Details {
  sequence: string;
  creationDate?: string;
  changeDate: string;
  resourceOwner: string;
}

/** Builds a details object from a row's columns. */
export function details(of: { sequence: string; changedAt: Date; resourceOwner: string; createdAt?: Date }): Details {
  return {
    sequence: of.sequence,
    ...(of.createdAt ? { creationDate: of.createdAt.toISOString() } : {}),
    changeDate: of.changedAt.toISOString(),
    resourceOwner: of.resourceOwner,
  };
}
