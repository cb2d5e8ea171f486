/**
 * Password resets: by a manager of the user, by the users themselves, or on the page for forgotten passwords.
 *
 * Guarantee: the page's response takes the same time whether or not the user exists and whatever is sent. The page
 * sends a user at most one such email a minute.
 *
 * On crash: after the response and before the commit, nothing was sent and the user can request it again.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { type Db, type Pool, transaction } from '../db/pool.ts';
import { ApiError } from '../errors.ts';
import { textProblem } from '../fields/fields.ts';
import { findLogin } from '../identity/login/store.ts';
import { loggable } from '../logger.ts';
import { issueCode, mailCode } from '../mail/codes.ts';
import type { Secrets } from '../secrets.ts';
import { findUser, type User } from '../users/store.ts';
import { type Changed, changeUser } from './credentials.ts';
import type { PasswordResetInput } from './password-schema.ts';
import { PASSWORD_CODES } from './set-password.ts';

type ResetConfig = Pick<Config, 'CODE_TTL_MS' | 'RESET_CODE_TTL_MS'>;

/**
 * Emails a link to set a new password, or returns a code for it. Runs in the caller's transaction, with the user's row
 * locked.
 * @throws ApiError 400 PASSWORD-RESET-INACTIVE
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
  const event = await changeUser(db, user, { type: 'user.human.password.code.added', editor });
  if (!returnCode) {
    await mailLink({ db, config }, user, sendLink?.urlTemplate);
    return { event };
  }
  const code = { userId: user.id, purpose: 'reset_password' as const, codeTtlMs: config.RESET_CODE_TTL_MS };
  return { event, verificationCode: await issueCode(db, secrets, code) };
}

/** An INITIAL user gets the initialisation mail again. */
async function mailLink(deps: { db: Db; config: ResetConfig }, user: User, urlTemplate?: string): Promise<void> {
  const { CODE_TTL_MS, RESET_CODE_TTL_MS } = deps.config;
  const mail = { userId: user.id, urlTemplate };
  if (user.state === 'initial') await mailCode(deps.db, { ...mail, kind: 'initialise', codeTtlMs: CODE_TTL_MS });
  else await mailCode(deps.db, { ...mail, kind: 'reset_password', codeTtlMs: RESET_CODE_TTL_MS });
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
 * @param ask.urlTemplate checked by `urlTemplateProblem`; absent: our own page
 */
export async function requestPasswordReset(
  deps: ForgottenDeps,
  { loginName, orgId, urlTemplate }: { loginName: string; orgId?: string | undefined; urlTemplate?: string },
): Promise<void> {
  const time = sleep(ANSWER_AFTER_MS);
  const login = textProblem(loginName, 500) ? undefined : await findLogin(deps.pool, { loginName, orgId });
  if (login) {
    void sendOnce(deps, login.id, urlTemplate).catch((error: unknown) => {
      deps.logger.error({ userId: login.id, err: loggable(error) }, 'reset of a forgotten password failed');
    });
  }
  await time;
}

function sendOnce(deps: ForgottenDeps, userId: string, urlTemplate: string | undefined): Promise<void> {
  return transaction(deps.pool, async (db) => {
    const user = await findUser(db, userId, 'for update');
    if (user?.kind !== 'human' || user.state === 'inactive' || (await wasMailed(db, userId))) return;
    const { secrets, config } = deps;
    await resetPassword({ db, secrets, config }, user, { sendLink: { urlTemplate } }, 'system');
  });
}

/** Whether an email with a code that is still open was queued in the last minute. */
async function wasMailed(db: Db, userId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select 1 from mail_outbox m join codes c on c.id = m.code_id
     where m.user_id = $1 and m.kind = any($2::mail_kind[]) and c.used_at is null
       and m.created_at > now() - interval '1 minute' limit 1`,
    [userId, PASSWORD_CODES],
  );
  return rowCount === 1;
}
