/**
 * Stores password sources and how many users they have; ends sources whose time has come, and gives the users who still
 * depend on an ended or deleted source the initialisation email.
 *
 * Guarantee: secrets are stored encrypted, bound to their source. Every change is in one transaction with its event,
 * when the caller passes a transaction's connection. For a user of an ended source, the user, the event, the code and
 * the mail are one transaction, so each user gets one mail. The mail counts for the import that wrote the user: it
 * keeps to the rate of its mails, and waits while the import holds them. Users who are deactivated or locked, or have
 * no address, get no mail, as in an import.
 *
 * On crash: the next round begins with the batch that was in progress. Any number of processes may run it.
 */
import { type NewSource, SECRET_SETTINGS, type SourceKind } from '../../contract/password-sources.ts';
import { type Caller, covers, permissionDenied } from '../../contract/permissions.ts';
import { decidedBy, rightsOfAll } from '../../directory/members.ts';
import { newWebhookSecret } from '../../messages/webhooks/signature.ts';
import { IS_AT_SOURCE, markOf, sourceOf } from '../../passwords/marks.ts';
import { type AppendedEvent, appendEvent, SYSTEM } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { columnList, type Named, type Names } from '../../platform/db/rows.ts';
import type { PasswordSourceDays, PasswordSources, Users } from '../../platform/db/tables.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';

/** More than a migration needs; few enough to be looked up for an import. */
export const MOST_SOURCES = 50;

/** A stored source. */
const SOURCE = {
  id: 'id',
  orgId: 'org_id',
  name: 'name',
  userName: 'user_name_template',
  timeoutMs: 'timeout_ms',
  checksPerSecond: 'checks_per_second',
  until: 'until',
  endedAt: 'ended_at',
  sequence: 'sequence',
  createdAt: 'created_at',
  changedAt: 'changed_at',
  /** Who decided last what the source is, by user id; null if that is not known. */
  setBy: 'set_by',
  /** The encrypted settings; never answered. */
  secretSealed: 'secret_sealed',
} as const satisfies Names<PasswordSources>;

export interface PasswordVerifier extends Named<PasswordSources, typeof SOURCE> {
  kind: SourceKind;
  settings: Record<string, unknown>;
}

/** SQL over `password_sources s`: users are still verified there. */
export const IS_ACTIVE = `s.ended_at is null and (s.until is null or s.until > now())`;

/** SQL over `password_sources s` in the shape of `PasswordVerifier`. */
export const SOURCE_COLUMNS = `${columnList(SOURCE, 's')}, s.kind, s.settings`;

/** The purpose and the source that an encrypted secret is bound to. */
export const sourceSeal = (id: string) => `password-source:${id}`;

/**
 * Adds a source.
 * @returns `secret`: what signs the requests of the kind `http`
 * @throws ApiError 400 PASSWORD-SOURCES-FULL
 */
export async function addSource(
  db: Db,
  secrets: Secrets,
  orgId: string,
  source: NewSource,
  editor: string,
): Promise<{ id: string; secret: string | undefined; event: AppendedEvent }> {
  // Locks the organization, so that two calls count one after the other.
  await db.query('select from organizations where id = $1 for no key update', [orgId]);
  const { rows } = await db.query<{ n: number }>('select count(*)::int as n from password_sources where org_id = $1', [
    orgId,
  ]);
  if ((rows[0]?.n ?? 0) >= MOST_SOURCES) throw tooMany();
  const id = newId();
  const { open, sealed } = splitSettings(source);
  const secret = source.kind === 'http' ? newWebhookSecret() : undefined;
  const hidden = secret === undefined ? sealed : { ...sealed, secret };
  const event = await sourceEvent(db, { id, orgId, name: source.name }, 'added', editor);
  await db.query(
    `insert into password_sources (id, org_id, name, kind, settings, secret_sealed, user_name_template, timeout_ms,
       checks_per_second, until, sequence, created_at, changed_at, set_by)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13)`,
    [
      id,
      orgId,
      source.name,
      source.kind,
      JSON.stringify(open),
      sealSecrets(secrets, id, hidden),
      source.userName,
      source.timeoutMs,
      source.checksPerSecond,
      source.until ?? null,
      event.sequence,
      event.createdAt,
      editor,
    ],
  );
  return { id, secret, event };
}

/** The settings that may be shown, and those that are stored encrypted. */
export function splitSettings({ settings }: Pick<NewSource, 'settings'>) {
  const all = Object.entries(settings).filter(([, value]) => value !== undefined);
  const isSecret = ([name]: [string, unknown]) => (SECRET_SETTINGS as readonly string[]).includes(name);
  return {
    open: Object.fromEntries(all.filter((entry) => !isSecret(entry))),
    sealed: Object.fromEntries(all.filter(isSecret)),
  };
}

/** The encrypted form of hidden settings; null when there are none. */
export function sealSecrets(
  secrets: Pick<Secrets, 'seal'>,
  id: string,
  hidden: Record<string, unknown>,
): string | null {
  return Object.keys(hidden).length === 0 ? null : secrets.seal(JSON.stringify(hidden), sourceSeal(id));
}

function tooMany(): ApiError {
  const message = `The organization has ${MOST_SOURCES} password sources. Delete one first.`;
  return new ApiError('FAILED_PRECONDITION', 'PASSWORD-SOURCES-FULL', message);
}

/** All settings of a source, with the secret ones. */
export function allSettings(secrets: Secrets, source: PasswordVerifier): Record<string, unknown> {
  return { ...source.settings, ...secretSettings(secrets, source) };
}

/** What is stored encrypted: secret settings, or what signs the requests of the kind `http`. */
export function secretSettings(secrets: Secrets, { id, secretSealed }: PasswordVerifier): Record<string, string> {
  return secretSealed === null ? {} : JSON.parse(secrets.unseal(secretSealed, sourceSeal(id)));
}

/** Whether the source may decide about the user's password. */
export async function mayDecide(db: Db, { setBy }: PasswordVerifier, userId: string): Promise<boolean> {
  return (await decidedBy(db, setBy, [userId])).length > 0;
}

/**
 * A source that decides about users with more rights than the caller may not be changed or ended by the caller.
 * @throws ApiError 403
 */
export async function requireMayDecide(db: Db, caller: Caller, { id }: PasswordVerifier): Promise<void> {
  const { rows } = await db.query<Pick<Users, 'id'>>(
    `select u.id from (select user_id from instance_members union select user_id from org_members) m
       join users u on u.id = m.user_id where ${IS_AT_SOURCE} and u.password_hash = $1`,
    [markOf(id)],
  );
  const members = await rightsOfAll(
    db,
    rows.map((row) => row.id),
  );
  if ([...members.values()].some((rights) => !covers(caller, rights))) throw permissionDenied();
}

/** The sources of an organization, the oldest first. */
export async function listSources(db: Db, orgId: string): Promise<PasswordVerifier[]> {
  const { rows } = await db.query<PasswordVerifier>(
    `select ${SOURCE_COLUMNS} from password_sources s where s.org_id = $1 order by s.created_at, s.id`,
    [orgId],
  );
  return rows;
}

/** One source; with `lock`, locked until the transaction ends. */
export async function findSource(db: Db, id: string, lock?: 'for update'): Promise<PasswordVerifier | undefined> {
  const { rows } = await db.query<PasswordVerifier>(
    `select ${SOURCE_COLUMNS} from password_sources s where s.id = $1 ${lock ?? ''}`,
    [id],
  );
  return rows[0];
}

/** Users are no longer verified at the source; does nothing if it has ended. The source's row is locked. */
export async function endSource(
  db: Db,
  source: PasswordVerifier,
  editor: string,
): Promise<Pick<AppendedEvent, 'sequence' | 'createdAt'>> {
  if (source.endedAt !== null) return { sequence: source.sequence, createdAt: source.changedAt };
  const event = await sourceEvent(db, source, 'ended', editor);
  await db.query(
    'update password_sources set ended_at = $2, sequence = $3, changed_at = $2, set_by = coalesce($4, set_by) where id = $1',
    [source.id, event.createdAt, event.sequence, editor === SYSTEM ? null : editor],
  );
  return event;
}

/**
 * Deletes a source that nobody needs. The source's row is locked. Users that an import adds to it later are treated as
 * those of an ended source.
 * @throws ApiError 400 PASSWORD-SOURCE-IN-USE
 */
export async function removeSource(db: Db, source: PasswordVerifier, editor: string): Promise<AppendedEvent> {
  if ((await remaining(db, source.id)) > 0) throw inUse();
  await db.query('delete from password_sources where id = $1', [source.id]);
  return sourceEvent(db, source, 'removed', editor);
}

function inUse(): ApiError {
  const message = 'Users still need the password source. End it first: they then get an email to choose a password.';
  return new ApiError('FAILED_PRECONDITION', 'PASSWORD-SOURCE-IN-USE', message);
}

/** The number of users whose password only the source knows. */
export async function remaining(db: Db, id: string): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    `select count(*)::int as n from users u where ${IS_AT_SOURCE} and u.password_hash = $1`,
    [markOf(id)],
  );
  return rows[0]?.n ?? 0;
}

export interface Day extends Pick<PasswordSourceDays, 'migrated'> {
  date: string;
}

/** How many users were migrated on each day (UTC), the first day first. */
export async function migratedPerDay(db: Db, id: string): Promise<Day[]> {
  const { rows } = await db.query<Day>(
    `select day::text as date, migrated from password_source_days where source_id = $1 order by day`,
    [id],
  );
  return rows;
}

/** Appends the event of a change. @param fields names of what changed */
export function sourceEvent(
  db: Db,
  { id, orgId, name }: Pick<PasswordVerifier, 'id' | 'orgId' | 'name'>,
  change: 'added' | 'changed' | 'ended' | 'removed',
  editor: string,
  fields?: string[],
): Promise<AppendedEvent> {
  return appendEvent(db, {
    aggregateType: 'organization',
    aggregateId: orgId,
    resourceOwner: orgId,
    type: `organization.password_source.${change}`,
    editor,
    payload: { sourceId: id, name, ...(fields ? { fields } : {}) },
  });
}

/** Users of an ended source in one transaction. */
const BATCH = 500;

/** Ends what is due. @returns whether there may be more to do at once */
export async function endRound(pool: Pool, { codeTtlMs }: { codeTtlMs: number }): Promise<boolean> {
  await endDue(pool);
  for (const mark of await marksInUse(pool)) {
    if (await isActive(pool, mark)) continue;
    const ended = await transaction(pool, (db) => endUsers(db, mark, codeTtlMs));
    if (ended > 0) return true;
  }
  return false;
}

/** Sources whose `until` has passed. */
async function endDue(pool: Pool): Promise<void> {
  const { rows } = await pool.query<Pick<PasswordSources, 'id'>>(
    'select id from password_sources where until <= now() and ended_at is null',
  );
  for (const { id } of rows) {
    await transaction(pool, async (db) => {
      const source = await findSource(db, id, 'for update');
      if (source) await endSource(db, source, SYSTEM);
    });
  }
}

/** Skips from mark to mark over the index, however many users have each. */
async function marksInUse(db: Db): Promise<string[]> {
  const { rows } = await db.query<{ mark: NonNullable<Users['password_hash']> }>(
    `with recursive m (mark) as (
       (select u.password_hash from users u where ${IS_AT_SOURCE} order by u.password_hash limit 1)
       union all
       select (select u.password_hash from users u where ${IS_AT_SOURCE} and u.password_hash > m.mark
         order by u.password_hash limit 1)
       from m where m.mark is not null)
     select mark from m where mark is not null`,
  );
  return rows.map(({ mark }) => mark);
}

async function isActive(db: Db, mark: string): Promise<boolean> {
  const { rowCount } = await db.query(`select from password_sources s where s.id = $1 and ${IS_ACTIVE}`, [
    sourceOf(mark),
  ]);
  return rowCount === 1;
}

// Users are locked before imports, and imports before mails, as everywhere.
const LOCK_USERS = `
  select u.id, u.import_id as "importId", u.state = 'active' and u.email is not null
    and not u.without_mail_codes as "isDue"
  from users u where ${IS_AT_SOURCE} and u.password_hash = $1 order by u.id limit ${BATCH} for update skip locked`;

const END = `
with ended as (
  select id, nextval('events_sequence_seq') as sequence from unnest($1::text[]) as id
),
changed as (
  update users u set password_hash = null, password_changed_at = null, rehashed_from = null,
    state = case when u.state = 'active' then 'initial' else u.state end, sequence = e.sequence, changed_at = now()
  from ended e where u.id = any($1::text[]) and u.id = e.id
  returning u.id, u.org_id, e.sequence
),
events_added as (
  insert into events (sequence, aggregate_type, aggregate_id, resource_owner, type, editor, payload)
  select sequence, 'user', id, org_id, 'user.human.password_source.ended', '${SYSTEM}',
    jsonb_build_object('sourceId', $4::text) from changed
),
codes_added as (
  insert into codes (user_id, purpose, expires_at)
  select id, 'initialise', now() + $3 * interval '1 millisecond' from unnest($2::text[]) as id returning id, user_id
)
insert into mail_outbox (kind, user_id, code_id, import_id)
select 'initialise', c.user_id, c.id, u.import_id from codes_added c join users u on u.id = c.user_id`;

interface Ending extends Named<Users, { id: 'id'; importId: 'import_id' }> {
  isDue: boolean;
}

/** Users with more rights than whoever ended the source keep what they have; they choose a password by "Forgot password?". */
async function endUsers(db: Db, mark: string, codeTtlMs: number): Promise<number> {
  const { rows } = await db.query<Ending>(LOCK_USERS, [mark]);
  const setBy = (await findSource(db, sourceOf(mark) ?? ''))?.setBy ?? null;
  const decided = new Set(
    await decidedBy(
      db,
      setBy,
      rows.map(({ id }) => id),
    ),
  );
  const users = rows.filter(({ id }) => decided.has(id));
  if (users.length === 0) return 0;
  const due = users.filter(({ isDue }) => isDue);
  await countMails(db, due);
  await db.query(END, [users.map(({ id }) => id), due.map(({ id }) => id), codeTtlMs, sourceOf(mark)]);
  return users.length;
}

async function countMails(db: Db, due: Ending[]): Promise<void> {
  const counts = Map.groupBy(due, ({ importId }) => importId);
  const imports = [...counts.keys()].filter((id) => id !== null).sort((a, b) => Number(a) - Number(b));
  if (imports.length === 0) return;
  await db.query('select from imports where id = any($1::bigint[]) order by id for update', [imports]);
  await db.query(
    `update imports i set mails_due = i.mails_due + c.n from unnest($1::bigint[], $2::int[]) as c (id, n)
     where i.id = c.id`,
    [imports, imports.map((id) => counts.get(id)?.length ?? 0)],
  );
}
