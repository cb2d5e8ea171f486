/** Audit events as rows of a table. */

export interface AuditEvent {
  sequence: string;
  creationDate: string;
  type: string;
  actor: { kind: string; id?: string };
  userId?: string;
  orgId?: string;
  clientId?: string;
  object?: { type: string; id: string };
  address?: string;
  payload?: Record<string, unknown>;
  count: number;
}

export const EVENT_COLUMNS = ['TIME', 'TYPE', 'ACTOR', 'USER', 'ORGANIZATION', 'CLIENT', 'ADDRESS', 'DETAILS'];

export function eventRow(event: AuditEvent): string[] {
  const { creationDate, type, actor, userId = '', orgId = '', clientId = '', address = '' } = event;
  return [creationDate, type, actor.id ?? actor.kind, userId, orgId, clientId, address, detailsOf(event)];
}

/** `import 17; reason: wrong_password; 3 times`. */
function detailsOf({ object, payload = {}, count }: AuditEvent): string {
  const fields = Object.entries(payload).map(([name, value]) => {
    return `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`;
  });
  const of = object && object.type !== 'organization' ? [`${object.type} ${object.id}`] : [];
  return [...of, ...fields, ...(count > 1 ? [`${count} times`] : [])].join('; ');
}
