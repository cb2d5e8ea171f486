/**
 * Checks a login with a code by mail in place of the password. It counts, waits and is locked as a login with a password
 * is (login/attempts.ts), and asks for the second factor as that does.
 *
 * Guarantee: an unknown user, a user without a code and a wrong code give the same error after the same time. A right
 * code verifies the address that it was mailed to, and makes an INITIAL user active; it changes no other state. Whether
 * the user may use a code is checked again when it is consumed.
 * On crash: at most a try was counted, or the code was consumed; the user asks for another one.
 */
import { hasSecondFactor } from '../../directory/users/second-factors.ts';
import { findUser, type User } from '../../directory/users/store.ts';
import { revokeCodes, revokePending, revokeUnsent, useCode } from '../../messages/mail/codes.ts';
import { findSignInCode, type SignInCode } from '../../messages/mail/sign-in-codes.ts';
import { type Db, transaction } from '../../platform/db/pool.ts';
import { invalidArgument } from '../../platform/errors.ts';
import { changeUser } from '../credentials/change.ts';
import {
  type FactorAttempt,
  type FirstFactor,
  isGiven,
  type PassedFactor,
  passFactor,
} from '../factors/second-factor.ts';
import { type Attempt, countedAttempt } from '../login/attempts.ts';
import {
  type CheckedLogin,
  codeRequired,
  concludeByMail,
  type PasswordProof,
  requireActive,
  wrongCredentials,
} from '../login/check.ts';
import type { LoginDeps } from '../login/origin.ts';
import { findLogin, type Login } from '../login/store.ts';
import { mayUseCode } from './ask.ts';
import { forgetAsk } from './limits.ts';

export interface MailCode extends Pick<FactorAttempt, 'factor'> {
  /** As the user typed it. */
  code: string;
  /** Who asked for it; see `holderOf`. */
  holder: Buffer;
  /** The code stays valid while the second factor is missing: whoever calls sends both again. */
  keepsCode?: boolean;
}

/**
 * Checks an attempt to log in with a code.
 * @param proven called with the proof of the right code, before anything else is checked
 * @throws ApiError 400 SESSION-OTP-EMAIL; after the right code SESSION-USER-LOCKED, -INACTIVE, -INITIAL,
 *   SESSION-TOTP-REQUIRED, SESSION-TOTP, SESSION-MFA-SETUP-REQUIRED; 429 SESSION-FAILURES, SESSION-ATTEMPTS
 */
export async function checkMailCode(
  deps: LoginDeps,
  attempt: Attempt,
  { code, holder, factor, keepsCode = false }: MailCode,
  proven?: (by: PasswordProof) => void,
): Promise<CheckedLogin> {
  return countedAttempt(deps, attempt, async ({ login, failed, passed }) => {
    const { pool: db, secrets } = deps;
    const found = login && (await findSignInCode({ db, secrets }, { userId: login.id, holder, entered: code }));
    if (!login || !found) {
      await failed('code', 0);
      throw wrongMailCode();
    }
    const second = keepsCode
      ? await requireFactor(deps, login, { factor, holder }, 'mail', () => failed('code'))
      : undefined;
    const now = await redeem(deps, login, found);
    proven?.({ id: now.id, passwordSetAt: now.passwordSetAt, byMail: true });
    requireActive(now.state);
    const checked = await concludeByMail(now, second, passed);
    await forgetAsk(db, login.id);
    return checked;
  });
}

/** Checks the second factor before the code is consumed. @throws ApiError 400 SESSION-TOTP-REQUIRED, SESSION-TOTP */
export async function requireFactor(
  deps: LoginDeps,
  login: Login,
  { factor, holder }: FactorAttempt,
  by: FirstFactor,
  failed: () => Promise<void>,
): Promise<PassedFactor | undefined> {
  if (isGiven(factor)) return passFactor(deps, login.id, { factor, holder }, by, failed);
  if (await hasSecondFactor(deps.pool, login.id)) throw codeRequired();
  return undefined;
}

/**
 * Consumes the code.
 * @returns the login as it is then
 * @throws ApiError 400 SESSION-OTP-EMAIL when another request was faster, or the user may not use a code any more
 */
function redeem({ pool }: LoginDeps, login: Login, code: SignInCode): Promise<Login> {
  return transaction(pool, async (db) => {
    const user = await findUser(db, login.id, 'for update');
    if (!user || !(await useCode(db, code))) throw wrongMailCode();
    // Somebody who is locked or deactivated is told so; the code changes nothing for them.
    if (login.state === 'active' || login.state === 'initial') {
      if (!(await mayUseCode(db, user))) throw wrongMailCode();
      if (code.mailed) await verify(db, user);
    }
    const now = await findLogin(db, { userId: user.id });
    if (now?.passwordSetAt !== login.passwordSetAt) throw wrongCredentials();
    return now;
  });
}

/** Mails that are on their way and codes for another address came before the owner of this one did. */
async function verify(db: Db, user: User): Promise<void> {
  const isNew = user.state === 'initial';
  if (user.emailVerified && !isNew) return;
  await revokeCodes(db, user.id, ['verify_email']);
  await revokeUnsent(db, user.id, ['initialise']);
  await revokePending(db, user.id);
  const type = isNew ? 'user.human.initialised' : 'user.human.email.verified';
  const set = `email_verified = true, state = case when state = 'initial' then 'active' else state end`;
  await changeUser(db, user, { type, editor: user.id }, set);
}

/** The id of the error for every code that is not right. */
export const WRONG_CODE = 'SESSION-OTP-EMAIL';

/** The error for every code that is not right, for known and unknown users. */
export function wrongMailCode() {
  return invalidArgument(WRONG_CODE, 'The code is wrong, used, expired, or was asked for elsewhere.');
}
