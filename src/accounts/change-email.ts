/**
 * Sets a user's email address, and sends or returns the code that confirms it.
 *
 * Guarantee: a code confirms only the address it was created for, as a change of address revokes all codes sent to the
 * old one. Everything here runs in the caller's transaction, with the user's row locked.
 */
import type { Config } from '../config.ts';
import type { AppendedEvent } from '../db/events.ts';
import type { Db } from '../db/pool.ts';
import { ApiError } from '../errors.ts';
import { nameKey } from '../fields/fields.ts';
import { issueCode, PASSWORD_CODES, pendingAddress, revokeCodes } from '../mail/codes.ts';
import { enqueueNotice } from '../mail/outbox.ts';
import type { Secrets } from '../secrets.ts';
import type { User } from '../users/store.ts';
import type { EmailInput } from './contact-schema.ts';
import { type Changed, changeUser, recordRequest } from './credentials.ts';
import { mailRequested } from './mail-limit.ts';

export interface EmailDeps {
  /** The transaction's connection. */
  db: Db;
  secrets: Secrets;
  config: Pick<Config, 'CODE_TTL_MS' | 'RATE_LIMIT_MAILS'>;
}

/** For both an email address and a phone number. */
export interface ContactDeps extends EmailDeps {
  config: Pick<Config, 'CODE_TTL_MS' | 'PHONE_CODE_TTL_MS' | 'RATE_LIMIT_MAILS'>;
}

/** How a code is delivered; by email if neither field is set. */
export type EmailCodeChoice = Pick<EmailInput, 'sendCode' | 'returnCode'>;

/**
 * Sets the address of a human, whose row is locked. It counts as verified if the input says so, or if it equals the
 * verified address and the input says nothing; else a code is sent or returned. A new address that users set themselves
 * replaces a verified one only when its code is used, and the old address is told.
 */
export async function changeEmail(deps: EmailDeps, user: User, input: EmailInput, editor: string): Promise<Changed> {
  const { email } = input;
  const isSame = email === user.email;
  const isOwn = editor === user.id && user.emailVerified;
  if (isOwn && !isSame)
    await enqueueNotice(deps.db, { kind: 'email_changed', userId: user.id, address: user.email as string });
  if (isOwn && !isSame && !input.isVerified) return requestEmail(deps, user, input);
  const isVerified = (isOwn && isSame) || verifiedBy(input, isSame && user.emailVerified);
  const event = await replaceEmail(deps.db, user, { email, isVerified }, editor);
  return { event, verificationCode: isVerified ? undefined : await makeEmailCode(deps, user, input, { editor }) };
}

/** Replaces the address, and revokes the codes sent to the old one. The user's row is locked. */
export async function replaceEmail(
  db: Db,
  user: User,
  { email, isVerified }: { email: string; isVerified: boolean },
  editor: string,
): Promise<AppendedEvent> {
  await revokeCodes(db, user.id, email === user.email ? ['verify_email'] : ['verify_email', ...PASSWORD_CODES]);
  const event = { type: 'user.human.email.changed', editor };
  const assignments = 'email = $4, email_key = $5, email_verified = $6';
  return changeUser(db, user, event, assignments, [email, nameKey(email), isVerified]);
}

/** Keeps the verified address until the code for the new one is used. */
async function requestEmail(deps: EmailDeps, user: User, input: EmailInput): Promise<Changed> {
  const event = await changeUser(deps.db, user, { type: 'user.human.email.change.requested', editor: user.id });
  return { event, verificationCode: await makeEmailCode(deps, user, input, { editor: user.id, address: input.email }) };
}

/**
 * Creates another code for the address.
 * @throws ApiError 400 EMAIL-VERIFIED, EMAIL-NONE
 */
export async function resendEmailCode(
  deps: EmailDeps,
  user: User,
  choice: EmailCodeChoice,
  editor: string,
): Promise<Changed> {
  const address = user.emailVerified ? await pendingAddress(deps.db, user.id, 'verify_email') : undefined;
  if (user.emailVerified && address === undefined) {
    throw new ApiError('FAILED_PRECONDITION', 'EMAIL-VERIFIED', 'The email address is already verified.');
  }
  requireAddress(address ?? user.email);
  const event = await recordRequest(deps.db, user, { type: 'user.human.email.code.added', editor });
  return { event, verificationCode: await makeEmailCode(deps, user, choice, { editor, address }) };
}

/** @throws ApiError 400 EMAIL-NONE */
export function requireAddress(email: string | null): void {
  if (email === null) throw new ApiError('FAILED_PRECONDITION', 'EMAIL-NONE', 'The user has no email address.');
}

/**
 * Emails a code for the address, or returns it. An INITIAL user gets the code of the initialisation mail, which
 * confirms the address and sets the first password.
 * @param by.address a new address to confirm; absent: the one that the user has
 * @throws ApiError 429 MAIL-LIMIT
 */
export async function makeEmailCode(
  deps: EmailDeps,
  user: Pick<User, 'id' | 'state'>,
  choice: EmailCodeChoice,
  { editor, address }: { editor: string; address?: string | undefined },
): Promise<string | undefined> {
  const purpose = user.state === 'initial' ? 'initialise' : 'verify_email';
  const code = { userId: user.id, codeTtlMs: deps.config.CODE_TTL_MS, address };
  if (choice.returnCode) return issueCode(deps.db, deps.secrets, { ...code, purpose });
  await mailRequested(deps, { ...code, kind: purpose, urlTemplate: choice.sendCode?.urlTemplate }, editor);
  return undefined;
}

/** @param before whether the same value was verified before; used only if the input says nothing */
export function verifiedBy(
  { isVerified, sendCode, returnCode }: { isVerified?: boolean | undefined; sendCode?: unknown; returnCode?: unknown },
  before: boolean,
): boolean {
  return isVerified ?? (before && sendCode === undefined && returnCode === undefined);
}
