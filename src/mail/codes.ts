/**
 * Codes: HMACs that are stored nowhere; a row says whether one is still good. They are mailed, or returned to the caller.
 *
 * Guarantee: a code is used once, before its time runs out, and each look at it is counted first, so that no number of
 * parallel guesses exceeds MAX_TRIES. Of one purpose a user has one open code, the newest; a mail whose code has ended
 * is not sent any more. If we die after a try was counted, that try is spent.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Db } from '../db/pool.ts';
import type { Secrets } from '../secrets.ts';
import type { MailKind } from './links.ts';
import { dropUnsentMails, enqueueMail, type NewMail } from './outbox.ts';

/** Tries, right or wrong, after which a code is dead. */
export const MAX_TRIES = 5;

export interface Code {
  id: string;
  purpose: MailKind;
  /** Who has it has read the user's mail; a code that was returned says nothing of the kind. */
  mailed: boolean;
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
    `update codes c set tries = tries + 1
     where user_id = $1 and purpose = any($2::mail_kind[])
       and used_at is null and expires_at > clock_timestamp() and tries < $3
     returning id, purpose, generation,
       exists (select from mail_outbox m where m.user_id = c.user_id and m.code_id = c.id) as mailed`,
    [userId, purposes, MAX_TRIES],
  );
  const typed = entered.trim().toUpperCase();
  let found: CodeRow | undefined;
  for (const row of rows) {
    if (same(secrets.code(row.id, row.generation), typed)) found = row;
  }
  return found && { id: found.id, purpose: found.purpose, mailed: found.mailed };
}

/** Uses a code up; false when somebody else was faster or its time has run out. */
export async function useCode(db: Db, code: Code): Promise<boolean> {
  const { rowCount } = await db.query(
    'update codes set used_at = now() where id = $1 and used_at is null and expires_at > clock_timestamp()',
    [code.id],
  );
  return rowCount === 1;
}

/** Whether a code is still as it was found; for what does not use it up. The user's row is locked. */
export async function isOpen(db: Db, code: Code): Promise<boolean> {
  const { rowCount } = await db.query('select 1 from codes where id = $1 and used_at is null', [code.id]);
  return rowCount === 1;
}

/** Ends all open codes of one user, or of many, with these purposes; their unsent mails are dropped. The users' rows are locked. */
export async function revokeCodes(db: Db, userId: string | string[], purposes: readonly MailKind[]): Promise<void> {
  const { rows } = await db.query<{ id: string }>(
    `update codes set used_at = now()
     where user_id = any($1::text[]) and purpose = any($2::mail_kind[]) and used_at is null
     returning id`,
    [[userId].flat(), purposes],
  );
  if (rows.length === 0) return;
  const codeIds = rows.map((row) => row.id);
  await dropUnsentMails(db, userId, codeIds);
}

/** As `enqueueMail`; ends the older codes of the purpose. The user's row is locked. */
export async function mailCode(db: Db, mail: NewMail): Promise<void> {
  await revokeCodes(db, mail.userId, [mail.kind]);
  await enqueueMail(db, mail);
}

/**
 * A code for the caller to hand on: nothing is mailed. Ends the older codes of the purpose. The user's row is locked.
 * @param codeTtlMs how long it is good for, in milliseconds
 */
export async function issueCode(
  db: Db,
  secrets: Secrets,
  { userId, purpose, codeTtlMs }: { userId: string; purpose: MailKind; codeTtlMs: number },
): Promise<string> {
  await revokeCodes(db, userId, [purpose]);
  const { rows } = await db.query<{ id: string; generation: number }>(
    `insert into codes (user_id, purpose, expires_at) values ($1, $2, now() + $3 * interval '1 millisecond')
     returning id, generation`,
    [userId, purpose, codeTtlMs],
  );
  const row = rows[0] as { id: string; generation: number };
  return secrets.code(row.id, row.generation);
}

function same(right: string, typed: string): boolean {
  const a = Buffer.from(right);
  const b = Buffer.from(typed);
  return a.length === b.length && timingSafeEqual(a, b);
}
