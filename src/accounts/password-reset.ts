/**
 * Password resets: by a manager of the user, by the users themselves, or on the page for forgotten passwords.
 *
 * Guarantee: a link to set a password goes only to a verified address, or to a user who has never had a password, whose
 * address it then verifies. The page's response takes the same time whether or not the user exists and whatever is
 * sent. The page sends a user at most one such email a minute.
 *
 * On crash: after the response and before the commit, nothing was sent and the user can request it again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { type Db, type Pool, transaction } from '../db/pool.ts';
import { ApiError } from '../errors.ts';
import { idProblem, textProblem } from '../fields/fields.ts';
import { findLogin } from '../identity/login/store.ts';
import { loggable } from '../logger.ts';
import { issueCode } from '../mail/codes.ts';
import type { LinkKind } from '../mail/links.ts';
import type { Secrets } from '../secrets.ts';
import { findUser, type User } from '../users/store.ts';
import { requireAddress, resendEmailCode } from './change-email.ts';
import { type Changed, recordRequest } from './credentials.ts';
import { ANYBODY, MAIL_LIMIT, mailRequested } from './mail-limit.ts';
import type { PasswordResetInput } from './password-schema.ts';

type ResetConfig = Pick<Config, 'CODE_TTL_MS' | 'RATE_LIMIT_MAILS' | 'RESET_CODE_TTL_MS'>;

/**
 * Emails a link to set a new password, or returns a code for it. A user who has a password but no verified address gets
 * the email to verify the address instead. Runs in the caller's transaction, with the user's row locked.
 * @throws ApiError 400 PASSWORD-RESET-INACTIVE, EMAIL-NONE, 429 MAIL-LIMIT
 */
export async function resetPassword(
  deps: { db: Db; secrets: Secrets; config: ResetConfig },
  user: User,
  { sendLink, returnCode }: PasswordResetInput,
  editor: string,
): Promise<Changed> {
  const { db, secrets, config } = deps;
  if (user.state === 'inactive') {
    throw new ApiError('FAILED_PRECONDITION', 'PASSWORD-RESET-INACTIVE', 'The user is deactivated.');
  }
  const kind = mailFor(user);
  if (!returnCode) requireAddress(user.email);
  if (!returnCode && kind === 'verify_email') return resendEmailCode(deps, user, {}, editor);
  const event = await recordRequest(db, user, { type: 'user.human.password.code.added', editor });
  const code = { userId: user.id, codeTtlMs: config.RESET_CODE_TTL_MS };
  if (returnCode)
    return { event, verificationCode: await issueCode(db, secrets, { ...code, purpose: 'reset_password' }) };
  const codeTtlMs = kind === 'initialise' ? config.CODE_TTL_MS : config.RESET_CODE_TTL_MS;
  await mailRequested(deps, { ...code, kind, codeTtlMs, urlTemplate: sendLink?.urlTemplate }, editor);
  return { event };
}

/** The mail that leads to a new password, at once or after the address is verified. */
function mailFor({ state, emailVerified, hasPassword }: User): LinkKind {
  if (state === 'initial' || !(emailVerified || hasPassword)) return 'initialise';
  return emailVerified ? 'reset_password' : 'verify_email';
}

/** Minimum time of the page's response, in milliseconds: longer than the work usually takes. */
const ANSWER_AFTER_MS = 200;

export interface ForgottenDeps {
  pool: Pool;
  secrets: Secrets;
  config: ResetConfig;
  logger: Logger;
}

/**
 * For the page of forgotten passwords: emails a link to the human with this login name, if there is one who is not
 * deactivated. Does not tell the caller what happened.
 * @param ask.orgId the organization that the application named
 */
export async function requestPasswordReset(
  deps: ForgottenDeps,
  { loginName, orgId }: { loginName: string; orgId?: string | undefined },
): Promise<void> {
  await answerInTime(deps, async () => {
    return textProblem(loginName, 500) ? undefined : (await findLogin(deps.pool, { loginName, orgId }))?.id;
  });
}

/**
 * For the page of a link that is no longer good: emails the user a new link, if there is something left to do. Does not
 * tell the caller what happened.
 * @param ask.isToVerify the link was to verify the address, which may be verified by now
 */
export async function requestNewLink(
  deps: ForgottenDeps,
  { userId, isToVerify }: { userId: string; isToVerify: boolean },
): Promise<void> {
  await answerInTime(deps, async () => (idProblem(userId) ? undefined : userId), isToVerify);
}

async function answerInTime(
  deps: ForgottenDeps,
  find: () => Promise<string | undefined>,
  isToVerify = false,
): Promise<void> {
  const time = sleep(ANSWER_AFTER_MS);
  const userId = await find();
  if (userId !== undefined) {
    void sendOnce(deps, userId, isToVerify).catch((error: unknown) => {
      // The answer must not tell that the user exists and got many mails.
      if (error instanceof ApiError && error.id === MAIL_LIMIT) return;
      deps.logger.error({ userId, err: loggable(error) }, 'reset of a forgotten password failed');
    });
  }
  await time;
}

function sendOnce(deps: ForgottenDeps, userId: string, isToVerify: boolean): Promise<void> {
  return transaction(deps.pool, async (db) => {
    const user = await findUser(db, userId, 'for update');
    if (
      user?.kind !== 'human' ||
      user.email === null ||
      user.state === 'inactive' ||
      (isToVerify && user.emailVerified)
    )
      return;
    if (await wasMailed(db, userId, mailFor(user))) return;
    const { secrets, config } = deps;
    await resetPassword({ db, secrets, config }, user, {}, ANYBODY);
  });
}

/** Whether an email with a code that is still open was queued in the last minute. */
async function wasMailed(db: Db, userId: string, kind: LinkKind): Promise<boolean> {
  const { rowCount } = await db.query(
    `select 1 from mail_outbox m join codes c on c.id = m.code_id
     where m.user_id = $1 and m.kind = $2 and c.used_at is null
       and m.created_at > now() - interval '1 minute' limit 1`,
    [userId, kind],
  );
  return rowCount === 1;
}
