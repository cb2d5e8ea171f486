/**
 * The audit trail: each change of an organization, user or policy appends one event.
 * `sequence` in a `details` object is the number of the object's last event.
 */
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

/** Appends one event. Call it in the transaction that makes the change. */
export async function appendEvent(db: Db, event: NewEvent): Promise<AppendedEvent> {
  const { rows } = await db.query<{ sequence: string; created_at: Date }>(
    `insert into events (aggregate_type, aggregate_id, resource_owner, type, editor, payload)
     values ($1, $2, $3, $4, $5, $6) returning sequence, created_at`,
    [event.aggregateType, event.aggregateId, event.resourceOwner, event.type, event.editor, event.payload ?? null],
  );
  const row = rows[0] as { sequence: string; created_at: Date };
  return { sequence: row.sequence, createdAt: row.created_at };
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
