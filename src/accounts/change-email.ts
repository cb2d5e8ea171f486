/**
 * Sets a user's email address, and sends or returns the code that confirms it.
 *
 * Guarantee: a code confirms only the address it was created for, as a change of address revokes all codes sent to the
 * old one. Everything here runs in the caller's transaction, with the user's row locked.
 */
import type { Config } from '../config.ts';
import type { Db } from '../db/pool.ts';
import { ApiError } from '../errors.ts';
import { nameKey } from '../fields/fields.ts';
import { issueCode, mailCode, revokeCodes } from '../mail/codes.ts';
import type { Secrets } from '../secrets.ts';
import type { User } from '../users/store.ts';
import type { EmailInput } from './contact-schema.ts';
import { type Changed, changeUser } from './credentials.ts';

export interface ContactDeps {
  /** The transaction's connection. */
  db: Db;
  secrets: Secrets;
  config: Pick<Config, 'CODE_TTL_MS' | 'PHONE_CODE_TTL_MS'>;
}

/** How a code is delivered; by email if neither field is set. */
export type EmailCodeChoice = Pick<EmailInput, 'sendCode' | 'returnCode'>;

/**
 * Sets the address of a human, whose row is locked. It counts as verified if the input says so, or if it equals the
 * verified address and the input says nothing; else a code is sent or returned.
 */
export async function changeEmail(deps: ContactDeps, user: User, input: EmailInput, editor: string): Promise<Changed> {
  const { email } = input;
  const isSame = email === user.email;
  const isVerified = verifiedBy(input, isSame && user.emailVerified);
  await revokeCodes(deps.db, user.id, isSame ? ['verify_email'] : ['verify_email', 'initialise', 'reset_password']);
  const event = await changeUser(
    deps.db,
    user,
    { type: 'user.human.email.changed', editor },
    'email = $4, email_key = $5, email_verified = $6',
    [email, nameKey(email), isVerified],
  );
  return { event, verificationCode: isVerified ? undefined : await makeEmailCode(deps, user, input) };
}

/**
 * Creates another code for the address.
 * @throws ApiError 400 EMAIL-VERIFIED
 */
export async function resendEmailCode(
  deps: ContactDeps,
  user: User,
  choice: EmailCodeChoice,
  editor: string,
): Promise<Changed> {
  if (user.emailVerified) {
    throw new ApiError('FAILED_PRECONDITION', 'EMAIL-VERIFIED', 'The email address is already verified.');
  }
  const event = await changeUser(deps.db, user, { type: 'user.human.email.code.added', editor });
  return { event, verificationCode: await makeEmailCode(deps, user, choice) };
}

/**
 * Emails a code for the address, or returns it. An INITIAL user gets the code of the initialisation mail, which
 * confirms the address and sets the first password.
 */
export async function makeEmailCode(
  { db, secrets, config }: ContactDeps,
  user: Pick<User, 'id' | 'state'>,
  choice: EmailCodeChoice,
): Promise<string | undefined> {
  const purpose = user.state === 'initial' ? 'initialise' : 'verify_email';
  const codeTtlMs = config.CODE_TTL_MS;
  if (choice.returnCode) return issueCode(db, secrets, { userId: user.id, purpose, codeTtlMs });
  await mailCode(db, { kind: purpose, userId: user.id, urlTemplate: choice.sendCode?.urlTemplate, codeTtlMs });
  return undefined;
}

/** @param before whether the same value was verified before; used only if the input says nothing */
export function verifiedBy(
  { isVerified, sendCode, returnCode }: { isVerified?: boolean | undefined; sendCode?: unknown; returnCode?: unknown },
  before: boolean,
): boolean {
  return isVerified ?? (before && sendCode === undefined && returnCode === undefined);
}
