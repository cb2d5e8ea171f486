/** Events for keys and secrets. They are part of their machine user, so a change also updates the user's sequence. */
import { type AppendedEvent, appendEvent } from '../../db/events.ts';
import type { Db } from '../../db/pool.ts';

/** A machine user as these calls need it. */
export interface MachineRef {
  id: string;
  orgId: string;
}

/**
 * Appends `user.machine.<change>` and updates the user's sequence; call it in the transaction of the change itself.
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
