/**
 * The machine user of a path, for the calls that issue credentials to act as that user (tokens, keys, secrets); and its
 * client secret: at most one, of which only the SHA-256 is stored.
 *
 * Guarantee: callers never get a credential of a user with more rights than their own.
 */

import { covers, permissionDenied, requireReach } from '../../contract/permissions.ts';
import type { Asked, Finder } from '../../contract/serve.ts';
import { rightsOf } from '../../directory/members.ts';
import { findUser, type User, type UserLock, userNotFound } from '../../directory/users/store.ts';
import { type AppendedEvent, appendEvent } from '../../platform/db/events.ts';
import type { Db, Pool } from '../../platform/db/pool.ts';
import { columnList, type Named, type Names, type Present } from '../../platform/db/rows.ts';
import type { Users } from '../../platform/db/tables.ts';
import { ApiError, type IdOf } from '../../platform/errors.ts';
import { pathId } from '../../platform/http/parse.ts';
import { tokenHash } from '../../platform/ids.ts';

/** The error for a human user. */
export type NotAMachine = Readonly<{ id: IdOf<'FAILED_PRECONDITION'>; message: string }>;

/**
 * The machine user, if the caller may issue credentials for it.
 * @param lock locks the user's row until the transaction ends
 * @throws ApiError 403, 404 to an IAM_OWNER, FAILED_PRECONDITION for a human
 */
export async function requireMachine(
  db: Db,
  { caller, operation }: Pick<Asked, 'caller' | 'operation'>,
  userId: string,
  notAMachine: NotAMachine,
  lock?: UserLock,
): Promise<User> {
  const user = requireReach(caller, operation, await findUser(db, userId, lock), userNotFound);
  if (!covers(caller, await rightsOf(db, user.id))) throw permissionDenied();
  if (user.kind !== 'machine') throw new ApiError('FAILED_PRECONDITION', notAMachine.id, notAMachine.message);
  return user;
}

/** The machine user of the path. */
export function machineOf(pool: Pool, notAMachine: NotAMachine): Finder<'user', User> {
  return { of: 'user', find: (asked) => requireMachine(pool, asked, pathId(asked.req, 'userId'), notAMachine) };
}

/** A machine user as changes of its credentials need it. */
export interface MachineRef {
  id: string;
  orgId: string;
}

/** A machine user as a client of the token endpoint. */
const MACHINE_CLIENT = {
  userId: 'id',
  secretHash: 'secret_hash',
  /** Index into ACCESS_TOKEN_TYPES: 0 opaque, 1 JWT. */
  accessTokenType: 'access_token_type',
  orgId: 'org_id',
} as const satisfies Names<Users>;

export type MachineClient = Present<Named<Users, typeof MACHINE_CLIENT>>;

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
    `select ${columnList(MACHINE_CLIENT)}
     from users where id = $1 and kind = 'machine' and state = 'active' and secret_hash is not null
       and org_is_active(org_id)`,
    [clientId],
  );
  return rows[0];
}

/**
 * Appends `user.machine.<change>`. Keys and secrets are part of their machine user, so it also updates the user's
 * sequence. Call it in the transaction of the change itself.
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
