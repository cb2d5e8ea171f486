/**
 * A user's email address: setting it, and sending or returning the code that confirms it.
 *
 * Guarantee: a code confirms the address it was made for and no other, as a change of address ends all codes that went
 * to the old one. Everything here works in the caller's transaction, with the user's row locked.
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

/** How a code gets out; mailed when nothing is said. */
export type EmailCodeChoice = Pick<EmailInput, 'sendCode' | 'returnCode'>;

/**
 * Sets the address of a locked human. It is verified when that is said, or when it is the verified one again and nothing
 * is said; else a code goes out.
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
 * Makes a code for the address once more.
 * @throws ApiError 400 EMAIL-VERIFIED
 */
export async function resendEmailCode(
  deps: ContactDeps,
  user: User,
  choice: EmailCodeChoice,
  editor: string,
): Promise<Changed> {
  if (user.emailVerified) {
    throw new ApiError('FAILED_PRECONDITION', 'EMAIL-VERIFIED', 'The email address is verified already.');
  }
  const event = await changeUser(deps.db, user, { type: 'user.human.email.code.added', editor });
  return { event, verificationCode: await makeEmailCode(deps, user, choice) };
}

/**
 * Mails a code for the address, or returns it. For a user who is INITIAL it is that of the initialisation mail, which
 * confirms the address and sets the first password too.
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

/** @param before whether the same value was verified before; it counts only when nothing is said */
export function verifiedBy(
  { isVerified, sendCode, returnCode }: { isVerified?: boolean | undefined; sendCode?: unknown; returnCode?: unknown },
  before: boolean,
): boolean {
  return isVerified ?? (before && sendCode === undefined && returnCode === undefined);
}
