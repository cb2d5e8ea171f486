/**
 * Codes that mails carry: HMACs that are stored nowhere; a row says whether one is still good.
 *
 * Guarantee: a code is used once, before its time runs out, and each look at it is counted first, so that no number of
 * parallel guesses exceeds MAX_TRIES. If we die after a try was counted, that try is spent.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Db } from '../db/pool.ts';
import type { Secrets } from '../secrets.ts';
import type { MailKind } from './links.ts';

/** Tries, right or wrong, after which a code is dead. */
export const MAX_TRIES = 5;

export interface Code {
  id: string;
  purpose: MailKind;
}

interface CodeRow extends Code {
  generation: number;
}

/** The open code of the user that `entered` is; every open code of these purposes loses one try. */
export async function tryCode(
  { db, secrets }: { db: Db; secrets: Secrets },
  { userId, entered, purposes }: { userId: string; entered: string; purposes: readonly MailKind[] },
): Promise<Code | undefined> {
  const { rows } = await db.query<CodeRow>(
    `update codes set tries = tries + 1
     where user_id = $1 and purpose = any($2::mail_kind[])
       and used_at is null and expires_at > clock_timestamp() and tries < $3
     returning id, purpose, generation`,
    [userId, purposes, MAX_TRIES],
  );
  const typed = entered.trim().toUpperCase();
  let found: CodeRow | undefined;
  for (const row of rows) {
    if (same(secrets.code(row.id, row.generation), typed)) found = row;
  }
  return found && { id: found.id, purpose: found.purpose };
}

/** Uses a code up; false when somebody else was faster or its time has run out. */
export async function useCode(db: Db, code: Code): Promise<boolean> {
  const { rowCount } = await db.query(
    'update codes set used_at = now() where id = $1 and used_at is null and expires_at > clock_timestamp()',
    [code.id],
  );
  return rowCount === 1;
}

/** Ends all open codes of the user with this purpose. */
export async function endCodes(db: Db, userId: string, purpose: MailKind): Promise<void> {
  await db.query('update codes set used_at = now() where user_id = $1 and purpose = $2 and used_at is null', [
    userId,
    purpose,
  ]);
}

function same(right: string, typed: string): boolean {
  const a = Buffer.from(right);
  const b = Buffer.from(typed);
  return a.length === b.length && timingSafeEqual(a, b);
}
