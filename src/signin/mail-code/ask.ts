/**
 * Asks for a code by mail: on the sign-in page, where anybody may ask for anybody, or by a program.
 *
 * Guarantee: the answer to the page is the same, after the same work, whether or not the user exists, may use a code, or
 * has asked often enough: all that differs comes after the answer. Nobody who is locked or deactivated gets a code. A
 * user who has a password gets one only at a verified address, as an address that somebody mistyped must not open an
 * account; to another address goes the mail that verifies it.
 * On crash: after the answer and before the commit, nothing was sent, and the user can ask again.
 */
import { MAIL_CODE_USE } from '../../directory/policies.ts';
import { findUser, stateNow, type User } from '../../directory/users/store.ts';
import { ANYBODY, MAIL_LIMIT } from '../../messages/mail/codes.ts';
import { holderOf, mailSignInCode, returnSignInCode, shareSignInCode } from '../../messages/mail/sign-in-codes.ts';
import { countWithin, ORG_COUNTS, takeWithin } from '../../platform/db/counts.ts';
import { type AppendedEvent, appendEvent } from '../../platform/db/events.ts';
import { type Db, prepared, transaction } from '../../platform/db/pool.ts';
import { ApiError } from '../../platform/errors.ts';
import { textProblem } from '../../platform/fields.ts';
import { recordRequest } from '../credentials/change.ts';
import { answerInTime, type ForgottenDeps, sendLinkOnce } from '../credentials/password-reset.ts';
import { userKeys } from '../login/delays.ts';
import type { Origin } from '../login/origin.ts';
import { findLogin } from '../login/store.ts';
import { allowsCode, NETWORK_ASKS } from './limits.ts';

export interface Asked {
  loginName: string;
  /** The organization that the application named. */
  orgId: string | undefined;
  /** The sign-in of the browser. */
  login: string;
  origin: Origin;
}

/**
 * For the sign-in page: mails a code to the human with this login name or address, if they may use one.
 * @throws ApiError 429 RATE-LIMIT, whoever the user is
 */
export async function askForCode(deps: ForgottenDeps, { loginName, orgId, login, origin }: Asked): Promise<void> {
  await countWithin(deps.pool, `mail codes asked in ${origin.network}`, NETWORK_ASKS);
  await answerInTime(
    deps,
    async () => {
      const user = { loginName, orgId, alsoUnverified: true };
      return textProblem(loginName, 500) ? undefined : (await findLogin(deps.pool, user))?.id;
    },
    (userId) => sendCode(deps, userId, login, origin),
  );
}

function sendCode(deps: ForgottenDeps, userId: string, login: string, origin: Origin): Promise<void> {
  const holder = holderOf('login', login);
  return transaction(deps.pool, async (db) => {
    const user = await findUser(db, userId, 'for update');
    if (!user || !(await mayUseCode(db, user))) return;
    if (!isProven(user)) return sendLinkOnce({ ...deps, db }, user, { login });
    const network = { ofUser: userKeys(deps.secrets, userId, origin).network, any: origin.network };
    if (!(await allowsCode(db, deps.config, user, network))) return shareSignInCode(db, { userId, holder });
    await recordRequest(db, user, { type: 'user.human.signin.code.added', editor: ANYBODY });
    await mailSignInCode(db, { userId, holder });
  });
}

/** Whether a code proves no less than what the user proves today: users without a password have nothing else. */
function isProven({ emailVerified, hasPassword }: User): boolean {
  return emailVerified || !hasPassword;
}

/** Whether the user may sign in with a code now, by their state and the policy of their organization. */
export async function mayUseCode(db: Db, user: User): Promise<boolean> {
  const state = stateNow(user);
  if (user.withoutMailCodes) return false;
  if (user.kind !== 'human' || user.email === null || !(state === 'active' || state === 'initial')) return false;
  const { rows } = await db.query<{ use: string }>(
    prepared(`select ${MAIL_CODE_USE} as use from users u where u.id = $1`, [user.id]),
  );
  const use = rows[0]?.use;
  return use === 'all' || (use === 'withoutPassword' && !user.hasPassword);
}

/** With which codes users sign in: by mail, by text message. */
export interface OfferedCodes {
  mail: boolean;
  text: boolean;
}

/** With which codes users of the organization may sign in; without an organization, of any. */
export async function offeredCodes(db: Db, orgId: string | undefined): Promise<OfferedCodes> {
  const text =
    orgId === undefined
      ? `select coalesce(bool_or(mail_code <> 'off'), false) as mail, coalesce(bool_or(sms_code <> 'off'), false) as text
         from login_policies`
      : `select mail_code <> 'off' as mail, sms_code <> 'off' as text from login_policies
         where org_id = $1 or org_id is null order by org_id nulls last limit 1`;
  const { rows } = await db.query<OfferedCodes>(prepared(text, orgId === undefined ? [] : [orgId]));
  return rows[0] ?? { mail: false, text: false };
}

/** What a program may have asked for one user in an hour. */
const MOST_OF_PROGRAMS = 30;
const HOUR_MS = 60 * 60_000;
const DAY_MS = 24 * HOUR_MS;

/** How a program wants the code delivered. */
export interface ProgramAsk {
  holder: Buffer;
  editor: string;
  returnsCode: boolean;
  urlTemplate?: string | undefined;
}

/**
 * For a program: mails a code to the user, whose row is locked, or returns it. A program is told why there is none.
 * @throws ApiError 400 SESSION-OTP-EMAIL-UNAVAILABLE; 429 MAIL-LIMIT
 */
export async function askByProgram(
  { db, secrets }: { db: Db; secrets: ForgottenDeps['secrets'] },
  user: User,
  { holder, editor, returnsCode, urlTemplate }: ProgramAsk,
): Promise<{ event: AppendedEvent; code?: string }> {
  if (!(await mayUseCode(db, user)) || !isProven(user)) throw unavailable();
  await countWithin(db, `mail codes of ${user.id} by programs`, {
    limit: MOST_OF_PROGRAMS,
    windowMs: HOUR_MS,
    id: MAIL_LIMIT,
    message: `Programs can ask for at most ${MOST_OF_PROGRAMS} codes an hour for a user. Try again later.`,
  });
  if (!returnsCode) await countMailOfOrg(db, user.orgId);
  const event = await appendEvent(db, {
    aggregateType: 'user',
    aggregateId: user.id,
    resourceOwner: user.orgId,
    type: 'user.human.signin.code.added',
    editor,
  });
  const asked = { userId: user.id, holder };
  if (returnsCode) return { event, code: await returnSignInCode({ db, secrets }, asked) };
  await mailSignInCode(db, { ...asked, urlTemplate });
  return { event };
}

/** Counts one mail of the organization. @throws ApiError 429 MAIL-LIMIT */
export async function countMailOfOrg(db: Db, orgId: string): Promise<void> {
  const { rows } = await db.query<{ most: number }>(
    `select most from org_limits where org_id = $1 and name = 'mailsPerDay'`,
    [orgId],
  );
  const [limit] = rows;
  if (!limit || (await takeWithin(db, ORG_COUNTS.mails(orgId), limit.most, DAY_MS))) return;
  const message = `The organization may send ${limit.most} emails a day, and has sent them. Try again tomorrow.`;
  throw new ApiError('RESOURCE_EXHAUSTED', MAIL_LIMIT, message, { retryAfterS: HOUR_MS / 1000 });
}

/** The id of the error for a user who may not sign in with a code. */
export const CODE_UNAVAILABLE = 'SESSION-OTP-EMAIL-UNAVAILABLE';

function unavailable(): ApiError {
  const message =
    'The user cannot sign in with a code by email: they have no address, or a password and an address that is not ' +
    'verified, or they are locked or deactivated or left out of mail codes, or the login policy of the organization does not allow it.';
  return new ApiError('FAILED_PRECONDITION', CODE_UNAVAILABLE, message);
}
