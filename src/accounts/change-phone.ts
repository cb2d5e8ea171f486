/**
 * Sets or removes a user's phone number, and sends or returns the code that confirms it.
 *
 * Guarantee: as for email addresses, a code confirms only the number it was created for. Everything here runs in the
 * caller's transaction, with the user's row locked.
 */
import type { AppendedEvent } from '../db/events.ts';
import type { Db } from '../db/pool.ts';
import { ApiError } from '../errors.ts';
import { issueCode, pendingAddress, revokeCodes } from '../mail/codes.ts';
import type { User } from '../users/store.ts';
import { type ContactDeps, verifiedBy } from './change-email.ts';
import type { PhoneInput } from './contact-schema.ts';
import { type Changed, changeUser } from './credentials.ts';
import { mailRequested } from './mail-limit.ts';

/** How a code is delivered; as a text message if the field is not set. */
export type PhoneCodeChoice = Pick<PhoneInput, 'returnCode'>;

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

/** Replaces the number, and revokes the codes sent to the old one. The user's row is locked. */
export async function replacePhone(
  db: Db,
  user: User,
  { phone, isVerified }: { phone: string; isVerified: boolean },
  editor: string,
): Promise<AppendedEvent> {
  await revokeCodes(db, user.id, ['verify_phone']);
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
  await revokeCodes(deps.db, user.id, ['verify_phone']);
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

/**
 * Sends a code to the number, or returns it. A new user gets one only if the request asked for it.
 * @param by.address a new number to confirm; absent: the one that the user has
 * @throws ApiError 429 MAIL-LIMIT
 */
export async function makePhoneCode(
  deps: ContactDeps,
  user: Pick<User, 'id'>,
  choice: PhoneCodeChoice,
  { editor, address }: { editor: string; address?: string | undefined },
): Promise<string | undefined> {
  const code = { userId: user.id, codeTtlMs: deps.config.PHONE_CODE_TTL_MS, address };
  if (choice.returnCode) return issueCode(deps.db, deps.secrets, { ...code, purpose: 'verify_phone' });
  await mailRequested(deps, { ...code, kind: 'verify_phone' }, editor);
  return undefined;
}
