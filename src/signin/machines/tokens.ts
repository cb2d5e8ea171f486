/** Personal access tokens. Only the holder knows the token; a row stores its SHA-256. */
import { type AppendedEvent, appendEvent } from '../../platform/db/events.ts';
import type { Db } from '../../platform/db/pool.ts';
import { columnList, type Named, type Names } from '../../platform/db/rows.ts';
import { sweepRows } from '../../platform/db/sweep.ts';
import type { PersonalAccessTokens } from '../../platform/db/tables.ts';
import { newId, tokenHash } from '../../platform/ids.ts';

/** A user as these calls need it. */
export interface TokenOwner {
  id: string;
  orgId: string;
}

const PAT = {
  id: 'id',
  expiresAt: 'expires_at',
  sequence: 'sequence',
  createdAt: 'created_at',
} as const satisfies Names<PersonalAccessTokens>;

export type Pat = Named<PersonalAccessTokens, typeof PAT>;

/** Stores a token for a user. */
export async function addPat(
  db: Db,
  owner: TokenOwner,
  pat: { token: string; expiresAt?: Date | undefined },
  editor: string,
): Promise<Pat> {
  const id = newId();
  const event = await patEvent(db, owner, 'added', id, editor);
  await db.query(
    'insert into personal_access_tokens (id, user_id, token_hash, expires_at, sequence) values ($1, $2, $3, $4, $5)',
    [id, owner.id, tokenHash(pat.token), pat.expiresAt ?? null, event.sequence],
  );
  return { id, expiresAt: pat.expiresAt ?? null, ...event };
}

/** A user's tokens, oldest first, including those that expired in the last month. */
export async function listPats(db: Db, userId: string): Promise<Pat[]> {
  const { rows } = await db.query<Pat>(
    `select ${columnList(PAT)}
     from personal_access_tokens where user_id = $1 order by id`,
    [userId],
  );
  return rows;
}

/** Revokes a token at once; undefined when the user has no such token. */
export async function removePat(
  db: Db,
  owner: TokenOwner,
  id: string,
  editor: string,
): Promise<AppendedEvent | undefined> {
  const { rowCount } = await db.query('delete from personal_access_tokens where id = $1 and user_id = $2', [
    id,
    owner.id,
  ]);
  return rowCount ? patEvent(db, owner, 'removed', id, editor) : undefined;
}

/** Removes one batch of tokens that expired a month ago: until then the list shows why they no longer work. */
export function sweepPats(db: Db): Promise<number> {
  return sweepRows(db, {
    table: 'personal_access_tokens',
    where: `expires_at < now() - interval '30 days'`,
    order: 'expires_at',
  });
}

/** A token is part of its user, so a change also updates the user's sequence. */
async function patEvent(
  db: Db,
  owner: TokenOwner,
  change: string,
  tokenId: string,
  editor: string,
): Promise<AppendedEvent> {
  const event = await appendEvent(db, {
    aggregateType: 'user',
    aggregateId: owner.id,
    resourceOwner: owner.orgId,
    type: `user.pat.${change}`,
    editor,
    payload: { tokenId },
  });
  await db.query('update users set sequence = $2, changed_at = $3 where id = $1', [
    owner.id,
    event.sequence,
    event.createdAt,
  ]);
  return event;
}
