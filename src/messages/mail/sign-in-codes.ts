/**
 * Codes for a sign-in, by mail or by text message: eight digits that a person types, in place of a password or, with a
 * purpose of their own, after it. Each is made for whoever asks, the holder: one sign-in of one browser, or one session
 * of a program.
 *
 * Guarantee: a user has one live code of each purpose, the newest; it is valid for ten minutes, is used at most once, and is right only
 * for its holders, each of whom may try it five times. A try is counted before the comparison, so parallel guesses do
 * not exceed the limit. Only a hash of the holder is stored, and no code.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { SignInKind } from '../../contract/link-templates.ts';
import type { Db } from '../../platform/db/pool.ts';
import { oneRow } from '../../platform/db/rows.ts';
import { sweepRows } from '../../platform/db/sweep.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { revokeCodes } from './codes.ts';
import { enqueueMail } from './outbox.ts';

/** How long a code is valid, in milliseconds (NIST SP 800-63B allows ten minutes for a code that is sent). */
export const SIGN_IN_CODE_MS = 10 * 60_000;
const MOST_TRIES = 5;
/** Holders of one code; a code that has been mailed may get more than one, see `shareSignInCode`. */
const MOST_HOLDERS = 20;
const DIGITS = 8;

/** The digits that belong to a code of `Secrets`. They tell nothing about it: 60 bits are hashed to 26. */
export function digitsOf(code: string): string {
  const number = createHash('sha256').update(`sign-in ${code}`).digest().readUIntBE(0, 6) % 10 ** DIGITS;
  return String(number).padStart(DIGITS, '0');
}

/**
 * What a holder is stored as.
 * @param kind `login`: a sign-in of a browser; `session`: a session of a program
 */
export function holderOf(kind: 'login' | 'session', id: string): Buffer {
  return createHash('sha256').update(`${kind} ${id}`).digest();
}

interface NewCode<Kind extends SignInKind = SignInKind> {
  userId: string;
  holder: Buffer;
  /** Default: in place of a password, by mail. */
  purpose?: Kind;
}

type MailedKind = 'sign_in' | 'factor_mail';
type TextedKind = 'sign_in_text' | 'factor_text';

/** Mails a new code for the holder. The user's row is locked. @param to.urlTemplate a link for the mail; else it has none */
export async function mailSignInCode(
  db: Db,
  to: NewCode<MailedKind> & { urlTemplate?: string | undefined },
): Promise<void> {
  await sendCode(db, to);
}

/** Sends a new code for the holder as a text message to the user's number. The user's row is locked. */
export async function textSignInCode(db: Db, to: NewCode<TextedKind> & { purpose: TextedKind }): Promise<void> {
  await sendCode(db, to);
}

async function sendCode(db: Db, to: NewCode & { urlTemplate?: string | undefined }): Promise<void> {
  const { userId, holder, urlTemplate, purpose = 'sign_in' } = to;
  await revokeCodes(db, userId, [purpose]);
  const mail = { kind: purpose, userId, urlTemplate, codeTtlMs: SIGN_IN_CODE_MS };
  await addHolder(db, (await enqueueMail(db, mail)).codeId, holder);
}

/** Makes a new code for the caller to deliver. The user's row is locked. */
export async function returnSignInCode(
  { db, secrets }: { db: Db; secrets: Secrets },
  { userId, holder, purpose = 'sign_in' }: NewCode,
): Promise<string> {
  await revokeCodes(db, userId, [purpose]);
  const { rows } = await db.query<{ id: string; generation: number }>(
    `insert into codes (user_id, purpose, expires_at) values ($1, $3, now() + $2 * interval '1 millisecond')
     returning id, generation`,
    [userId, SIGN_IN_CODE_MS, purpose],
  );
  const row = oneRow(rows);
  await addHolder(db, row.id, holder);
  return digitsOf(secrets.code(row.id, row.generation));
}

const IS_MAILED = 'exists (select from mail_outbox m where m.user_id = c.user_id and m.code_id = c.id)';
const IS_LIVE = `c.user_id = $1 and c.purpose = $3 and c.used_at is null and c.expires_at > clock_timestamp()`;

/** Makes the holder one more holder of the live code, if one was sent. */
export async function shareSignInCode(db: Db, { userId, holder, purpose = 'sign_in' }: NewCode): Promise<void> {
  await db.query(
    `insert into code_holders (code_id, holder)
     select c.id, $2 from codes c where ${IS_LIVE} and ${IS_MAILED}
       and (select count(*) from code_holders h where h.code_id = c.id) < ${MOST_HOLDERS}
     on conflict do nothing`,
    [userId, holder, purpose],
  );
}

async function addHolder(db: Db, codeId: string, holder: Buffer): Promise<void> {
  await db.query('insert into code_holders (code_id, holder) values ($1, $2)', [codeId, holder]);
}

export interface SignInCode {
  id: string;
  /** It went to the user's address or number, so who enters it reads what goes there. */
  mailed: boolean;
}

/**
 * The live code of the user, if the holder may enter it and `entered` equals it; does not consume it. Call it outside a
 * transaction, or a try would not count when the transaction is rolled back.
 */
export async function findSignInCode(
  { db, secrets }: { db: Db; secrets: Secrets },
  { userId, holder, entered, purpose = 'sign_in' }: NewCode & { entered: string },
): Promise<SignInCode | undefined> {
  const { rows } = await db.query<SignInCode & { generation: number }>(
    `update code_holders h set tries = h.tries + 1 from codes c
     where ${IS_LIVE} and h.code_id = c.id and h.holder = $2 and h.tries < ${MOST_TRIES}
     returning c.id, c.generation, ${IS_MAILED} as mailed`,
    [userId, holder, purpose],
  );
  const [row] = rows;
  const typed = Buffer.from(entered.replace(/[\s-]/g, ''));
  const known = row ? secrets.codes(row.id, row.generation).map((code) => Buffer.from(digitsOf(code))) : [];
  // Not `some`: every known key is compared.
  const equal = known.filter((code) => code.length === typed.length && timingSafeEqual(code, typed));
  if (!row || equal.length === 0) return undefined;
  const back = 'update code_holders set tries = tries - 1 where code_id = $1 and holder = $2';
  await db.query(back, [row.id, holder]);
  return { id: row.id, mailed: row.mailed };
}

/** Removes one batch of holders whose codes have expired; returns how many. */
export function sweepCodeHolders(db: Db): Promise<number> {
  return sweepRows(db, { table: 'code_holders', where: `created_at < now() - interval '1 hour'`, order: 'created_at' });
}
