/**
 * Records sign-ins (succeeded, failed, locked for a time) and other failures that anybody can cause, in a bounded
 * number of rows; and says whether failed logins of a user count.
 *
 * Guarantee: an event holds no password and no code. A name that belongs to nobody is recorded as it was typed, as
 * operators need it to recognize an attack, but at most `NAME_CHARS` of it. Equal failures (type, user or name, client,
 * address, reason) within a minute share one row, which counts them. In a minute a process writes at most `DETAILED`
 * rows; further failures are counted by address only, in at most `ADDRESSES` rows, and all others in one. So a flood
 * costs at most 81 rows a minute for each process, and no failure is left out of the counts.
 */
import { createHash, createHmac } from 'node:crypto';
import type { AuditType } from '../contract/events.ts';
import { type AuditEvent, recordAudit } from '../platform/db/events.ts';
import type { Db } from '../platform/db/pool.ts';
import type { Secrets } from '../platform/encryption.ts';
import { requestContext } from '../platform/request-context.ts';
import { publish } from '../platform/telemetry.ts';

export const NAME_CHARS = 100;

interface KnownUser {
  id: string;
  /** Absent: read with the event. */
  orgId?: string;
}

/** What somebody entered. */
type Typed = { loginName: string } | { userId: string };

/**
 * Records a sign-in. The actor is the program that signs the user in, else the user.
 * @param idpId the external provider that signed the user in
 */
export async function recordSignIn(db: Db, user: KnownUser, amr: readonly string[], idpId?: string): Promise<void> {
  await recordAudit(db, signInEvent(user, amr, idpId));
  publish('signIn', 'succeeded');
}

/** The event of `recordSignIn`, for a statement that also does something else. */
export function signInEvent(user: KnownUser, amr: readonly string[], idpId?: string): AuditEvent {
  const actor = requestContext()?.userId ?? user.id;
  const payload = { amr, ...(idpId === undefined ? {} : { idpId }) };
  return { type: 'user.signin.succeeded', actor, userId: user.id, orgId: user.orgId, payload };
}

/** Why a sign-in by an external provider failed. */
export const PROVIDER_FAILURES = [
  'provider_unavailable',
  'provider_refused',
  'provider_cancelled',
  'provider_not_allowed',
  'provider_undated',
  'link_missing',
  'link_held_twice',
  'address_taken',
] as const;

/** Why a sign-in with a passkey failed. */
const PASSKEY_FAILURES = ['unknown_passkey', 'wrong_passkey', 'passkey_count_fell', 'passkeys_off'] as const;

/** Why a sign-in failed. */
export const SIGN_IN_FAILURES = [
  'unknown_user',
  'no_password',
  'wrong_password',
  'wrong_code',
  'password_expired',
  'factor_missing',
  'user_locked',
  'user_inactive',
  'user_initial',
  'locked_for_a_time',
  ...PASSKEY_FAILURES,
  ...PROVIDER_FAILURES,
] as const;
export type SignInFailure = (typeof SIGN_IN_FAILURES)[number];

/** Records a failed sign-in. @param typed the name or id that was entered */
export async function recordFailedSignIn(
  db: Db,
  reason: SignInFailure,
  user: KnownUser | undefined,
  typed: Typed,
): Promise<void> {
  const of = user ? { userId: user.id, orgId: user.orgId } : {};
  const payload = user ? { reason } : { reason, ...typedWords(typed) };
  await recordFailure(db, { type: 'user.signin.failed', ...of, payload });
  publish('signIn', reason);
}

/** Records that a provider has signed in nobody. */
export async function recordProviderFailure(
  db: Db,
  reason: (typeof PROVIDER_FAILURES)[number],
  { id: idpId, orgId }: { id: string; orgId: string | null },
): Promise<void> {
  const payload = { reason, idpId };
  await recordFailure(db, { type: 'user.signin.failed', orgId: orgId ?? undefined, payload });
  publish('signIn', reason);
}

/** Records that a passkey has signed in nobody. @param userId whose it is; absent if nobody here has it */
export async function recordPasskeyFailure(db: Db, reason: SignInFailure, userId?: string): Promise<void> {
  await recordFailure(db, { type: 'user.signin.failed', userId, payload: { reason } });
  publish('signIn', reason);
}

/** Records a failure after which further sign-ins are refused for a time. */
export async function recordSignInLock(db: Db, user: KnownUser | undefined, typed: Typed): Promise<void> {
  const of = user ? { userId: user.id, orgId: user.orgId } : {};
  const payload = { reason: 'failed_signins', ...(user ? {} : typedWords(typed)) };
  await recordFailure(db, { type: 'user.signin.locked', ...of, payload });
}

function typedWords(typed: Typed): Record<string, string> {
  const cut = (text: string) => [...text].slice(0, NAME_CHARS).join('');
  return 'userId' in typed ? { userId: cut(typed.userId) } : { loginName: cut(typed.loginName) };
}

/** Whether failed logins of the user count, in any network: they delay further ones, or lock them for a time. */
export async function hasFailedLogins(db: Db, secrets: Secrets, userId: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from login_delays d, users u
     where u.id = $1 and d.user_key = $2
       and d.last_failure_at > coalesce(greatest(u.password_changed_at, u.attempts_since), '-infinity')
     limit 1`,
    [userId, failuresKey(secrets, userId)],
  );
  return rowCount === 1;
}

/** The key of a user in `login_delays`: one name can lead to users of several organizations. A bigint in text form. */
export function failuresKey(secrets: Secrets, userId: string): string {
  return attemptHash(secrets, ['user', userId]).readBigInt64BE(0).toString();
}

/** A hash under which attempts are counted. Its key is secret, so that tables tell neither names nor addresses. */
export function attemptHash(secrets: Secrets, parts: string[]): Buffer {
  return createHmac('sha256', secrets.key('login attempts')).update(JSON.stringify(parts)).digest();
}

export const DETAILED = 60;
export const ADDRESSES = 20;
const MINUTE_MS = 60_000;

export interface Failure extends Pick<AuditEvent, 'userId' | 'orgId' | 'clientId'> {
  type: AuditType;
  payload: { reason: string } & Record<string, unknown>;
}

/** The rows of the minute in progress, by their keys. */
interface Minute {
  minute: number;
  detailed: Set<string>;
  addresses: Set<string>;
}

/** The minute in progress by database, as a process may serve several, as in tests. */
const minutes = new WeakMap<Db, Minute>();

/** Records a failure. @param now milliseconds since 1970 */
export async function recordFailure(db: Db, failure: Failure, now: number = Date.now()): Promise<void> {
  await recordAudit(db, boundedEvent(failure, minuteOf(db, Math.floor(now / MINUTE_MS))));
}

function minuteOf(db: Db, minute: number): Minute {
  const known = minutes.get(db);
  if (known?.minute === minute) return known;
  const next = { minute, detailed: new Set<string>(), addresses: new Set<string>() };
  minutes.set(db, next);
  return next;
}

function boundedEvent(failure: Failure, current: Minute): AuditEvent {
  const { minute } = current;
  const { clientId, address, userId: actor } = { ...requestContext() };
  const { type } = failure;
  const detailed = key(minute, [address, actor, { clientId, ...failure }]);
  if (fits(current.detailed, detailed, DETAILED)) return { ...failure, actor, repeatKey: detailed };
  const many = { type, clientId: undefined, payload: { reason: 'many' } };
  const byAddress = key(minute, [address, type]);
  if (address !== undefined && fits(current.addresses, byAddress, ADDRESSES)) {
    return { ...many, repeatKey: byAddress, origin: { address } };
  }
  return { ...many, repeatKey: key(minute, [type]), origin: {} };
}

function fits(rows: Set<string>, key: Buffer, most: number): boolean {
  const text = key.toString('base64');
  if (!rows.has(text) && rows.size >= most) return false;
  rows.add(text);
  return true;
}

function key(minute: number, parts: unknown[]): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([minute, ...parts]))
    .digest()
    .subarray(0, 16);
}
