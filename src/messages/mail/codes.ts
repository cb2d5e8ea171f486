/**
 * Codes: HMACs that are never stored; a row says whether a code is still valid. They are emailed, sent as text
 * messages, or returned to the caller. A daily limit counts what a user gets without a manager, so that a user cannot
 * flood the addresses of others, and nobody can flood the user.
 *
 * Guarantee: a code is used at most once, before it expires. It has 60 bits, so nobody guesses it, and wrong codes do not
 * end it; codes for a sign-in are shorter (sign-in-codes.ts). A user has one open code per purpose, the newest; a mail whose code has ended is not sent. All processes count
 * mails together, with the user's row locked; a request that fails counts nothing.
 */
import { timingSafeEqual } from 'node:crypto';
import type { MailKind } from '../../contract/link-templates.ts';
import type { Config } from '../../platform/config.ts';
import type { Db } from '../../platform/db/pool.ts';
import { oneRow, type Present } from '../../platform/db/rows.ts';
import { sweepRows } from '../../platform/db/sweep.ts';
import type { Codes, MailCounts } from '../../platform/db/tables.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError } from '../../platform/errors.ts';
import { dropUnsentMails, ENDED_KEPT, enqueueMail, IS_UNSENT, type NewMail } from './outbox.ts';

/** Purposes of the codes that set a password. */
export const PASSWORD_CODES = ['initialise', 'reset_password'] as const;
/** Purposes of the codes that end with the address that they were sent to. */
export const ADDRESS_CODES = [
  'verify_email',
  ...PASSWORD_CODES,
  'sign_in',
  'factor_mail',
  'add_passkey',
  'confirm_change',
] as const;
/** Purposes of the codes that end with the number that they were sent to. */
export const PHONE_CODES = ['verify_phone', 'sign_in_text', 'factor_text'] as const;
/** Purposes of the codes that end with the password. */
export const SIGN_IN_CODES = ['sign_in', 'sign_in_text', 'factor_mail', 'factor_text'] as const;

/**
 * `address` is the new address or number that it confirms; null if it confirms the one that the user has. `login` is the
 * sign-in from whose page it was asked for, if it was.
 */
export interface Code extends Pick<Codes, 'id' | 'purpose' | 'address' | 'login'> {
  /** Sent to the user, so entering it proves access to their mailbox or phone. False if returned to the caller. */
  mailed: boolean;
}

type CodeRow = Code & Pick<Codes, 'generation'>;

interface CodeDeps {
  db: Db;
  secrets: Secrets;
}

interface Entered {
  userId: string;
  entered: string;
  purposes: readonly MailKind[];
}

const IS_OPEN = `user_id = $1 and purpose = any($2::mail_kind[])
  and used_at is null and expires_at > clock_timestamp()`;
const IS_MAILED = 'exists (select from mail_outbox m where m.user_id = c.user_id and m.code_id = c.id)';

/**
 * The user's open code that equals `entered`. A wrong one ends no code, or anybody could end anybody's link: the caller
 * counts wrong ones by where they come from.
 */
export async function findOpenCode(
  { db, secrets }: CodeDeps,
  { userId, entered, purposes }: Entered,
): Promise<Code | undefined> {
  const { rows } = await db.query<CodeRow>(
    `select id, purpose, generation, address, login, ${IS_MAILED} as mailed from codes c where ${IS_OPEN}`,
    [userId, purposes],
  );
  const found = equalTo(entered, rows, secrets);
  if (!found) return undefined;
  const { id, purpose, mailed, address, login } = found;
  return { id, purpose, mailed, address, login };
}

/** How often one link leads to another. */
const MOST_RENEWALS = 3;
/** Ended codes of a user that are compared, the newest ones. */
const MOST_ENDED = 500;

/**
 * Whether `entered` was mailed to the user, however long ago: the proof that somebody reads the user's mailbox, or did.
 * True a few times for each code, so that an old link in strange hands does not flood the user. Call it in a
 * transaction, with the user's row locked.
 */
export async function renewsLink({ db, secrets }: CodeDeps, { userId, entered, purposes }: Entered): Promise<boolean> {
  const { rows } = await db.query<Pick<Codes, 'id' | 'generation'>>(
    `select id, generation from codes c
     where user_id = $1 and purpose = any($2::mail_kind[]) and tries < $3 and ${IS_MAILED}
     order by id desc limit ${MOST_ENDED}`,
    [userId, purposes, MOST_RENEWALS],
  );
  const found = equalTo(entered, rows, secrets);
  // The column counted wrong codes once.
  if (found) await db.query('update codes set tries = tries + 1 where id = $1', [found.id]);
  return found !== undefined;
}

function equalTo<R extends Pick<CodeRow, 'id' | 'generation'>>(
  entered: string,
  rows: R[],
  secrets: Secrets,
): R | undefined {
  const typed = entered.trim().toUpperCase();
  let found: R | undefined;
  for (const row of rows) {
    for (const code of secrets.codes(row.id, row.generation)) if (same(code, typed)) found = row;
  }
  return found;
}

function same(right: string, typed: string): boolean {
  const a = Buffer.from(right);
  const b = Buffer.from(typed);
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Consumes a code; false when another request was faster or the code has expired. */
export async function useCode(db: Db, code: Pick<Code, 'id'>): Promise<boolean> {
  const { rowCount } = await db.query(
    'update codes set used_at = now() where id = $1 and used_at is null and expires_at > clock_timestamp()',
    [code.id],
  );
  return rowCount === 1;
}

/** Whether a code that was found is still unused; for uses that do not consume it. The user's row is locked. */
export async function isOpen(db: Db, code: Code): Promise<boolean> {
  const { rowCount } = await db.query('select 1 from codes where id = $1 and used_at is null', [code.id]);
  return rowCount === 1;
}

/** Remembers the sign-in that the pages of the user's open links lead back to. The user's row is locked. */
export async function rememberLogin(db: Db, userId: string, login: string): Promise<void> {
  const text = 'update codes set login = $2 where user_id = $1 and used_at is null and purpose = any($3::mail_kind[])';
  await db.query(text, [userId, login, ['verify_email', ...PASSWORD_CODES]]);
}

/** Revokes the open codes of these purposes and drops their unsent mails, for one or many users with locked rows. */
export async function revokeCodes(db: Db, userId: string | string[], purposes: readonly MailKind[]): Promise<void> {
  await endCodes(db, userId, 'purpose = any($2::mail_kind[])', [purposes]);
}

/** Revokes those of the open codes whose mails have not been sent, for a user with a locked row. */
export async function revokeUnsent(db: Db, userId: string, purposes: readonly MailKind[]): Promise<void> {
  const unsent = `purpose = any($2::mail_kind[]) and exists (
    select from mail_outbox m where m.user_id = codes.user_id and m.code_id = codes.id and ${IS_UNSENT})`;
  await endCodes(db, userId, unsent, [purposes]);
}

/** Gives up the new address and the new number that the user has not confirmed yet. The user's row is locked. */
export async function revokePending(db: Db, userId: string): Promise<void> {
  await endCodes(db, userId, 'address is not null');
}

/** The new address or number that the user has not confirmed yet, if there is one. */
export async function pendingAddress(
  db: Db,
  userId: string,
  purpose: 'verify_email' | 'verify_phone',
): Promise<string | undefined> {
  const { rows } = await db.query<Present<Pick<Codes, 'address'>>>(
    `select address from codes
     where user_id = $1 and purpose = $2 and address is not null and used_at is null and expires_at > now()`,
    [userId, purpose],
  );
  return rows[0]?.address;
}

async function endCodes(db: Db, userId: string | string[], which: string, values: unknown[] = []): Promise<void> {
  const { rows } = await db.query<Pick<Codes, 'id'>>(
    `update codes set used_at = now() where user_id = any($1::text[]) and ${which} and used_at is null returning id`,
    [[userId].flat(), ...values],
  );
  if (rows.length === 0) return;
  const codeIds = rows.map((row) => row.id);
  await dropUnsentMails(db, userId, codeIds);
}

/** Mails a code as `enqueueMail` does, and revokes older codes of its purpose. The user's row is locked. */
export async function mailCode(db: Db, mail: NewMail): Promise<void> {
  await revokeCodes(db, mail.userId, [mail.kind]);
  await enqueueMail(db, mail);
}

/**
 * Creates a code for the caller to deliver; sends nothing. Revokes older codes of the purpose. The user's row is
 * locked.
 * @param codeTtlMs how long the code is valid, in milliseconds
 */
export async function issueCode(
  db: Db,
  secrets: Secrets,
  { userId, purpose, codeTtlMs, address }: Omit<NewMail, 'kind'> & { purpose: MailKind },
): Promise<string> {
  await revokeCodes(db, userId, [purpose]);
  const { rows } = await db.query<Pick<Codes, 'id' | 'generation'>>(
    `insert into codes (user_id, purpose, expires_at, address)
     values ($1, $2, now() + $3 * interval '1 millisecond', $4) returning id, generation`,
    [userId, purpose, codeTtlMs, address ?? null],
  );
  const { id, generation } = oneRow(rows);
  return secrets.code(id, generation);
}

/** Removes one batch of codes that were used or revoked long ago; returns how many. */
export function sweepUsedCodes(db: Db): Promise<number> {
  return sweepRows(db, { table: 'codes', where: `used_at < now() - ${ENDED_KEPT}`, order: 'used_at' });
}

/**
 * Removes one batch of codes for passwords and numbers that nobody used in time; returns how many. Unused codes for an
 * address go with their mail, as a held mail may need its code years later.
 */
export function sweepUnusedCodes(db: Db): Promise<number> {
  return sweepRows(db, {
    table: 'codes',
    where: `used_at is null and purpose not in ('verify_email', 'initialise') and expires_at < now() - ${ENDED_KEPT}`,
    order: 'expires_at',
  });
}

/** The error id of the daily limit of mails and text messages. */
export const MAIL_LIMIT = 'MAIL-LIMIT';

/**
 * The editor of what anybody may request for a user. Requests of users and of anybody count apart, so that a stranger
 * on the page for forgotten passwords does not keep users from their own changes.
 */
export const ANYBODY = 'system';

const DAY = `interval '24 hours'`;
const IS_OVER = `c.since <= now() - ${DAY}`;

const COUNT = `
insert into mail_counts as c (user_id, requester, mails) values ($1, $2, 1)
on conflict (user_id, requester) do update set
  mails = case when ${IS_OVER} then 1 else c.mails + 1 end, since = case when ${IS_OVER} then now() else c.since end
returning mails, ceil(extract(epoch from since + ${DAY} - now()))::int as "leftS"`;

/**
 * Sends the code. It counts if the user or anybody asks for it. Call it in a transaction, with the user's row locked.
 * @param editor who asks: the user's own id, `ANYBODY`, or a manager, for whom there is no limit
 * @throws ApiError 429 MAIL-LIMIT; roll the transaction back then
 */
export async function mailRequested(
  { db, config }: { db: Db; config: Pick<Config, 'RATE_LIMIT_MAILS'> },
  mail: NewMail,
  editor: string,
): Promise<void> {
  const requester = editor === mail.userId ? 'user' : editor === ANYBODY ? 'anybody' : undefined;
  if (requester && config.RATE_LIMIT_MAILS > 0) await countMail(db, mail.userId, requester, config.RATE_LIMIT_MAILS);
  await mailCode(db, mail);
}

async function countMail(db: Db, userId: string, requester: 'user' | 'anybody', limit: number): Promise<void> {
  const { rows } = await db.query<Pick<MailCounts, 'mails'> & { leftS: number }>(COUNT, [userId, requester]);
  const { mails, leftS } = oneRow(rows);
  if (mails <= limit) return;
  const message = `A user gets at most ${limit} emails and text messages a day. Try again later, or ask a manager.`;
  throw new ApiError('RESOURCE_EXHAUSTED', MAIL_LIMIT, message, { retryAfterS: Math.max(1, leftS) });
}

/** Removes one batch of counts that would restart anyway; returns how many. */
export function sweepMailCounts(db: Db): Promise<number> {
  return sweepRows(db, { table: 'mail_counts', where: `since <= now() - ${DAY}`, order: 'since' });
}
