/** Keys and secrets are part of their machine user: its own sequence moves with them. */
import { type AppendedEvent, appendEvent } from '../../db/events.ts';
import type { Db } from '../../db/pool.ts';

/** A machine user as these calls need it. */
export interface MachineRef {
  id: string;
  orgId: string;
}

/**
 * Appends `user.machine.<change>` and moves the user's sequence; call it in the transaction of the change itself.
 * @param payload never a key or a secret
 */
export async function machineEvent(
  db: Db,
  owner: MachineRef,
  change: 'key.added' | 'key.removed' | 'secret.set' | 'secret.removed',
  editor: string,
  payload?: { keyId: string },
): Promise<AppendedEvent> {
  const event = await appendEvent(db, {
    aggregateType: 'user',
    aggregateId: owner.id,
    resourceOwner: owner.orgId,
    type: `user.machine.${change}`,
    editor,
    ...(payload ? { payload } : {}),
  });
  await db.query('update users set sequence = $2, changed_at = $3 where id = $1', [
    owner.id,
    event.sequence,
    event.createdAt,
  ]);
  return event;
}
