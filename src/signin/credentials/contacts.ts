/**
 * Sets a user's email address or phone number, and sends or returns the code that confirms it.
 *
 * Guarantee: a code confirms only the address or number that it was created for, as a change revokes all codes sent to
 * the old one. Everything here runs in the caller's transaction, with the user's row locked.
 */
import type { EmailInput, PhoneInput } from '../../contract/credentials.ts';
import {
  type ContactDeps,
  type EmailCodeChoice,
  type EmailDeps,
  makeEmailCode,
  makePhoneCode,
  type PhoneCodeChoice,
  verifiedBy,
} from '../../directory/users/create.ts';
import type { User } from '../../directory/users/store.ts';
import { ADDRESS_CODES, PHONE_CODES, pendingAddress, revokeCodes } from '../../messages/mail/codes.ts';
import { enqueueNotice, sendNotice } from '../../messages/mail/outbox.ts';
import type { AppendedEvent } from '../../platform/db/events.ts';
import type { Db } from '../../platform/db/pool.ts';
import { ApiError } from '../../platform/errors.ts';
import { nameKey } from '../../platform/fields.ts';
import { type Changed, changeUser, recordRequest } from './change.ts';

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
  await revokeCodes(db, user.id, email === user.email ? ['verify_email'] : ADDRESS_CODES);
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
 * Sets the number of a human, whose row is locked. It counts as verified if the input says so, or if it equals the
 * verified number and the input says nothing; else a code is sent or returned. A new number that users set themselves
 * replaces a verified one only when its code is used.
 */
export async function changePhone(deps: ContactDeps, user: User, input: PhoneInput, editor: string): Promise<Changed> {
  const { phone } = input;
  const isSame = phone === user.phone;
  const isOwn = editor === user.id && user.phoneVerified;
  if (isOwn && !isSame && !input.isVerified) return requestPhone(deps, user, input);
  const isVerified = (isOwn && isSame) || verifiedBy(input, isSame && user.phoneVerified);
  const event = await replacePhone(deps.db, user, { phone, isVerified }, editor);
  return { event, verificationCode: isVerified ? undefined : await makePhoneCode(deps, user, input, { editor }) };
}

/** Replaces the number, revokes the codes sent to the old one, and tells the address. The user's row is locked. */
export async function replacePhone(
  db: Db,
  user: User,
  { phone, isVerified }: { phone: string; isVerified: boolean },
  editor: string,
): Promise<AppendedEvent> {
  await revokeCodes(db, user.id, PHONE_CODES);
  if (user.phone !== phone) await sendNotice(db, user, 'phone_changed', editor);
  const event = { type: 'user.human.phone.changed', editor };
  return changeUser(db, user, event, 'phone = $4, phone_verified = $5', [phone, isVerified]);
}

/** Keeps the verified number until the code for the new one is used. */
async function requestPhone(deps: ContactDeps, user: User, input: PhoneInput): Promise<Changed> {
  const event = await changeUser(deps.db, user, { type: 'user.human.phone.change.requested', editor: user.id });
  return { event, verificationCode: await makePhoneCode(deps, user, input, { editor: user.id, address: input.phone }) };
}

/** @throws ApiError 404 PHONE-NOT-FOUND */
export async function removePhone(deps: ContactDeps, user: User, _: unknown, editor: string): Promise<Changed> {
  if (user.phone === null) throw new ApiError('NOT_FOUND', 'PHONE-NOT-FOUND', 'The user has no phone number.');
  await revokeCodes(deps.db, user.id, PHONE_CODES);
  await sendNotice(deps.db, user, 'phone_changed', editor);
  const event = { type: 'user.human.phone.removed', editor };
  return { event: await changeUser(deps.db, user, event, 'phone = null, phone_verified = false') };
}

/**
 * Creates another code for the number.
 * @throws ApiError 400 PHONE-VERIFIED, 404 PHONE-NOT-FOUND
 */
export async function resendPhoneCode(
  deps: ContactDeps,
  user: User,
  choice: PhoneCodeChoice,
  editor: string,
): Promise<Changed> {
  if (user.phone === null) throw new ApiError('NOT_FOUND', 'PHONE-NOT-FOUND', 'The user has no phone number.');
  const address = user.phoneVerified ? await pendingAddress(deps.db, user.id, 'verify_phone') : undefined;
  if (user.phoneVerified && address === undefined) {
    throw new ApiError('FAILED_PRECONDITION', 'PHONE-VERIFIED', 'The phone number is already verified.');
  }
  const event = await changeUser(deps.db, user, { type: 'user.human.phone.code.added', editor });
  return { event, verificationCode: await makePhoneCode(deps, user, choice, { editor, address }) };
}
