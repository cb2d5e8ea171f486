/**
 * What a program asks for in a session: a code by mail or text message, or a passkey, for the first factor, or for the
 * second one after the right password.
 *
 * Guarantee: a code or challenge for the second factor is made only in a session in which the password was checked, for exactly this
 * session and this password, so a right one proves both. To be told a code, or to say where the link of its mail leads,
 * the caller must be a manager of the user, with at least their rights. A program is told why there is no code.
 * On crash: nothing was sent, and the program asks again.
 */
import { type Caller, permissionDenied } from '../contract/permissions.ts';
import type { Challenges, KeyChallenge, SentChallenge } from '../contract/session-challenges.ts';
import { requireAllowedTemplate } from '../directory/users/routes.ts';
import { accessForChange, findUser, type User } from '../directory/users/store.ts';
import { MAIL_LIMIT } from '../messages/mail/codes.ts';
import { holderOf, mailSignInCode, returnSignInCode, textSignInCode } from '../messages/mail/sign-in-codes.ts';
import { takeTextOfOrg } from '../messages/mail/text-cap.ts';
import type { Config } from '../platform/config.ts';
import { countWithin } from '../platform/db/counts.ts';
import { type AppendedEvent, appendEvent } from '../platform/db/events.ts';
import { type Db, prepared, transaction } from '../platform/db/pool.ts';
import { ApiError } from '../platform/errors.ts';
import { badFields } from '../platform/http/parse.ts';
import { relyingParty } from '../platform/relying-party.ts';
import { type FactorKind, offeredFactors } from './factors/second-factor.ts';
import { FACTOR_PURPOSES, type SentKind } from './factors/sent-codes.ts';
import { codeRequired, type PasswordProof, wrongCredentials } from './login/check.ts';
import type { LoginDeps } from './login/origin.ts';
import { findLogin } from './login/store.ts';
import { askByProgram, countMailOfOrg, type ProgramAsk } from './mail-code/ask.ts';
import { askTextByProgram, tooManyTexts } from './sms-code/ask.ts';
import { type CeremonyOf, newChallenge, type RequestOptions, requestOptions } from './webauthn/ceremony.ts';
import { keyRequest } from './webauthn/security-key.ts';
import { mayUsePasskey, type Passkey, passkeysOf } from './webauthn/store.ts';

export type ChallengeDeps = LoginDeps & {
  config: Pick<Config, 'baseUrl' | 'IDP_ALLOW_PRIVATE' | 'SMS_URL' | 'SMS_PER_DAY'>;
};

/** The password that was checked, while the second factor is missing. */
export type AfterPassword = Pick<PasswordProof, 'id' | 'passwordSetAt'>;

export interface ChallengedSession {
  id: string;
  userId: string;
  orgId: string;
  /** Absent: what is asked for is a factor of its own. */
  after?: AfterPassword | undefined;
}

/** What was asked for, and what of it goes back to the program. */
export interface Challenged {
  event: AppendedEvent;
  challenges?: Returned;
}

type Returned = Partial<Record<SentKind, string>> & {
  webAuthN?: { publicKeyCredentialRequestOptions: Record<string, unknown> };
};

const KINDS = ['otpEmail', 'otpSms'] as const;

/** Whether anything is asked for. */
export function asksAny(challenges: Challenges | undefined): challenges is Challenges {
  return challenges !== undefined && [...KINDS, 'webAuthN' as const].some((kind) => challenges[kind] !== undefined);
}

/**
 * Asks for what a program wants in a session.
 * @param also what is written with it, with the sequence of the event
 * @throws ApiError 403; 400 SESSION-TOTP-REQUIRED if the user has no such second factor, SESSION-OTP-EMAIL-UNAVAILABLE,
 *   SESSION-OTP-SMS-UNAVAILABLE, SESSION-WEBAUTHN-UNAVAILABLE, SESSION-INVALID for another domain, URL-TEMPLATE-NOT-ALLOWED; 429 MAIL-LIMIT
 */
export async function askFor(
  deps: ChallengeDeps,
  caller: Caller,
  session: ChallengedSession,
  challenges: Challenges,
  also?: (db: Db, sequence: string) => Promise<void>,
): Promise<Challenged> {
  const { pool, config } = deps;
  const urlTemplate = challenges.otpEmail?.sendCode?.urlTemplate;
  const field = 'challenges.otpEmail.sendCode.urlTemplate';
  await requireAllowedTemplate({ pool, config }, session.orgId, field, urlTemplate);
  const kinds = KINDS.filter((kind) => challenges[kind] !== undefined);
  const { webAuthN } = challenges;
  const needed: FactorKind[] = webAuthN ? [...kinds, 'webAuthN'] : kinds;
  if (session.after) await requireOffered(deps, session.after, needed);
  const options = webAuthN && (await requestOf(deps, session, webAuthN));
  return transaction(pool, async (db) => {
    const user = await findUser(db, session.userId, 'for update');
    if (!user) throw wrongCredentials();
    const isTold = kinds.some((kind) => challenges[kind]?.returnCode !== undefined);
    if (isTold || urlTemplate !== undefined) await requireManager(db, caller, user);
    const returned: Returned = options ? { webAuthN: { publicKeyCredentialRequestOptions: { ...options } } } : {};
    let event: AppendedEvent = { sequence: user.sequence, createdAt: user.changedAt };
    for (const kind of kinds) {
      const made = await askForCode(deps, db, { user, session, kind, asked: challenges[kind] ?? {}, caller });
      event = made.event;
      if (made.code !== undefined) returned[kind] = made.code;
    }
    await also?.(db, event.sequence);
    return { event, ...(Object.keys(returned).length > 0 ? { challenges: returned } : {}) };
  });
}

async function requireOffered(deps: ChallengeDeps, { id }: AfterPassword, kinds: readonly FactorKind[]): Promise<void> {
  const offered = await offeredFactors(deps, id, 'password');
  if (!kinds.every((kind) => offered.includes(kind))) throw codeRequired();
}

async function requireManager(db: Db, caller: Caller, user: User): Promise<void> {
  const { relation } = await accessForChange(db, caller, 'resetPassword', user.id);
  if (relation !== 'manager') throw permissionDenied();
}

interface CodeAsk {
  user: User;
  session: ChallengedSession;
  kind: SentKind;
  asked: SentChallenge;
  caller: Caller;
}

function askForCode(deps: ChallengeDeps, db: Db, { user, session, kind, asked, caller }: CodeAsk) {
  const { secrets, config } = deps;
  const holder = session.after ? secondHolder(session.id, session.after) : holderOf('session', session.id);
  const returnsCode = asked.returnCode !== undefined;
  const of: ProgramAsk = { holder, editor: caller.userId, returnsCode, urlTemplate: asked.sendCode?.urlTemplate };
  if (session.after) return askForFactor({ db, secrets, config }, user, kind, of);
  return kind === 'otpEmail'
    ? askByProgram({ db, secrets }, user, of)
    : askTextByProgram({ db, secrets, config }, user, of);
}

const HOUR_MS = 60 * 60_000;
/** Codes of each kind for the second factor that programs may have sent, or be told, in an hour. */
const MOST = { otpEmail: 30, otpSms: 10 } as const;

/** The user's row is locked; they have this factor. */
async function askForFactor(
  { db, secrets, config }: Pick<ChallengeDeps, 'secrets' | 'config'> & { db: Db },
  user: User,
  kind: SentKind,
  { holder, editor, returnsCode, urlTemplate }: ProgramAsk,
): Promise<{ event: AppendedEvent; code?: string }> {
  await countWithin(db, `second factors of ${user.id} by ${kind} by programs`, {
    limit: MOST[kind],
    windowMs: HOUR_MS,
    id: MAIL_LIMIT,
    message: `Programs can ask for at most ${MOST[kind]} such codes an hour for a user. Try again later.`,
  });
  const event = await appendEvent(db, {
    aggregateType: 'user',
    aggregateId: user.id,
    resourceOwner: user.orgId,
    type: 'user.human.signin.code.added',
    editor,
  });
  const asked = { userId: user.id, holder };
  if (returnsCode) {
    return { event, code: await returnSignInCode({ db, secrets }, { ...asked, purpose: FACTOR_PURPOSES[kind] }) };
  }
  if (kind === 'otpEmail') {
    await countMailOfOrg(db, user.orgId);
    await mailSignInCode(db, { ...asked, purpose: FACTOR_PURPOSES.otpEmail, urlTemplate });
  } else {
    if (!(await takeTextOfOrg(db, config, { orgId: user.orgId }))) throw tooManyTexts();
    await textSignInCode(db, { ...asked, purpose: FACTOR_PURPOSES.otpSms });
  }
  return { event };
}

/** What the browser is asked for: a passkey that signs in, or after the password any key of the user. */
async function requestOf(
  deps: ChallengeDeps,
  session: ChallengedSession,
  { domain, userVerificationRequirement: asked }: KeyChallenge,
): Promise<RequestOptions> {
  const rpId = relyingParty(deps.config)?.rpId;
  if (rpId === undefined) throw noPasskey();
  if (domain !== rpId) throw wrongField('domain', `must be ${rpId}, which the passkeys of this service are for`);
  if (session.after) {
    const holder = secondHolder(session.id, session.after);
    const request = await keyRequest(deps, session.userId, holder, asked ?? 'preferred');
    if (!request) throw noPasskey();
    return request;
  }
  if (asked !== undefined && asked !== 'required') {
    const description = 'must be USER_VERIFICATION_REQUIREMENT_REQUIRED: a passkey without it is no sign-in';
    throw wrongField('userVerificationRequirement', description);
  }
  const isOurs = (one: Passkey) => one.rpId === rpId && one.passwordless;
  const passkeys = (await passkeysOf(deps.pool, session.userId)).filter(isOurs);
  if (passkeys.length === 0 || !(await mayUsePasskey(deps.pool, session.userId))) throw noPasskey();
  return requestOptions(newChallenge(deps.secrets, passkeyOf(session.id)), rpId, 'required', passkeys);
}

/** What the challenge for a passkey that signs in is made for. */
export function passkeyOf(sessionId: string): CeremonyOf {
  return { purpose: 'session', holder: sessionId };
}

function wrongField(name: string, description: string): ApiError {
  return badFields('SESSION-INVALID', [{ field: `challenges.webAuthN.${name}`, description }]);
}

function noPasskey(): ApiError {
  const message =
    'The user has no passkey for the domain of this service, or the login policy of the organization allows none.';
  return new ApiError('FAILED_PRECONDITION', 'SESSION-WEBAUTHN-UNAVAILABLE', message);
}

/** Who may enter a code for the second factor: this session, as long as the user has the password that was checked. */
export function secondHolder(sessionId: string, { passwordSetAt }: AfterPassword): Buffer {
  return holderOf('session', `${sessionId} after the password of ${passwordSetAt ?? 'no time'}`);
}

/**
 * Whether the password was checked in the session, and a code for the second factor was asked for since.
 * @param kind only one that can still be entered
 */
export async function askedAfterPassword(
  { pool }: Pick<ChallengeDeps, 'pool'>,
  { id, userId }: { id: string; userId: string },
  kind?: SentKind,
): Promise<AfterPassword | undefined> {
  const after = await passwordNow({ pool }, userId);
  if (!after) return undefined;
  const { rowCount } = await pool.query(
    prepared(
      `select from code_holders h join codes c on c.id = h.code_id
       where h.holder = $1 and c.user_id = $2
         and ($3::text is null or c.purpose::text = $3 and c.used_at is null and c.expires_at > clock_timestamp())
       limit 1`,
      [secondHolder(id, after), userId, kind === undefined ? null : FACTOR_PURPOSES[kind]],
    ),
  );
  return rowCount ? after : undefined;
}

/** The password that the user has now, as what a session may have checked. */
export async function passwordNow(
  { pool }: Pick<ChallengeDeps, 'pool'>,
  userId: string,
): Promise<AfterPassword | undefined> {
  const login = await findLogin(pool, { userId });
  return login && { id: login.id, passwordSetAt: login.passwordSetAt };
}
