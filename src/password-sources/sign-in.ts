/**
 * Verifies the password of a user at their password source, and takes it over.
 *
 * Guarantee: only an active user of an active source of their own organization is asked about. A source that does not
 * answer never counts as a wrong password.
 * On crash: a password that was verified but not stored is verified at the source again, at the next sign-in.
 */
import type { Logger } from 'pino';
import { SYSTEM } from '../db/audit.ts';
import { appendEvent } from '../db/events.ts';
import { type Pool, transaction } from '../db/pool.ts';
import { ApiError } from '../errors.ts';
import { markOf } from '../passwords/at-source.ts';
import { rememberSlowSource } from '../users/slow-hashes.ts';
import { type AskDeps, askSource } from './ask.ts';
import type { UserPlaceholder } from './schema.ts';
import { IS_ACTIVE, SOURCE_COLUMNS, type Source } from './store.ts';

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
 * @param started called when the check no longer waits
 * @returns undefined if the source does not verify this user any more
 * @throws ApiError 503 PASSWORD-SOURCE-UNAVAILABLE, PASSWORDS-BUSY
 */
export async function verifyAtSource(
  deps: SignInDeps,
  { userId, sourceId, password }: { userId: string; sourceId: string; password: string },
  gone: AbortSignal | undefined,
  started: () => void,
): Promise<Verified | undefined> {
  if (password === '') return undefined;
  const { rows } = await deps.pool.query<Source & { names: UserNames }>(
    `select ${SOURCE_COLUMNS}, json_build_object('userName', u.user_name, 'email', u.email, 'userId', u.id,
       'loginName', u.user_name || '@' || o.primary_domain) as names
     from users u join organizations o on o.id = u.org_id
       join password_sources s on s.id = $2 and s.org_id = u.org_id
     where u.id = $1 and u.state = 'active' and ${IS_ACTIVE}`,
    [userId, sourceId],
  );
  const [found] = rows;
  if (!found) return undefined;
  const { names, ...source } = found;
  const name = nameAt(source, names);
  if (name === '') return undefined;
  const check = { name, password, user: { id: userId, email: names.email ?? undefined } };
  const { clock = performance } = deps;
  let since = clock.now();
  const answer = await askSource(deps, source, check, gone, () => {
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
function nameAt({ userName }: Source, names: UserNames): string {
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
