/**
 * Runs one attempt to log in: in turn, after its delay, and counted; answers a failure at a time that tells nothing;
 * and records how the attempt ended.
 *
 * Guarantee: attempts of one name or id from one network follow each other, with all their delays; attempts from
 * another network do not wait for them. While locked, nothing is checked: a right password and a wrong one get the same
 * answer. No database connection is held while an attempt waits. The time of the answer to a wrong password does not
 * depend on the hash that it was compared with, nor on whether there is one: it is a time that the slowest hash of the
 * instance keeps too, here and now. It passes in a timer, so waiting costs attackers a connection and the service no
 * processor time.
 *
 * On crash: the attempt stays counted as failed.
 */
import type { Request } from 'express';
import { OUTLINE } from '../../contract/outline.ts';
import type { LoginUser } from '../../contract/sessions.ts';
import type { UserState } from '../../contract/users.ts';
import { FORCES_MFA } from '../../directory/policies.ts';
import { recordFailedSignIn, recordSignInLock, type SignInFailure } from '../../directory/sign-in-events.ts';
import { slowestMs } from '../../directory/users/slow-hashes.ts';
import { checkMs } from '../../passwords/hasher.ts';
import { type Db, prepared } from '../../platform/db/pool.ts';
import { ApiError } from '../../platform/errors.ts';
import { openFairQueue } from '../../platform/fair-queue.ts';
import { type FirstWay, publish } from '../../platform/telemetry.ts';
import {
  type AttemptCount,
  type AttemptKeys,
  attemptKeys,
  countAttempt,
  countsOf,
  isLocking,
  keysOfAll,
  LONGEST_DELAY_MS,
  lessWith,
  rememberWith,
  takeBack,
  type UserKeys,
  userKeys,
} from './delays.ts';
import { CLOCK, type LoginDeps, type Origin } from './origin.ts';
import { findLogin, type Login } from './store.ts';

/** More than the applications of one person make while one is checked; a hundred attempts at once have a place. */
const MOST_WAITING = 127;
const RETRY_AFTER_S = 1;

/**
 * Work with the same key runs one after the other. Few pieces of it wait: many attempts at once take one place, not all
 * of them.
 */
const queue = openFairQueue({
  limit: Number.POSITIVE_INFINITY,
  limitPerKey: 1,
  mostWaitingPerKey: MOST_WAITING,
  refuse: tooManyWaiting,
});

/** The user that somebody tries to log in as, and where the attempt comes from. */
export interface Attempt extends Origin {
  user: LoginUser;
}

export interface Counted {
  login: Login | undefined;
  /** Runs one check of the user's password at a time. */
  checkSingly<T>(check: () => Promise<T>): Promise<T>;
  /**
   * The attempt has failed; returns when it is time to say so, and the audit event is stored.
   * @param waitedMs how long the check of a password waited for a thread; absent for a code, whose time tells nothing
   */
  failed(wrong: WrongPart, waitedMs?: number): Promise<void>;
  /**
   * All secrets of the user were right: the result of `recordLogin`. If it is `active`, failures before are forgotten.
   */
  passed(login: Login, by: ProvenBy): ReturnType<typeof recordLogin>;
}

/**
 * The result of `check`, which calls `failed` for a wrong password or code, or `passed`. If it throws without `failed`,
 * the attempt does not count.
 * @throws ApiError 429 SESSION-FAILURES, SESSION-ATTEMPTS; what `check` throws
 */
export async function countedAttempt<T>(
  deps: LoginDeps,
  attempt: Attempt,
  check: (counted: Counted) => Promise<T>,
): Promise<T> {
  const keys = attemptKeys(deps.secrets, attempt.user, attempt);
  const run = async () => {
    const begun = await begin(deps, attempt, keys);
    const { login } = begun;
    const key = login ? `check ${login.id}` : `check unknown ${keys.everywhere}`;
    const alone: Counted['checkSingly'] = (work) => queue.run(key, work, { signal: attempt.clientAborted });
    const passed: Counted['passed'] = (found, by) => recordLogin(deps.pool, found, by, begun);
    return finishAttempt(deps, attempt, begun, (failed) => check({ login, checkSingly: alone, failed, passed }));
  };
  return queue.run(`attempt ${keys.here}`, run, { signal: attempt.clientAborted });
}

interface Begun {
  keys: AttemptKeys;
  login: Login | undefined;
  user: UserKeys;
  count: AttemptCount;
  /** When the user was looked up, by the clock. */
  began: number;
}

/** Waits for the delay, and counts the attempt as failed. */
async function begin(
  { pool, secrets, config, clock = CLOCK }: LoginDeps,
  attempt: Attempt,
  entered: AttemptKeys,
): Promise<Begun> {
  for (;;) {
    const began = clock.now();
    const login = await findLogin(pool, attempt.user);
    const user = userKeys(secrets, login?.id, attempt);
    const keys = keysOfAll(secrets, entered, attempt.user, attempt, login?.id);
    const count = await countAttempt(pool, config, keys, user);
    if (count.waitMs === 0) return { keys, login, user, count: count, began };
    if (count.waitMs > LONGEST_DELAY_MS) {
      await recordLocked(pool, { user: attempt.user, login });
      throw tooManyFailures(count.waitMs);
    }
    await clock.sleep(count.waitMs);
    attempt.clientAborted?.throwIfAborted();
  }
}

async function finishAttempt<T>(
  deps: LoginDeps,
  attempt: Attempt,
  { keys, login, count, began }: Begun,
  check: (failed: Counted['failed']) => Promise<T>,
): Promise<T> {
  const { pool, config, logger } = deps;
  const tried = { user: attempt.user, login };
  let hasFailed = false;
  try {
    return await check(async (wrong, waitedMs) => {
      hasFailed = true;
      const locks = isLocking(count, config);
      // One line in some seconds, with the number of locks since (src/platform/logger.ts).
      if (locks) logger.warn({ reason: 'failed attempts' }, 'login locked for a time');
      const recorded = recordFailed(pool, tried, wrong, locks);
      await Promise.all([recorded, waitedMs === undefined ? undefined : untilAnswer(deps, began + waitedMs)]);
    });
  } catch (error) {
    if (!hasFailed) await takeBack(pool, keys, count);
    if (!hasFailed) await recordRefused(pool, tried, error);
    throw error;
  }
}

async function untilAnswer({ pool, hasher, config, clock = CLOCK }: LoginDeps, since: number): Promise<void> {
  if (config.LOGIN_DELAY_MS === 0) return;
  const load = { slowestMs: await slowestMs(pool), slowness: hasher.slowness() };
  const spentMs = clock.now() - since;
  await clock.sleep(answerAfterMs(spentMs, load, config.LOGIN_DELAY_MS) - spentMs);
}

/** The error while attempts are locked, for right and wrong passwords and for known and unknown users. */
function tooManyFailures(waitMs: number): ApiError {
  const retryAfterS = Math.ceil(waitMs / 1000);
  const message = `Too many failed attempts to log in as this user. Try again in ${retryAfterS} seconds.`;
  return new ApiError('RESOURCE_EXHAUSTED', 'SESSION-FAILURES', message, { retryAfterS });
}

/** An answer comes after a multiple of this many LOGIN_DELAY_MS, so small differences do not show. */
const STEP_DELAYS = 5;
/** For everything except the check: statements, and the start of a thread. */
const REST_MS = 150;

/** What decides how long checks take now. */
export interface CheckLoad {
  /** What the check of the slowest hash in use takes longer than that for an unknown user, as estimated. */
  slowestMs: number;
  /** How many times longer than estimated checks take in this process now. */
  slowness: number;
}

/**
 * Milliseconds from the beginning of an attempt to its answer. A check that takes longer than expected is answered
 * after a multiple of the time.
 * @param spentMs since the beginning, without the time that the check waited for a thread: the load of the service
 *   decides about that, and adding it here would let a longer check be seen by how often it takes one more step
 */
export function answerAfterMs(spentMs: number, { slowestMs, slowness }: CheckLoad, delayMs: number): number {
  const stepMs = STEP_DELAYS * delayMs;
  const wholeMs = stepMs * Math.ceil((REST_MS + slowness * (checkMs() + slowestMs)) / stepMs);
  return wholeMs * Math.max(1, Math.ceil(spentMs / wholeMs));
}

function tooManyWaiting(): ApiError {
  const message = 'Too many attempts to log in as this user are being checked. Try again later.';
  return new ApiError('RESOURCE_EXHAUSTED', 'SESSION-ATTEMPTS', message, { retryAfterS: RETRY_AFTER_S });
}

/** An attempt that was counted as failed before its check. */
export interface CountedAttempt {
  keys: AttemptKeys;
  count: AttemptCount;
  user: UserKeys;
}

export type SettledState = UserState | 'code_missing' | 'factor_missing';

/** How somebody proved who they are. */
export interface ProvenBy {
  /** The second factor too; without it, a user who has one is not signed in. */
  hasCode: boolean;
  /** Kept of the first sign-in of an imported user; absent where the sign-in began before. */
  way?: FirstWay;
}

/** Three steps of a `with`, from the numbers of the parameters. */
function loginRecord(of: { id: number; setAt: number; hasCode: number; way: number }): string {
  const { id, setAt, hasCode, way } = of;
  return `now as (
      select id, case when not org_is_active(u.org_id) then 'inactive'
        when not $${hasCode}::boolean and has_second_factor(u.id) then 'code_missing'
        when not $${hasCode}::boolean and u.kind = 'human' and u.state = 'active' and ${FORCES_MFA} then 'factor_missing'
        else state::text end as state
      from users u where id = $${id}::text and password_changed_at is not distinct from $${setAt}::timestamptz
      for no key update),
    seen as (
      update users u set last_login_at = now() from now
      where u.id = now.id and now.state = 'active'
        and coalesce(u.last_login_at < now() - interval '1 hour', true)),
    first as (
      insert into first_sign_ins (user_id, import_id, way)
      select u.id, u.import_id, $${way}::sign_in_way from users u, now
      where u.id = now.id and now.state = 'active' and u.last_login_at is null and u.import_id is not null
        and $${way}::text is not null
        and exists (select from imports i where i.id = u.import_id and i.kind = 'bulk')
      on conflict do nothing returning way)`;
}

const RESULT = 'select state, (select way from first) as first from now';
const RECORD_LOGIN = `with ${loginRecord({ id: 1, setAt: 2, hasCode: 3, way: 4 })} ${RESULT}`;
// One statement, as each costs a round trip and a commit. The row of the user is locked before those of the counts.
const RECORD_COUNTED_LOGIN = `with ${loginRecord({ id: 6, setAt: 8, hasCode: 9, way: 10 })},
  ${lessWith(`exists (select from now where state = 'active')`)},
  ${rememberWith(`(select id from now where state = 'active')`, 6)} ${RESULT}`;

/**
 * The last step of a login whose secrets were right: the user's state after the check; `code_missing` if the user has a
 * second factor and entered no code, `factor_missing` if the policy requires a second factor and the user has none. For
 * an active user it records the login: at most once an hour, so that few logins write a new row version, and without a
 * change of the user's sequence. Undefined if the user was deleted or has changed the password since. It locks the row,
 * so it waits for a transaction that removes the user.
 * @param counted if the user is active, its failures are forgotten (`lessWith`), and its network is remembered
 */
export async function recordLogin(
  db: Db,
  login: Pick<Login, 'id' | 'passwordSetAt'>,
  { hasCode, way }: ProvenBy,
  counted?: CountedAttempt,
): Promise<SettledState | undefined> {
  const { id, passwordSetAt } = login;
  const query = counted
    ? prepared(RECORD_COUNTED_LOGIN, [
        ...countsOf(counted.keys, counted.count),
        counted.user.user,
        id,
        counted.user.network,
        passwordSetAt,
        hasCode,
        way ?? null,
      ])
    : prepared(RECORD_LOGIN, [id, passwordSetAt, hasCode, way ?? null]);
  const { rows } = await db.query<{ state: SettledState; first: FirstWay | null }>(query);
  if (rows[0]?.first) publish('firstSignIn', rows[0].first);
  return rows[0]?.state;
}

/** What somebody entered, and the user that it belongs to, for the audit events of failures. */
export interface Tried {
  user: LoginUser;
  login: Login | undefined;
}

export type WrongPart = 'password' | 'code' | keyof typeof WRONG_PASSKEYS;

/** An answer that was not accepted, and one whose count did not grow. */
const WRONG_PASSKEYS = { passkey: 'wrong_passkey', passkey_count: 'passkey_count_fell' } as const;

/** Records a failure. @param locks whether further attempts are now locked for a time */
export async function recordFailed(db: Db, { user, login }: Tried, wrong: WrongPart, locks: boolean): Promise<void> {
  await recordFailedSignIn(db, reasonOf(wrong, login), login, user);
  if (locks) await recordSignInLock(db, login, user);
}

/** Records an attempt that is not checked, as earlier failures have locked it. */
export async function recordLocked(db: Db, { user, login }: Tried): Promise<void> {
  await recordFailedSignIn(db, 'locked_for_a_time', login, user);
}

const REFUSALS: Readonly<Record<string, SignInFailure>> = {
  'SESSION-USER-LOCKED': 'user_locked',
  'SESSION-USER-INACTIVE': 'user_inactive',
  'SESSION-USER-INITIAL': 'user_initial',
};

/** Records a right password of a user whose state does not allow the login; other errors are no failed logins. */
export async function recordRefused(db: Db, { user, login }: Tried, error: unknown): Promise<void> {
  const reason = error instanceof ApiError ? REFUSALS[error.id] : undefined;
  if (reason) await recordFailedSignIn(db, reason, login, user);
}

function reasonOf(wrong: WrongPart, login: Login | undefined): SignInFailure {
  if (!login) return 'unknown_user';
  if (wrong === 'code') return 'wrong_code';
  if (wrong !== 'password') return WRONG_PASSKEYS[wrong];
  return login.passwordHash ? 'wrong_password' : 'no_password';
}

/** Paths of operations, where each `{name}` is one segment, and their other names. */
const TRIES = Object.values<{ path: string; rpc?: string; tries?: string }>(OUTLINE)
  .filter(({ tries }) => tries === 'always')
  .flatMap(({ path, rpc }) => [path.replace(/^POST \//, ''), ...(rpc ? [rpc.replaceAll('.', '\\.')] : [])])
  .map((path) => path.replace(/\{\w+\}/g, '[^/]+'));
/**
 * Requests that count against the limit of login attempts: they try a password, a code or a client secret, or request
 * an email or a code. Matches as the router does: ignores case and a trailing slash. The console passes calls on to the
 * API.
 */
const ATTEMPT = new RegExp(
  `^(?:/console/api)?/(?:${[...TRIES, 'oauth/v2/(?:token|device_authorization)', 'ui/.*'].join('|')})/?$`,
  'i',
);

/**
 * Whether the request counts as an attempt. Asks for the path as the router reads it: a request may be for `/path#`, or
 * for `http://host/path`.
 */
export function isAttempt(req: Request): boolean {
  return req.method === 'POST' && ATTEMPT.test(req.path);
}
