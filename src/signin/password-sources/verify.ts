/**
 * Verifies the password of a user at their password source, and takes it over. A source is asked in a line of its own,
 * at its rate, with a circuit breaker: a source that does not answer is left alone for a while, so that sign-ins do not
 * wait for it and it can recover.
 *
 * Guarantee: only an active user of an active source of their own active organization is asked about, who has no more rights
 * than whoever decided last what the source is. A source that does not
 * answer never counts as a wrong password. At most AT_ONCE checks of a source run in a process, and few wait; the rate
 * holds over all processes. A check takes its line's time, MOST_WAIT_MS and the source's timeout at most.
 *
 * On crash: a password that was verified but not stored is verified at the source again, at the next sign-in. A check
 * that was counted against the rate may not have happened.
 */
import { setTimeout } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { UserPlaceholder } from '../../contract/password-sources.ts';
import { ORG_IS_ACTIVE } from '../../directory/organizations.ts';
import { rememberSlowSource } from '../../directory/users/slow-hashes.ts';
import { openThreadQueue } from '../../passwords/hasher.ts';
import { markOf } from '../../passwords/marks.ts';
import { appendEvent, SYSTEM } from '../../platform/db/events.ts';
import { type Pool, transaction } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError } from '../../platform/errors.ts';
import type { FairQueue } from '../../platform/fair-queue.ts';
import { publish } from '../../platform/telemetry.ts';
import { type Check, type CheckOptions, type SourceAnswer, unavailable } from './answer.ts';
import { type CognitoSecrets, type CognitoSettings, checkCognito } from './cognito.ts';
import { checkHttp, type HttpSecrets, type HttpSettings } from './http.ts';
import { checkLdap, type LdapSecrets, type LdapSettings } from './ldap.ts';
import { checkOauthPassword, type OauthPasswordSecrets, type OauthPasswordSettings } from './oauth-password.ts';
import { allSettings, IS_ACTIVE, mayDecide, type PasswordVerifier, SOURCE_COLUMNS } from './store.ts';

const RETRY_AFTER_S = 15;
/** Each `UserPlaceholder` in braces. */
const PLACEHOLDER = /\{(userName|loginName|email|userId)\}/g;

/** Some users have no email address. */
type UserNames = Record<UserPlaceholder, string | null>;

export interface Verified {
  ok: boolean;
  /** The old system wants a new password from the user. */
  mustChange: boolean;
}

/** `clock`: milliseconds since any moment; default: the real one. */
type SignInDeps = AskDeps & { logger: Logger; clock?: { now(): number } };

/**
 * Asks the source of a user about a password.
 * @param started called when the check no longer waits
 * @returns undefined if the source does not verify this user any more
 * @throws ApiError 503 PASSWORD-SOURCE-UNAVAILABLE, PASSWORDS-BUSY
 */
export async function verifyAtSource(
  deps: SignInDeps,
  { userId, sourceId, password }: { userId: string; sourceId: string; password: string },
  clientAborted: AbortSignal | undefined,
  started: () => void,
): Promise<Verified | undefined> {
  if (password === '') return undefined;
  const { rows } = await deps.pool.query<PasswordVerifier & { names: UserNames }>(
    `select ${SOURCE_COLUMNS}, json_build_object('userName', u.user_name, 'email', u.email, 'userId', u.id,
       'loginName', u.user_name || '@' || o.primary_domain) as names
     from users u join organizations o on o.id = u.org_id
       join password_sources s on s.id = $2 and s.org_id = u.org_id
     where u.id = $1 and u.state = 'active' and ${ORG_IS_ACTIVE} and ${IS_ACTIVE}`,
    [userId, sourceId],
  );
  const [found] = rows;
  if (!found) return undefined;
  const { names, ...source } = found;
  const name = nameAt(source, names);
  if (name === '') return undefined;
  if (!(await mayDecide(deps.pool, source, userId))) {
    deps.logger.warn(
      { sourceId, userId },
      'a password source was not asked, as the user has more rights than its owner',
    );
    return undefined;
  }
  const check = { name, password, user: { id: userId, email: names.email ?? undefined } };
  const { clock = performance } = deps;
  let since = clock.now();
  const answer = await askSource(deps, source, check, clientAborted, () => {
    since = clock.now();
    started();
  });
  if (answer.result === 'unavailable') {
    deps.logger.warn({ sourceId, reason: answer.reason }, 'password source did not answer');
    throw sourceUnavailable();
  }
  if (answer.result === 'yes') return { ok: true, mustChange: answer.mustChange === true };
  await rememberSlowSource(deps.pool, sourceId, clock.now() - since);
  return { ok: false, mustChange: false };
}

/** The user's name at the source. Placeholders in the user's own names stay as they are. */
function nameAt({ userName }: PasswordVerifier, names: UserNames): string {
  return userName.replace(PLACEHOLDER, (_, name: keyof UserNames) => names[name] ?? '');
}

function sourceUnavailable(): ApiError {
  const message =
    'The password cannot be checked now, because the system that knows it does not answer. Try again later.';
  return new ApiError('UNAVAILABLE', 'PASSWORD-SOURCE-UNAVAILABLE', message, { retryAfterS: RETRY_AFTER_S });
}

/**
 * Replaces the mark of the source by the hash of the verified password. Has no effect if the password was changed
 * meanwhile. `rehashed_from` lets an import that names the source again recognise it as the same password.
 */
export async function adoptPassword(
  pool: Pool,
  user: { id: string; orgId: string; sourceId: string },
  { hash, mustChange }: { hash: string; mustChange: boolean },
): Promise<void> {
  const { id, orgId, sourceId } = user;
  const mark = markOf(sourceId);
  await transaction(pool, async (db) => {
    const { rowCount } = await db.query('select from users where id = $1 and password_hash = $2 for no key update', [
      id,
      mark,
    ]);
    if (!rowCount) return;
    const event = await appendEvent(db, {
      aggregateType: 'user',
      aggregateId: id,
      resourceOwner: orgId,
      type: 'user.human.password.migrated',
      editor: SYSTEM,
      payload: { sourceId },
    });
    await db.query(
      `update users set password_hash = $2, rehashed_from = sha256(convert_to($3, 'UTF8')),
         password_change_required = password_change_required or $4, sequence = $5, changed_at = $6
       where id = $1`,
      [id, hash, mark, mustChange, event.sequence, event.createdAt],
    );
    await db.query(
      `insert into password_source_days as d (source_id, day, migrated)
       select id, (now() at time zone 'UTC')::date, 1 from password_sources where id = $1
       on conflict (source_id, day) do update set migrated = d.migrated + 1`,
      [sourceId],
    );
  });
}

export interface AskDeps {
  pool: Pool;
  secrets: Secrets;
  config: { PASSWORD_SOURCE_ALLOW_PRIVATE: boolean };
}

/** Checks of one source that one process runs at a time. */
const AT_ONCE = 10;
const LONGEST_LINE_MS = 5000;
/** About what a check takes, for the line. */
const USUAL_MS = 500;
/** The longest wait for the source's rate. */
const MOST_WAIT_MS = 2000;

interface Gate {
  queue: FairQueue;
  breaker: Breaker;
}

/** Gates by database, as a process may serve several in tests; then by source. An organization has few sources. */
const gates = new WeakMap<Pool, Map<string, Gate>>();

function gateOf(pool: Pool, id: string): Gate {
  const ofPool = gates.get(pool) ?? new Map<string, Gate>();
  gates.set(pool, ofPool);
  const gate = ofPool.get(id) ?? {
    queue: openThreadQueue({ atOnce: AT_ONCE, longestWaitMs: LONGEST_LINE_MS }),
    breaker: openBreaker(),
  };
  ofPool.set(id, gate);
  return gate;
}

/**
 * Asks a source about one password.
 * @param started called when the check no longer waits
 * @throws ApiError 503 PASSWORDS-BUSY; the reason of `gone`
 */
export async function askSource(
  deps: AskDeps,
  source: PasswordVerifier,
  check: Check,
  clientAborted?: AbortSignal,
  started: () => void = () => {},
): Promise<SourceAnswer> {
  const { queue, breaker } = gateOf(deps.pool, source.id);
  const answer = await queue.run(
    source.id,
    async () => {
      if (!(await takeTurn(deps.pool, source))) return unavailable('too many checks for its rate');
      started();
      return breaker.run(() => askKind(deps, source, check));
    },
    { cost: USUAL_MS, signal: clientAborted },
  );
  publish('passwordSource', answer.result);
  return answer;
}

/** Waits until the source's rate allows a check; false if that is too long. */
async function takeTurn(pool: Pool, { id, checksPerSecond }: PasswordVerifier): Promise<boolean> {
  // What was not used of the last second may be used now.
  const { rows } = await pool.query<{ waitMs: number }>(
    `update password_sources set free_at = greatest(free_at, now() - interval '1 second') + interval '1 second' / $2::float8
     where id = $1 and free_at < now() + $3 * interval '1 millisecond'
     returning extract(epoch from free_at - now())::float8 * 1000 - 1000 / $2::float8 as "waitMs"`,
    [id, checksPerSecond, MOST_WAIT_MS],
  );
  const [row] = rows;
  if (row && row.waitMs > 1) await setTimeout(row.waitMs);
  return row !== undefined;
}

function askKind({ secrets, config }: AskDeps, source: PasswordVerifier, check: Check): Promise<SourceAnswer> {
  const settings: unknown = allSettings(secrets, source);
  const options: CheckOptions = {
    timeoutMs: source.timeoutMs,
    allowPrivate: config.PASSWORD_SOURCE_ALLOW_PRIVATE,
  };
  // The settings were validated for their kind when they were stored.
  switch (source.kind) {
    case 'http':
      return checkHttp(settings as HttpSettings & HttpSecrets, check, options);
    case 'ldap':
      return checkLdap(settings as LdapSettings & LdapSecrets, check, options);
    case 'oauth-password':
      return checkOauthPassword(settings as OauthPasswordSettings & OauthPasswordSecrets, check, options);
    case 'cognito':
      return checkCognito(settings as CognitoSettings & CognitoSecrets, check, options);
  }
}

/** This many checks in a row of a source that is down open its breaker. */
const FAILURES = 5;
const OPEN_MS = 15_000;

export interface Breaker {
  /** The answer of `ask`, which is not called while the breaker is open. After a while, one call tries again. */
  run(ask: () => Promise<SourceAnswer>): Promise<SourceAnswer>;
}

/** Opens a breaker of this process, which starts closed. @param now milliseconds since any moment */
export function openBreaker(now: () => number = () => performance.now()): Breaker {
  let failures = 0;
  let openUntil = 0;
  return {
    async run(ask) {
      const isOpen = failures >= FAILURES;
      if (isOpen && now() < openUntil) return unavailable('left alone, as it did not answer lately');
      // The next calls wait for what this one finds out.
      if (isOpen) openUntil = now() + OPEN_MS;
      const answer = await ask();
      if (answer.result !== 'unavailable' || !answer.isDown) failures = 0;
      else if (++failures >= FAILURES) openUntil = now() + OPEN_MS;
      return answer;
    },
  };
}
