/**
 * Stores passkeys and security keys, and which challenges were answered.
 *
 * Guarantee: a credential id belongs to one user of the instance. Only passkeys of our RP id are found: an authenticator
 * would answer for no other one. A challenge is answered once, and the count of signatures only grows, however many
 * requests bring an answer at the same time.
 */
import { PASSKEYS_ALLOWED } from '../../directory/policies.ts';
import { type Db, prepared } from '../../platform/db/pool.ts';
import { columnList, type Named, type Names } from '../../platform/db/rows.ts';
import { sweepRows } from '../../platform/db/sweep.ts';
import type { UserPasskeys, WebauthnChallenges } from '../../platform/db/tables.ts';

const PASSKEY = {
  id: 'id',
  rpId: 'rp_id',
  credentialId: 'credential_id',
  userId: 'user_id',
  publicKey: 'public_key',
  signCount: 'sign_count',
  userHandle: 'user_handle',
  transports: 'transports',
  name: 'name',
  backedUp: 'backed_up',
  passwordless: 'passwordless',
  createdAt: 'created_at',
  lastUsedAt: 'last_used_at',
} as const satisfies Names<UserPasskeys>;

export type Passkey = Named<UserPasskeys, typeof PASSKEY>;

/** The passkey with this credential id; undefined also if it was made for another RP id. */
export async function findPasskey(db: Db, rpId: string, credentialId: Buffer): Promise<Passkey | undefined> {
  const { rows } = await db.query<Passkey>(
    prepared(`select ${columnList(PASSKEY, 'p')} from user_passkeys p where p.credential_id = $1 and p.rp_id = $2`, [
      credentialId,
      rpId,
    ]),
  );
  return rows[0];
}

/** The passkeys and security keys of a user, the oldest first, also those of other RP ids. */
export async function passkeysOf(db: Db, userId: string): Promise<Passkey[]> {
  const text = `select ${columnList(PASSKEY, 'p')} from user_passkeys p where p.user_id = $1
    order by p.created_at, p.credential_id`;
  const { rows } = await db.query<Passkey>(prepared(text, [userId]));
  return rows;
}

type Made = 'credentialId' | 'publicKey' | 'rpId' | 'userHandle' | 'transports' | 'backedUp';

export type NewPasskey = Pick<Passkey, Made> & { signCount: number };

/** Adds a passkey; false if anybody has its credential id. */
export async function insertPasskey(
  db: Db,
  passkey: NewPasskey & Pick<Passkey, 'id' | 'name' | 'userId'>,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into user_passkeys (id, credential_id, user_id, public_key, sign_count, rp_id, user_handle, transports, name,
       backed_up) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict do nothing`,
    [
      ...[passkey.id, passkey.credentialId, passkey.userId, passkey.publicKey, passkey.signCount, passkey.rpId],
      ...[passkey.userHandle, passkey.transports, passkey.name, passkey.backedUp],
    ],
  );
  return rowCount === 1;
}

/** Returns false when the user has no such passkey. */
export async function renamePasskey(db: Db, userId: string, id: string, name: string): Promise<boolean> {
  const text = 'update user_passkeys set name = $3 where user_id = $1 and id = $2';
  return (await db.query(text, [userId, id, name])).rowCount === 1;
}

/** Returns false when the user has no such passkey. */
export async function removePasskeyRow(db: Db, userId: string, id: string): Promise<boolean> {
  const { rowCount } = await db.query('delete from user_passkeys where user_id = $1 and id = $2', [userId, id]);
  return rowCount === 1;
}

/**
 * Records that a passkey was used; false if its count has not grown since: it may have been copied. Authenticators that
 * do not count always send 0.
 */
export async function usePasskey(
  db: Db,
  { credentialId, signCount, backedUp }: { credentialId: Buffer; signCount: number; backedUp: boolean },
): Promise<boolean> {
  const { rowCount } = await db.query(
    prepared(
      `update user_passkeys set sign_count = $2, backed_up = $3, last_used_at = now()
       where credential_id = $1 and (sign_count < $2::bigint or (sign_count = 0 and $2::bigint = 0))`,
      [credentialId, signCount, backedUp],
    ),
  );
  return rowCount === 1;
}

/** Whether users of the organization may sign in with a passkey; without an organization, of any. */
export async function offersPasskeys(db: Db, orgId: string | undefined): Promise<boolean> {
  const text =
    orgId === undefined
      ? `select coalesce(bool_or(passkeys), true) as offers from login_policies`
      : `select passkeys as offers from login_policies
         where org_id = $1 or org_id is null order by org_id nulls last limit 1`;
  const { rows } = await db.query<{ offers: boolean }>(prepared(text, orgId === undefined ? [] : [orgId]));
  return rows[0]?.offers ?? true;
}

/** Whether the policy of the user's organization lets them sign in with a passkey. */
export async function mayUsePasskey(db: Db, userId: string): Promise<boolean> {
  const text = `select ${PASSKEYS_ALLOWED} as may from users u where u.id = $1`;
  const { rows } = await db.query<{ may: boolean }>(prepared(text, [userId]));
  return rows[0]?.may === true;
}

/**
 * Uses up a challenge; false if it was answered before. It needs no row until then, so nobody can fill the table
 * without a passkey of ours.
 */
export async function useChallenge(
  db: Db,
  { challenge_hash, purpose, holder, user_id, expires_at }: WebauthnChallenges,
): Promise<boolean> {
  const { rowCount } = await db.query(
    prepared(
      `insert into webauthn_challenges (challenge_hash, purpose, holder, user_id, expires_at)
       values ($1, $2, $3, $4, $5) on conflict do nothing`,
      [challenge_hash, purpose, holder, user_id, expires_at],
    ),
  );
  return rowCount === 1;
}

/** Removes one batch of challenges whose time is over, so that no answer to them counts any more; returns how many. */
export function sweepChallenges(db: Db): Promise<number> {
  return sweepRows(db, { table: 'webauthn_challenges', where: 'expires_at < now()', order: 'expires_at' });
}
