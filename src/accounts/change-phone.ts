/**
 * Sets or removes a user's phone number, and sends or returns the code that confirms it.
 *
 * Guarantee: as for email addresses, a code confirms only the number it was created for. Everything here runs in the
 * caller's transaction, with the user's row locked.
 */
import { ApiError } from '../errors.ts';
import { issueCode, mailCode, revokeCodes } from '../mail/codes.ts';
import type { User } from '../users/store.ts';
import { type ContactDeps, verifiedBy } from './change-email.ts';
import type { PhoneInput } from './contact-schema.ts';
import { type Changed, changeUser } from './credentials.ts';

/** How a code is delivered; as a text message if the field is not set. */
export type PhoneCodeChoice = Pick<PhoneInput, 'returnCode'>;

/**
 * Sets the number of a human, whose row is locked. It counts as verified if the input says so, or if it equals the
 * verified number and the input says nothing; else a code is sent or returned.
 */
export async function changePhone(deps: ContactDeps, user: User, input: PhoneInput, editor: string): Promise<Changed> {
  const { phone } = input;
  const isVerified = verifiedBy(input, phone === user.phone && user.phoneVerified);
  await revokeCodes(deps.db, user.id, ['verify_phone']);
  const event = await changeUser(
    deps.db,
    user,
    { type: 'user.human.phone.changed', editor },
    'phone = $4, phone_verified = $5',
    [phone, isVerified],
  );
  return { event, verificationCode: isVerified ? undefined : await makePhoneCode(deps, user, input) };
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
  if (user.phoneVerified) {
    throw new ApiError('FAILED_PRECONDITION', 'PHONE-VERIFIED', 'The phone number is already verified.');
  }
  const event = await changeUser(deps.db, user, { type: 'user.human.phone.code.added', editor });
  return { event, verificationCode: await makePhoneCode(deps, user, choice) };
}

/** Sends a code to the number, or returns it. A new user gets one only if the request asked for it. */
export async function makePhoneCode(
  { db, secrets, config }: ContactDeps,
  user: Pick<User, 'id'>,
  choice: PhoneCodeChoice,
): Promise<string | undefined> {
  const code = { userId: user.id, codeTtlMs: config.PHONE_CODE_TTL_MS };
  if (choice.returnCode) return issueCode(db, secrets, { ...code, purpose: 'verify_phone' });
  await mailCode(db, { ...code, kind: 'verify_phone' });
  return undefined;
}
