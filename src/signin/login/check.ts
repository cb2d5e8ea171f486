/**
 * Checks a login: password, second factor, state. Sessions, the login page and users' own password changes share it,
 * and so share the count of failures. After the first successful login it replaces an outdated hash, and hashes a
 * password that a password source has verified.
 *
 * Guarantee: an unknown user, one whom the caller may not log in, a wrong password and a user without a password (every
 * machine) give the same error after the same time, and are locked alike (attempts.ts). Anything specific to the user
 * is revealed only after the right password. The login fails if the user was locked, deleted or given another password
 * during the check. The pepper of an import stays in this process; a hash whose pepper is gone verifies no password.
 *
 * On crash: at most a failure was counted or a code consumed. Before a new hash is stored, the next successful login
 * creates it.
 */
import { passwordAge } from '../../contract/password-rules.ts';
import type { UserState } from '../../contract/users.ts';
import { rememberSlowHash } from '../../directory/users/slow-hashes.ts';
import { isTriedAsDigest, lastingForm, readingsOf } from '../../passwords/forms.ts';
import { sourceOf } from '../../passwords/marks.ts';
import {
  bareHash,
  type Pepper,
  pepperedOf,
  pepperedReadings,
  pepperSeal,
  seesAllPeppered,
} from '../../passwords/pepper.ts';
import { usesWholePassword } from '../../passwords/registry.ts';
import type { Secret } from '../../passwords/scheme.ts';
import type { ImportPeppers } from '../../platform/db/tables.ts';
import { ApiError } from '../../platform/errors.ts';
import { loggable } from '../../platform/logger.ts';
import {
  type FactorAttempt,
  type FirstFactor,
  isGiven,
  type PassedFactor,
  passFactor,
} from '../factors/second-factor.ts';
import { adoptPassword, verifyAtSource } from '../password-sources/verify.ts';
import { type Attempt, type Counted, countedAttempt, type ProvenBy } from './attempts.ts';
import { CLOCK, type LoginDeps, type Origin } from './origin.ts';
import { type Login, mayMeanAnother, replaceHash } from './store.ts';

/**
 * Proof that exactly this password of the user was right; or that a code by mail or text message was, or that a provider
 * named the user, while the user had this password.
 */
export type PasswordProof = Pick<Login, 'id' | 'passwordSetAt'> & FirstProof;

/** What was proved first; without any of these, the password. */
export interface FirstProof {
  byMail?: true;
  byText?: true;
  /** The password was set just before by a link in a mail: so a code by mail proves nothing more. */
  byLink?: true;
  byProvider?: ProvidedProof;
}

export function firstOf({ byMail, byText, byLink, byProvider }: FirstProof): FirstFactor {
  return byProvider ? 'provider' : byText ? 'sms' : byMail || byLink ? 'mail' : 'password';
}

/** What an external provider said of the sign-in there. */
export interface ProvidedProof {
  idpId: string;
  /** Of the provider when it said so: see `voiceOf`. */
  voice: string;
  /** The ids of the account there; see `Identity`. */
  subjects: string[];
  /** Values of RFC 8176. */
  amr: string[];
  /** When the person signed in there, in seconds since 1970. */
  authTime?: number;
}

export interface CheckedLogin {
  id: string;
  orgId: string;
  loginName: string;
  displayName: string;
  /** Why a new password must be set before anything else; `expired` takes precedence. */
  mustChange: 'required' | 'expired' | undefined;
  /** Whole days until the password expires; set only within the policy's warning period. */
  expiresInDays: number | undefined;
  /** Identifies the password; see `PasswordProof`. */
  passwordSetAt: string | null;
  /**
   * Authentication methods (RFC 8176): `pwd`, `otp` for a code by mail, `sms` for one by text message, or what the
   * provider said; with a second factor of ours also its own and `mfa`.
   */
  amr: string[];
  /** The second factor that was checked here, if one was. */
  factor?: PassedFactor;
  /** Of a sign-in by a provider. */
  provided?: ProvidedProof & {
    /** The second factor was asked for here too; a provider's own does not count for the policy. */
    hasCode: boolean;
  };
}

/** The second factor may be missing; an empty code counts as none. */
export interface LoginSecrets extends FactorAttempt {
  password: string;
}

/**
 * Checks an attempt to log in.
 * @param proven called with the proof of the right password, before anything else is checked
 * @throws ApiError 400 SESSION-CREDENTIALS; after the right password SESSION-USER-LOCKED, -INACTIVE, -INITIAL,
 *   SESSION-TOTP-REQUIRED, SESSION-TOTP, SESSION-MFA-SETUP-REQUIRED; 429 SESSION-FAILURES, SESSION-ATTEMPTS; 503
 *   PASSWORDS-BUSY, PASSWORD-SOURCE-UNAVAILABLE
 */
export async function checkLogin(
  deps: LoginDeps,
  attempt: Attempt,
  { password, ...second }: LoginSecrets,
  proven?: (by: PasswordProof) => void,
): Promise<CheckedLogin> {
  return countedAttempt(deps, attempt, async (counted) => {
    const { login, checkSingly: alone, failed } = counted;
    const checked = await alone(() => checkPassword(deps, login, password, attempt));
    const { ok, rehash, mustChange, waitedMs } = checked;
    if (!login || !ok) {
      await failed('password', waitedMs);
      throw wrongCredentials();
    }
    proven?.(login);
    requireActive(login.state);
    if (rehash) await renewHash(deps, login, { password, mustChange });
    return finishCheck(deps, mustChange ? { ...login, changeRequired: true } : login, second, counted);
  });
}

/**
 * The rest of a login whose password was checked just before, without asking for it again.
 * @param by what `proven` was called with
 * @throws ApiError 400 and 429 as `checkLogin`; SESSION-CREDENTIALS when the password has been changed since
 */
export async function checkAfterPassword(
  deps: LoginDeps,
  by: PasswordProof,
  origin: Origin,
  second: FactorAttempt = {},
): Promise<CheckedLogin> {
  return countedAttempt(deps, { ...origin, user: { userId: by.id } }, async (counted) => {
    const { login } = counted;
    if (!login || login.passwordSetAt !== by.passwordSetAt) throw wrongCredentials();
    requireActive(login.state);
    return finishCheck(deps, login, second, counted, by);
  });
}

/**
 * The rest of a login in which the user adds the second factor that the policy requires.
 * @param enrol adds the factor, after a code has proved that the user's app has its key
 * @throws ApiError as `checkAfterPassword` and `enrol`
 */
export async function checkWithNewFactor(
  deps: LoginDeps,
  by: PasswordProof,
  origin: Origin,
  enrol: () => Promise<void>,
): Promise<CheckedLogin> {
  return countedAttempt(deps, { ...origin, user: { userId: by.id } }, async ({ login, passed }) => {
    if (!login || login.passwordSetAt !== by.passwordSetAt) throw wrongCredentials();
    requireActive(login.state);
    await enrol();
    return concludeBy(by, login, { kind: 'totp', amr: ['otp', 'mfa'] }, passed);
  });
}

async function finishCheck(
  deps: LoginDeps,
  login: Login,
  { factor, holder }: FactorAttempt,
  { failed, passed }: Counted,
  by: FirstProof = {},
): Promise<CheckedLogin> {
  const second = isGiven(factor)
    ? await passFactor(deps, login.id, { factor, holder }, firstOf(by), () => failed('code'))
    : undefined;
  return concludeBy(by, login, second, passed);
}

function concludeBy(
  { byMail, byText, byProvider }: FirstProof,
  login: Login,
  second: PassedFactor | undefined,
  passed: Counted['passed'],
): Promise<CheckedLogin> {
  if (byProvider) return concludeByProvider(login, byProvider, second, passed);
  if (byText) return concludeByText(login, second, passed);
  return byMail ? concludeByMail(login, second, passed) : conclude(login, byPassword(login), ['pwd'], second, passed);
}

/** A login at an external provider: how old the password is makes no difference to it. */
export async function concludeByProvider(
  login: Login,
  proof: ProvidedProof,
  second: PassedFactor | undefined,
  passed: Counted['passed'],
): Promise<CheckedLogin> {
  const checked = await conclude(login, 'provider', proof.amr, second, passed);
  const provided = { ...proof, hasCode: second !== undefined };
  return { ...checked, mustChange: undefined, expiresInDays: undefined, provided };
}

/** A login with a code by mail: how old the password is makes no difference to it. */
export async function concludeByMail(
  login: Login,
  second: PassedFactor | undefined,
  passed: Counted['passed'],
): Promise<CheckedLogin> {
  const checked = await conclude(login, 'mail_code', ['otp'], second, passed);
  return { ...checked, mustChange: undefined, expiresInDays: undefined };
}

/** A login with a code by text message: how old the password is makes no difference to it. */
export async function concludeByText(
  login: Login,
  second: PassedFactor | undefined,
  passed: Counted['passed'],
): Promise<CheckedLogin> {
  const checked = await conclude(login, 'sms_code', ['sms'], second, passed);
  return { ...checked, mustChange: undefined, expiresInDays: undefined };
}

/** A login with a passkey, which is two factors: how old the password is makes no difference to it. */
export async function concludeByPasskey(login: Login, passed: Counted['passed']): Promise<CheckedLogin> {
  const factor: PassedFactor = { kind: 'webAuthN', amr: ['hwk', 'user', 'mfa'], userVerified: true };
  const checked = await conclude(login, 'passkey', [], factor, passed);
  return { ...checked, mustChange: undefined, expiresInDays: undefined };
}

async function conclude(
  login: Login,
  way: ProvenBy['way'],
  firstAmr: readonly string[],
  second: PassedFactor | undefined,
  passed: Counted['passed'],
): Promise<CheckedLogin> {
  const state = await passed(login, { hasCode: second !== undefined, ...(way ? { way } : {}) });
  if (state === 'code_missing') throw codeRequired();
  if (state === 'factor_missing') throw setUpRequired();
  requireActive(state);
  const amr = [...new Set([...firstAmr, ...(second?.amr ?? [])])];
  return { ...outcome(login), amr, ...(second ? { factor: second } : {}) };
}

/** @param login as it was found, before the password is adopted from its source */
function byPassword(login: Login): ProvenBy['way'] {
  return sourceOf(login.passwordHash) === undefined ? 'password' : 'password_source';
}

/**
 * Whether `password` is the password of the user and the user is active. Failures count like failures of logins, so
 * nobody can guess the password with a stolen token.
 * @throws ApiError 429 SESSION-FAILURES, SESSION-ATTEMPTS; 503 PASSWORDS-BUSY
 */
export async function verifyOwnPassword(
  deps: LoginDeps,
  userId: string,
  password: string,
  origin: Origin,
): Promise<boolean> {
  const attempt: Attempt = { ...origin, user: { userId } };
  return countedAttempt(deps, attempt, async ({ login, checkSingly: alone, failed, passed }) => {
    const { ok, waitedMs } = await alone(() => checkPassword(deps, login, password, attempt));
    const isRight = login !== undefined && ok && (await passed(login, { hasCode: true })) === 'active';
    if (!isRight) await failed('password', waitedMs);
    return isRight;
  });
}

/** The id of the error for a right first factor of a user who has a second one. */
export const SECOND_FACTOR_REQUIRED = 'SESSION-TOTP-REQUIRED';

/** The error for a right first factor of a user who has a second one. */
export function codeRequired(): ApiError {
  const message = 'The second factor is required too.';
  return new ApiError('FAILED_PRECONDITION', SECOND_FACTOR_REQUIRED, message);
}

/** The id of the error for a user who must set up a second factor before they are signed in. */
export const MFA_SETUP_REQUIRED = 'SESSION-MFA-SETUP-REQUIRED';

function setUpRequired(): ApiError {
  const message =
    'The organization requires a second factor, and the user has none. Let the user set one up on the log-in pages.';
  return new ApiError('FAILED_PRECONDITION', MFA_SETUP_REQUIRED, message);
}

function outcome(login: Login): Omit<CheckedLogin, 'amr'> {
  const { id, orgId, loginName, displayName, changeRequired, passwordSetAt } = login;
  const { isExpired, expiresInDays } = passwordAge(login, login.passwordAgeDays);
  const mustChange = isExpired ? 'expired' : changeRequired ? 'required' : undefined;
  return { id, orgId, loginName, displayName, mustChange, expiresInDays, passwordSetAt };
}

const STOPPED = {
  inactive: ['SESSION-USER-INACTIVE', 'is deactivated'],
  locked: ['SESSION-USER-LOCKED', 'is locked'],
  initial: ['SESSION-USER-INITIAL', 'has not set a password yet'],
} as const;

/** @throws ApiError 400 SESSION-USER-LOCKED, -INACTIVE, -INITIAL, SESSION-CREDENTIALS without a state */
export function requireActive(state: UserState | undefined): void {
  if (state === undefined) throw wrongCredentials();
  if (state === 'active') return;
  const [id, why] = STOPPED[state];
  throw new ApiError('FAILED_PRECONDITION', id, `The user ${why}.`);
}

/** The error of every failed login. */
export function wrongCredentials(): ApiError {
  return new ApiError('INVALID_ARGUMENT', 'SESSION-CREDENTIALS', 'The user or the password is wrong.');
}

export interface CheckedPassword {
  ok: boolean;
  rehash: boolean;
  /** The password source says that the user has to choose a new password. */
  mustChange?: boolean;
  /** Milliseconds that the check waited for a thread. */
  waitedMs: number;
}

/**
 * Does the work of one password check, whether or not there is a hash to compare with.
 *
 * Guarantee: a password source gets no password that may be that of a user of another organization, as a hash would
 * keep it secret.
 * @param tried who somebody tries to log in as
 */
export async function checkPassword(
  deps: LoginDeps,
  login: Login | undefined,
  password: string,
  { user: tried, clientAborted }: Pick<Attempt, 'user' | 'clientAborted'>,
): Promise<CheckedPassword> {
  const { hasher, pool, clock = CLOCK } = deps;
  let waitedMs = 0;
  /** A task, whose time in the queue counts as waiting. */
  function queued<T>(task: (started: () => void) => Promise<T>): Promise<T> {
    const asked = clock.now();
    return task(() => {
      waitedMs += clock.now() - asked;
    });
  }
  const threads: Threads = {
    verify: (hash, plain) => queued((started) => hasher.verify(hash, plain, clientAborted, started)),
    verifyNothing: () => queued((started) => hasher.verifyNothing(password, clientAborted, started)),
  };
  const sourceId = sourceOf(login?.passwordHash);
  if (login?.state === 'active' && sourceId !== undefined && !(await mayMeanAnother(pool, tried, login))) {
    const verified = await queued((started) =>
      verifyAtSource(deps, { userId: login.id, sourceId, password }, clientAborted, started),
    );
    if (verified) return { ...verified, rehash: verified.ok, waitedMs };
  }
  if (!login?.passwordHash || sourceId !== undefined) {
    await threads.verifyNothing();
    return { ok: false, rehash: false, waitedMs };
  }
  const { times, ...checked } = await checkStored(deps, login.passwordHash, password, threads);
  if (!checked.ok) await rememberSlowHash(pool, bareHash(login.passwordHash), times);
  return { ...checked, waitedMs };
}

/** Replaces the hash. The login succeeds whether or not the new hash can be stored now. */
export async function renewHash(
  { pool, hasher, logger }: LoginDeps,
  login: Login,
  { password, mustChange = false }: { password: string; mustChange?: boolean | undefined },
): Promise<void> {
  const sourceId = sourceOf(login.passwordHash);
  try {
    const hash = lastingForm(bareHash(login.passwordHash ?? '')) + (await hasher.hash(password));
    if (sourceId === undefined) await replaceHash(pool, login.id, login.passwordHash ?? '', hash);
    else await adoptPassword(pool, { id: login.id, orgId: login.orgId, sourceId }, { hash, mustChange });
  } catch (error) {
    logger.warn({ userId: login.id, err: loggable(error) }, 'password could not be rehashed');
  }
}

type PepperDeps = Pick<LoginDeps, 'pool' | 'secrets' | 'logger'>;

/** The threads that check passwords. */
interface Threads {
  verify(hash: string, plain: Secret): Promise<{ ok: boolean; rehash: boolean }>;
  verifyNothing(): Promise<void>;
}

interface Verified {
  ok: boolean;
  /** Replace the hash by one of the password itself; not if the scheme ignored a part of the password. */
  rehash: boolean;
  /** With a pepper: how often the hash is computed for each reading of the password. */
  times?: number;
}

/** Checks a password against a hash as it is stored with a user, or with an entry of an import that has not run yet. */
export function checkStored(deps: PepperDeps, stored: string, password: string, threads: Threads): Promise<Verified> {
  const peppered = pepperedOf(stored);
  return peppered ? checkPeppered(deps, peppered, password, threads) : checkBare(stored, password, threads);
}

/** Checks a password against a hash that needs the pepper of its import. */
async function checkPeppered(
  deps: PepperDeps,
  { importId, hash }: { importId: string; hash: string },
  password: string,
  threads: Threads,
): Promise<Verified> {
  const pepper = await findPepper(deps, importId);
  if (!pepper) {
    deps.logger.error({ importId }, 'the pepper of an import is missing; its users cannot log in with their passwords');
    await threads.verifyNothing();
    return { ok: false, rehash: false };
  }
  const { times, ...made } = pepperedReadings(hash, pepper, password);
  return { ...(await matches(made, threads, () => seesAllPeppered(hash, pepper, password))), times };
}

/**
 * Checks a password against a hash without a pepper. Where the hash may be of a digest, each reading is a task of its own,
 * the password itself first: so the right one mostly takes no longer than any other password with this hash.
 */
async function checkBare(encoded: string, password: string, threads: Threads): Promise<Verified> {
  if (!isTriedAsDigest(encoded)) return threads.verify(encoded, password);
  return matches(readingsOf(encoded, password), threads, () => usesWholePassword(encoded, password));
}

/** Whether the hash is of one of the readings. @param seesAll whether it then depends on the whole password */
async function matches(
  { hash, readings }: { hash: string; readings: readonly Secret[] },
  threads: Threads,
  seesAll: () => boolean,
): Promise<Verified> {
  for (const reading of readings) {
    const { ok } = await threads.verify(hash, reading);
    if (ok) return { ok, rehash: seesAll() };
  }
  return { ok: false, rehash: false };
}

async function findPepper({ pool, secrets }: PepperDeps, importId: string): Promise<Pepper | undefined> {
  const { rows } = await pool.query<Pick<ImportPeppers, 'sealed'> & { mode: Pepper['mode'] }>(
    'select mode, sealed from import_peppers where import_id = $1::bigint',
    [importId],
  );
  const [row] = rows;
  return row && { mode: row.mode, secret: secrets.unseal(row.sealed, pepperSeal(importId)) };
}
