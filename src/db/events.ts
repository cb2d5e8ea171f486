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

const APPEND = {
  name: 'append_event',
  text: `with added as (
      insert into events (aggregate_type, aggregate_id, resource_owner, type, editor, payload)
      values ($1, $2, $3, $4, $5, $6) returning sequence, created_at),
    audited as (${auditOfChange('added', 7)})
    select sequence, created_at from added`,
};

/** Appends one event and its audit event. Call it in the transaction that makes the change. */
export async function appendEvent(db: Db, event: NewEvent): Promise<AppendedEvent> {
  const { aggregateType, aggregateId, resourceOwner, type, editor, payload = null } = event;
  const { rows } = await db.query<{ sequence: string; created_at: Date }>({
    ...APPEND,
    values: [aggregateType, aggregateId, resourceOwner, type, editor, payload, ...auditValues(auditOf(event))],
  });
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
