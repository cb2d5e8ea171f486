/**
 * Asks for a code by text message on the sign-in page, where anybody may ask for anybody, or by a program: for a user with a
 * verified phone number that nobody else in the organization has, as the login policy of the organization allows (`smsCode`).
 *
 * Guarantee: the answer is the same, after the same work, whether or not the user exists, may use a code, or has asked
 * often enough: all that differs comes after the answer. Nobody who is locked, deactivated or left out of codes gets one.
 * On crash: after the answer and before the commit, nothing was sent, and the user can ask again.
 */
import { findUser, stateNow, type User } from '../../directory/users/store.ts';
import { BY_SMS } from '../../directory/ways-in.ts';
import { ANYBODY, MAIL_LIMIT } from '../../messages/mail/codes.ts';
import { holderOf, returnSignInCode, shareSignInCode, textSignInCode } from '../../messages/mail/sign-in-codes.ts';
import type { Config } from '../../platform/config.ts';
import { countWithin } from '../../platform/db/counts.ts';
import { type AppendedEvent, appendEvent } from '../../platform/db/events.ts';
import { type Db, prepared, transaction } from '../../platform/db/pool.ts';
import { ApiError } from '../../platform/errors.ts';
import { textProblem } from '../../platform/fields.ts';
import { recordRequest } from '../credentials/change.ts';
import { answerInTime, type ForgottenDeps } from '../credentials/password-reset.ts';
import { userKeys } from '../login/delays.ts';
import type { Origin } from '../login/origin.ts';
import { findLogin } from '../login/store.ts';
import type { Asked, ProgramAsk } from '../mail-code/ask.ts';
import { NETWORK_ASKS } from '../mail-code/limits.ts';
import { allowsText, allowsTextOfProgram } from './limits.ts';

export type TextConfig = Pick<Config, 'SMS_URL' | 'SMS_PER_DAY'>;
type TextDeps = ForgottenDeps & { config: TextConfig };

/** A user whose number gets codes. */
export type TextUser = User & { phone: string };

/**
 * Sends a code to the number of the human with this number or login name, if they may use one.
 * @throws ApiError 429 RATE-LIMIT, whoever the user is
 */
export async function askForText(deps: TextDeps, { loginName, orgId, login, origin }: Asked): Promise<void> {
  await countWithin(deps.pool, `text codes wanted in ${origin.network}`, NETWORK_ASKS);
  await answerInTime(
    deps,
    async () => (textProblem(loginName, 500) ? undefined : (await findLogin(deps.pool, { loginName, orgId }))?.id),
    (userId) => sendText(deps, userId, login, origin),
  );
}

function sendText(deps: TextDeps, userId: string, login: string, origin: Origin): Promise<void> {
  const to = { userId, holder: holderOf('login', login), purpose: 'sign_in_text' } as const;
  return transaction(deps.pool, async (db) => {
    const user = await findUser(db, userId, 'for update');
    if (!user || !hasText(user) || !(await mayUseText(db, deps.config, user))) return;
    const network = { ofUser: userKeys(deps.secrets, userId, origin).network, any: origin.network };
    if (!(await allowsText(db, deps.config, user, network))) return shareSignInCode(db, to);
    await recordRequest(db, user, { type: 'user.human.signin.code.added', editor: ANYBODY });
    await textSignInCode(db, to);
  });
}

/** What a program may be told for one user in an hour. */
const MOST_TOLD = 30;
const HOUR_MS = 60 * 60_000;

/**
 * For a program: sends a code to the user, whose row is locked, or returns it. A program is told why there is none.
 * @throws ApiError 400 SESSION-OTP-SMS-UNAVAILABLE; 429 MAIL-LIMIT
 */
export async function askTextByProgram(
  { db, secrets, config }: { db: Db; secrets: ForgottenDeps['secrets']; config: TextConfig },
  user: User,
  { holder, editor, returnsCode }: ProgramAsk,
): Promise<{ event: AppendedEvent; code?: string }> {
  if (!hasText(user) || !(await mayUseText(db, config, user))) throw unavailable();
  if (returnsCode) {
    await countWithin(db, `text codes told of ${user.id}`, {
      limit: MOST_TOLD,
      windowMs: HOUR_MS,
      id: MAIL_LIMIT,
      message: `Programs can ask for at most ${MOST_TOLD} codes an hour for a user. Try again later.`,
    });
  } else if (!(await allowsTextOfProgram(db, config, user))) throw tooManyTexts();
  const { id: userId, orgId: resourceOwner } = user;
  const type = 'user.human.signin.code.added';
  const event = await appendEvent(db, { aggregateType: 'user', aggregateId: userId, resourceOwner, type, editor });
  const to = { userId, holder, purpose: 'sign_in_text' } as const;
  if (returnsCode) return { event, code: await returnSignInCode({ db, secrets }, to) };
  await textSignInCode(db, to);
  return { event };
}

function unavailable(): ApiError {
  const message =
    'The user cannot sign in with a code by text message: they have no verified number of their own, are locked or ' +
    'deactivated or left out of codes, the service has no gateway, or the login policy does not allow it.';
  return new ApiError('FAILED_PRECONDITION', 'SESSION-OTP-SMS-UNAVAILABLE', message);
}

/** The error beyond the limits of a number or of the organization. */
export function tooManyTexts(): ApiError {
  const message = 'The number or the organization has had as many text messages as it may. Try again later.';
  return new ApiError('RESOURCE_EXHAUSTED', MAIL_LIMIT, message, { retryAfterS: HOUR_MS / 1000 });
}

/** Whether the user may sign in with a code now, by their number, their state and the policy of their organization. */
export async function mayUseText(db: Db, { SMS_URL }: Pick<Config, 'SMS_URL'>, user: User): Promise<boolean> {
  return SMS_URL !== undefined && hasText(user) && isAllowed(db, user);
}

/** Whether the user has a verified number, and a state in which they may sign in. */
export function hasText(user: User): user is TextUser {
  const state = stateNow(user);
  const isPerson = user.kind === 'human' && (state === 'active' || state === 'initial');
  return isPerson && user.phone !== null && user.phoneVerified;
}

async function isAllowed(db: Db, { id }: User): Promise<boolean> {
  const text = `select ${BY_SMS} as is from users u where u.id = $1`;
  const { rows } = await db.query<{ is: boolean }>(prepared(text, [id]));
  return rows[0]?.is === true;
}
