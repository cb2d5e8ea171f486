/**
 * Confirms an email address or a phone number and sets a password by a code; and the routes `…/email` and `…/phone`,
 * which set, resend the code and verify. Each route checks the caller's access to the user before it reads the body,
 * and again with the user's row locked.
 *
 * Guarantee: a code that is wrong, expired or used, and an unknown user, all give the same 400. Wrong codes are counted
 * by where they come from, before the check, so that parallel guesses do not exceed the limit; they end no code. A change,
 * its event and the consumption of its code are one transaction. A code changes the state only of an INITIAL user.
 */

import { Router } from 'express';
import { credentialOperations as operations } from '../../contract/credentials.ts';
import type { MailKind } from '../../contract/link-templates.ts';
import type { OperationId } from '../../contract/operations.ts';
import { type Asked, serve } from '../../contract/serve.ts';
import { changeableUser } from '../../directory/finders.ts';
import { revokeLogins } from '../../directory/revocation.ts';
import type { ContactDeps } from '../../directory/users/create.ts';
import { requireAllowedTemplate } from '../../directory/users/routes.ts';
import { accessForChange, findUser, type Reached, stateNow, type User } from '../../directory/users/store.ts';
import { requireWayIn, type WaysInConfig } from '../../directory/ways-in.ts';
import { type Code, findOpenCode, isOpen, PASSWORD_CODES, useCode } from '../../messages/mail/codes.ts';
import type { Hasher } from '../../passwords/hasher.ts';
import type { Config } from '../../platform/config.ts';
import { countWithin, discount } from '../../platform/db/counts.ts';
import type { AppendedEvent, Details } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { type ApiError, type IdOf, invalidArgument } from '../../platform/errors.ts';
import { type LoginDeps, type Origin, originOfCall } from '../login/origin.ts';
import { requireOwnerProof } from '../login/owner-proof.ts';
import { type Changed, changedAnswer, changeUser, type Delivery, requireHuman, requireVouching } from './change.ts';
import {
  changeEmail,
  changePhone,
  removePhone,
  replaceEmail,
  replacePhone,
  resendEmailCode,
  resendPhoneCode,
} from './contacts.ts';
import {
  FIRST_PASSWORD,
  hashOf,
  type NewHash,
  type NewPassword,
  type PasswordWriter,
  requirePolicy,
  storePassword,
} from './password.ts';

export interface VerificationDeps extends LoginDeps {
  config: LoginDeps['config'] &
    Pick<Config, 'baseUrl' | 'CODE_TTL_MS' | 'PHONE_CODE_TTL_MS' | 'RATE_LIMIT_MAILS'> &
    WaysInConfig;
}

/** Routes of email addresses and phone numbers. */
export function verificationRoutes(deps: VerificationDeps): Router {
  const router = Router();
  const user = changeableUser(deps.pool);
  serve(router, operations.setEmail, user, (asked) => change(deps, EMAIL, asked, changeEmail));
  serve(router, operations.resendEmailCode, user, (asked) => change(deps, EMAIL, asked, resendEmailCode));
  serve(router, operations.verifyEmail, user, (asked) => verify(deps, asked, verifyEmail));
  serve(router, operations.setPhone, user, (asked) => change(deps, PHONE, asked, changePhone));
  serve(router, operations.resendPhoneCode, user, (asked) => change(deps, PHONE, asked, resendPhoneCode));
  serve(router, operations.verifyPhone, user, (asked) => verify(deps, asked, verifyPhone));
  serve(router, operations.removePhone, user, async (asked) => {
    const { details } = await change(deps, PHONE, asked, removeOwnPhone(deps.config));
    return { details };
  });
  return router;
}

/** Users keep a way in. */
function removeOwnPhone(config: WaysInConfig): Change<Input> {
  return async (deps, user, input, editor) => {
    const changed = await removePhone(deps, user, input, editor);
    if (editor === user.id) await requireWayIn(deps.db, user, config);
    return changed;
  };
}

/**
 * Operations for which users prove that the account is their own. A code that is sent again goes where it went before.
 */
const NEED_PROOF: ReadonlySet<OperationId> = new Set(['setEmail', 'setPhone', 'removePhone']);

/** The errors for a machine user. */
const [EMAIL, PHONE] = ['EMAIL-NOT-HUMAN', 'PHONE-NOT-HUMAN'] as const;
type Change<I> = (deps: ContactDeps, user: User, input: I, editor: string) => Promise<Changed>;

interface Input extends Delivery {
  currentPassword?: string | undefined;
  mailedCode?: string | undefined;
}

interface AskedOf<I> extends Asked {
  target: Reached;
  body: I;
  countTry(): Promise<void>;
}

async function change<I extends Input>(
  deps: VerificationDeps,
  notHuman: IdOf<'FAILED_PRECONDITION'>,
  { caller, operation, target, body: input, countTry, req, res }: AskedOf<I>,
  work: Change<I>,
) {
  const userId = target.user.id;
  // Without the limit, users could make us send to any address or number as often as they like.
  if (userId === caller.userId && NEED_PROOF.has(operation)) await countTry();
  requireVouching(target.relation, input);
  await requireAllowedTemplate(deps, target.user.orgId, 'sendCode.urlTemplate', input.sendCode?.urlTemplate);
  const origin = originOfCall(req, res);
  if (NEED_PROOF.has(operation))
    await requireOwnerProof(deps, caller, target.user, origin, input.currentPassword, input.mailedCode);
  return transaction(deps.pool, async (db) => {
    const { user, relation } = await accessForChange(db, caller, operation, userId, 'for update');
    requireHuman(user, notHuman);
    requireVouching(relation, input);
    return changedAnswer(user, await work({ ...deps, db }, user, input, caller.userId));
  });
}

async function verify(
  deps: VerificationDeps,
  { caller, target, body, req, res }: AskedOf<{ verificationCode: string }>,
  work: (deps: VerificationDeps, holder: CodeHolder) => Promise<Details>,
) {
  const holder = { userId: target.user.id, code: body.verificationCode, editor: caller.userId };
  return { details: await work(deps, { ...holder, origin: originOfCall(req, res) }) };
}

export interface CodeHolder {
  userId: string;
  /** The code as the user typed it, or as it came with the link. */
  code: string;
  /** User id of the caller; the user's own id if nobody is logged in. */
  editor: string;
  /** Where it was entered. */
  origin: Origin;
}

interface CodeDeps {
  pool: Pool;
  secrets: Secrets;
}

/**
 * Marks the address verified; a new address of the code replaces the old one. A user without a password stays INITIAL:
 * the code of an initialisation mail confirms the address once and can still be used to set the password.
 * @throws ApiError 400 CODE-INVALID
 */
export async function verifyEmail(deps: CodeDeps, holder: CodeHolder): Promise<Details> {
  const code = await requireValidCode(deps, holder, ['verify_email', 'initialise']);
  return changeLocked(deps.pool, holder.userId, async (db, user) => {
    const good =
      code.purpose === 'verify_email' ? await useCode(db, code) : !user.emailVerified && (await isOpen(db, code));
    if (!good) throw codeInvalid();
    if (code.address !== null) return replaceEmail(db, user, { email: code.address, isVerified: true }, holder.editor);
    const event = { type: 'user.human.email.verified', editor: holder.editor };
    return changeUser(db, user, event, 'email_verified = true');
  });
}

/**
 * Marks the phone number verified; a new number of the code replaces the old one.
 * @throws ApiError 400 CODE-INVALID
 */
export async function verifyPhone(deps: CodeDeps, holder: CodeHolder): Promise<Details> {
  const code = await requireValidCode(deps, holder, ['verify_phone']);
  return changeLocked(deps.pool, holder.userId, async (db, user) => {
    if (!(await useCode(db, code))) throw codeInvalid();
    if (code.address !== null) return replacePhone(db, user, { phone: code.address, isVerified: true }, holder.editor);
    const event = { type: 'user.human.phone.verified', editor: holder.editor };
    return changeUser(db, user, event, 'phone_verified = true');
  });
}

/**
 * Sets a password with the code of an initialisation or a reset. An INITIAL user becomes active, a locked user stays
 * locked, and a deactivated user cannot use a code. A code that was emailed also proves that the address is the user's.
 * @throws ApiError 400 PASSWORD-POLICY, CODE-INVALID
 */
export async function setPasswordByCode(
  deps: CodeDeps & { hasher: Hasher },
  holder: CodeHolder,
  password: NewPassword,
): Promise<Details> {
  return changeLocked(deps.pool, holder.userId, await preparePasswordByCode(deps, holder, password));
}

/**
 * The slow part of `setPasswordByCode`: checks the code and hashes. The rules for passwords are named only to holders
 * of the code.
 * @throws ApiError 400 PASSWORD-POLICY, CODE-INVALID, as does the writer
 */
export async function preparePasswordByCode(
  deps: CodeDeps & { hasher: Hasher },
  holder: CodeHolder,
  password: NewPassword | NewHash,
): Promise<PasswordWriter> {
  if (await holdsPasswordCode(deps, holder)) await requirePolicy(deps.pool, holder.userId, password);
  const code = await requireValidCode(deps, holder, PASSWORD_CODES);
  const hash = await hashOf(deps.hasher, password);
  return async (db, user) => {
    if (stateNow(user) === 'inactive' || !(await useCode(db, code))) throw codeInvalid();
    await revokeLogins(db, user.id);
    const type = code.purpose === 'initialise' ? FIRST_PASSWORD : 'user.human.password.changed';
    const change = { hash, changeRequired: password.changeRequired };
    const verifiesEmail = code.purpose === 'initialise' || code.mailed;
    return storePassword(db, user, { ...change, verifiesEmail }, { type, editor: holder.editor });
  };
}

/** Whether the code can set a password. */
export async function holdsPasswordCode(
  { pool, secrets }: CodeDeps,
  { userId, code }: Pick<CodeHolder, 'userId' | 'code'>,
): Promise<boolean> {
  return (await findOpenCode({ db: pool, secrets }, { userId, entered: code, purposes: PASSWORD_CODES })) !== undefined;
}

/** The error id of every invalid code. */
export const CODE_INVALID = 'CODE-INVALID';

/** @throws ApiError 400 CODE-INVALID, 429 RATE-LIMIT */
async function requireValidCode(
  { pool: db, secrets }: CodeDeps,
  { userId, code: entered, origin }: CodeHolder,
  purposes: readonly MailKind[],
): Promise<Code> {
  const key = wrongCodesKey(userId, origin);
  await countWithin(db, key, WRONG_CODES);
  const code = await findOpenCode({ db, secrets }, { userId, entered, purposes });
  if (!code) throw codeInvalid();
  await discount(db, key);
  return code;
}

/** Wrong codes in an hour: far from a guess at 60 bits, and more than the people of one network mistype. */
const WRONG_CODES = {
  limit: 100,
  windowMs: 60 * 60_000,
  message: 'Too many wrong codes from this network. The code is still valid; try again later.',
};

/** A program enters the codes of many users from one network, so it has a count for each of them. */
function wrongCodesKey(userId: string, { network, through }: Origin): string {
  return through === undefined ? `wrong codes ${network}` : `wrong codes ${through} ${userId}`;
}

function changeLocked(
  pool: Pool,
  userId: string,
  change: (db: Db, user: User) => Promise<AppendedEvent>,
): Promise<Details> {
  return transaction(pool, async (db) => {
    const user = await findUser(db, userId, 'for update');
    if (!user) throw codeInvalid();
    return changedAnswer(user, { event: await change(db, user) }).details;
  });
}

function codeInvalid(): ApiError {
  return invalidArgument(CODE_INVALID, 'The code is wrong, already used or expired.');
}
