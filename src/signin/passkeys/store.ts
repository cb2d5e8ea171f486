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
