/** The client secret of a machine user: at most one, of which only the SHA-256 is stored. */

import { tokenHash } from '../../access/random-token.ts';
import type { AppendedEvent } from '../../db/events.ts';
import type { Db } from '../../db/pool.ts';
import { type MachineRef, machineEvent } from './event.ts';

/** A machine user as a client of the token endpoint. */
export interface MachineClient {
  userId: string;
  secretHash: Buffer;
  /** Index into ACCESS_TOKEN_TYPES: 0 opaque, 1 JWT. */
  accessTokenType: number;
  orgId: string;
}

/** Sets the user's secret; the previous one is no longer valid. */
export async function setSecret(db: Db, owner: MachineRef, secret: string, editor: string): Promise<AppendedEvent> {
  await db.query('update users set secret_hash = $2 where id = $1', [owner.id, tokenHash(secret)]);
  return machineEvent(db, owner, 'secret.set', editor);
}

/** Removes the user's secret at once; undefined when there is none. */
export async function removeSecret(db: Db, owner: MachineRef, editor: string): Promise<AppendedEvent | undefined> {
  const { rowCount } = await db.query('update users set secret_hash = null where id = $1 and secret_hash is not null', [
    owner.id,
  ]);
  return rowCount ? machineEvent(db, owner, 'secret.removed', editor) : undefined;
}

/** The active machine user with this client id, which is its user id, if it has a secret. */
export async function findMachineClient(db: Db, clientId: string): Promise<MachineClient | undefined> {
  const { rows } = await db.query<MachineClient>(
    `select id as "userId", secret_hash as "secretHash", access_token_type as "accessTokenType", org_id as "orgId"
     from users where id = $1 and kind = 'machine' and state = 'active' and secret_hash is not null`,
    [clientId],
  );
  return rows[0];
}
