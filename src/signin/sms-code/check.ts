/**
 * Checks a login with a code by text message in place of the password. It counts, waits and is locked as a login with a
 * code by mail is (mail-code/check.ts), and asks for the second factor as that does.
 *
 * Guarantee: an unknown user, a user without a code and a wrong code give the same error after the same time. A right
 * code makes an INITIAL user active; it changes no other state. Whether the user may use a code is checked again when it
 * is consumed.
 * On crash: at most a try was counted, or the code was consumed; the user asks for another one.
 */
import { findUser, type User } from '../../directory/users/store.ts';
import { revokePending, revokeUnsent, useCode } from '../../messages/mail/codes.ts';
import { findSignInCode, type SignInCode } from '../../messages/mail/sign-in-codes.ts';
import { type Db, transaction } from '../../platform/db/pool.ts';
import { type ApiError, invalidArgument } from '../../platform/errors.ts';
import { changeUser } from '../credentials/change.ts';
import { type Attempt, countedAttempt } from '../login/attempts.ts';
import {
  type CheckedLogin,
  concludeByText,
  type PasswordProof,
  requireActive,
  wrongCredentials,
} from '../login/check.ts';
import type { LoginDeps } from '../login/origin.ts';
import { findLogin, type Login } from '../login/store.ts';
import { type MailCode, requireFactor, wrongMailCode } from '../mail-code/check.ts';
import { mayUseText, type TextConfig } from './ask.ts';
import { forgetText } from './limits.ts';

type TextLoginDeps = LoginDeps & { config: TextConfig };

/**
 * Checks an attempt to log in with a code.
 * @param proven called with the proof of the right code, before anything else is checked
 * @throws ApiError 400 SESSION-OTP-EMAIL; after the right code SESSION-USER-LOCKED, -INACTIVE, SESSION-TOTP-REQUIRED,
 *   SESSION-TOTP, SESSION-MFA-SETUP-REQUIRED; 429 SESSION-FAILURES, SESSION-ATTEMPTS
 */
export async function checkTextCode(
  deps: TextLoginDeps,
  attempt: Attempt,
  { code: entered, holder, factor, keepsCode = false }: MailCode,
  proven?: (by: PasswordProof) => void,
): Promise<CheckedLogin> {
  return countedAttempt(deps, attempt, async ({ login, failed, passed }) => {
    const { pool: db, secrets } = deps;
    const code = { holder, entered, purpose: 'sign_in_text' } as const;
    const found = login && (await findSignInCode({ db, secrets }, { userId: login.id, ...code }));
    if (!login || !found) {
      await failed('code', 0);
      throw wrongMailCode();
    }
    const second = keepsCode
      ? await requireFactor(deps, login, { factor, holder }, 'sms', () => failed('code'))
      : undefined;
    const { now, user } = await redeem(deps, login, found);
    proven?.({ id: now.id, passwordSetAt: now.passwordSetAt, byText: true });
    requireActive(now.state);
    const checked = await concludeByText(now, second, passed);
    await forgetText(db, user);
    return checked;
  });
}

/**
 * Consumes the code.
 * @returns the login as it is then
 * @throws ApiError 400 SESSION-OTP-EMAIL when another request was faster, or the user may not use a code any more
 */
function redeem({ pool, config }: TextLoginDeps, login: Login, code: SignInCode): Promise<{ now: Login; user: User }> {
  return transaction(pool, async (db) => {
    const user = await findUser(db, login.id, 'for update');
    if (!user || !(await useCode(db, code))) throw wrongMailCode();
    // Somebody who is locked or deactivated is told so; the code changes nothing for them.
    if (login.state === 'active' || login.state === 'initial') {
      if (!(await mayUseText(db, config, user))) throw wrongMailCode();
      if (user.state === 'initial') await activate(db, user);
    }
    const now = await findLogin(db, { userId: user.id });
    if (now?.passwordSetAt !== login.passwordSetAt) throw wrongCredentials();
    return { now, user };
  });
}

/** Mails that are on their way and codes for another address came before the owner of the number did. */
async function activate(db: Db, user: User): Promise<void> {
  await revokeUnsent(db, user.id, ['initialise']);
  await revokePending(db, user.id);
  await changeUser(db, user, { type: 'user.human.initialised', editor: user.id }, `state = 'active'`);
}

/** The error for programs, whose sessions wait for a code by mail or by text message. */
export function wrongTextCode(): ApiError {
  return invalidArgument('SESSION-OTP-SMS', 'The code is wrong, used, expired, or was asked for elsewhere.');
}
