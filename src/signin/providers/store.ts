/**
 * Stores external identity providers of organizations and of the instance, and says about whom a provider decides.
 *
 * Guarantee: secrets are stored encrypted, bound to their provider. Every change is in one transaction with its event,
 * when the caller passes a transaction's connection. Names under which links know providers are unique among the
 * providers of an owner. A provider of an organization signs in nobody with more rights than who set it last, and never
 * an IAM_OWNER; nobody changes a provider that decides about users with more rights than their own.
 */
import { aliasKey, type IdpType, PRESETS } from '../../contract/idp-presets.ts';
import type { IdpSecrets, IdpSettings } from '../../contract/idps.ts';
import { type Caller, covers, permissionDenied, type Rights } from '../../contract/permissions.ts';
import { decidedBy, INSTANCE, rightsOfAll } from '../../directory/members.ts';
import { type AppendedEvent, appendEvent } from '../../platform/db/events.ts';
import type { Db } from '../../platform/db/pool.ts';
import { columnList, type Named, type Names } from '../../platform/db/rows.ts';
import { sweepRows } from '../../platform/db/sweep.ts';
import type { Idps, Users } from '../../platform/db/tables.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';

/** More than a company has; few enough for a page of buttons. */
export const MOST_IDPS = 50;

const IDP = {
  id: 'id',
  /** Null: of the instance. */
  orgId: 'org_id',
  name: 'name',
  /** The encrypted secrets; never answered. */
  secretSealed: 'secret_sealed',
  /** Who decided last what the provider is, by user id; null if that is not known. */
  setBy: 'set_by',
  sequence: 'sequence',
  createdAt: 'created_at',
  changedAt: 'changed_at',
} as const satisfies Names<Idps>;

export interface Idp extends Named<Idps, typeof IDP> {
  type: IdpType;
  settings: IdpSettings;
}

const COLUMNS = `${columnList(IDP, 'i')}, i.type, i.settings`;

/** The purpose and the provider that encrypted secrets are bound to. */
export const idpSeal = (id: string) => `idp:${id}`;
/** The purpose and the visit that its encrypted values are bound to. */
export const tripSeal = (id: string) => `idp-round-trip:${id}`;

/** One provider; with `lock`, locked until the transaction ends. */
export async function findIdp(db: Db, id: string, lock?: 'for update' | 'for share'): Promise<Idp | undefined> {
  const { rows } = await db.query<Idp>(`select ${COLUMNS} from idps i where i.id = $1 ${lock ?? ''}`, [id]);
  return rows[0];
}

/** The providers of an organization, or of the instance (null), the oldest first. */
export async function listIdps(db: Db, orgId: string | null): Promise<Idp[]> {
  const { rows } = await db.query<Idp>(
    `select ${COLUMNS} from idps i where i.org_id is not distinct from $1 order by i.created_at, i.id`,
    [orgId],
  );
  return rows;
}

/** A provider with the name of its organization; null: of the instance. */
export type OwnedIdp = Idp & { orgName: string | null };

/**
 * Enabled providers of the instance, then of active organizations, and how many there are in all. Beyond `limit` each
 * organization has one of them before any has a second, by chance, so that no tenant takes the places of others.
 */
export async function enabledIdps(db: Db, limit: number): Promise<{ idps: OwnedIdp[]; all: number }> {
  const { rows } = await db.query<OwnedIdp & { all: number }>(
    `select ${COLUMNS}, o.name as "orgName", count(*) over ()::int as "all"
     from idps i left join organizations o on o.id = i.org_id
     where i.settings -> 'isEnabled' = 'true'::jsonb
       and (i.org_id is null or (o.inactive_since is null and o.removed_at is null))
     order by i.org_id is not null, row_number() over (partition by i.org_id order by random()), random()
     limit $1`,
    [limit],
  );
  return { idps: rows, all: rows[0]?.all ?? 0 };
}

/**
 * The enabled providers for a sign-in page: those of the organization, then those of the instance, without the ones
 * whose links belong to a provider of the organization with the same alias.
 * @param orgId undefined: the organization is not known
 */
export async function idpsFor(db: Db, orgId: string | undefined): Promise<Idp[]> {
  const { rows } = await db.query<Idp>(
    `select ${COLUMNS} from idps i where i.org_id is null or i.org_id = $1
     order by i.org_id nulls last, i.created_at, i.id`,
    [orgId ?? null],
  );
  const own = new Set(rows.filter((idp) => idp.orgId !== null).flatMap(namesOf));
  return rows.filter((idp) => {
    return idp.settings.isEnabled && (idp.orgId !== null || !namesOf(idp).some((name) => own.has(name)));
  });
}

/** What is stored encrypted. @throws Error when no key decrypts it */
export function secretsOf(
  secrets: Pick<Secrets, 'unseal'>,
  { id, secretSealed }: Pick<Idp, 'id' | 'secretSealed'>,
): IdpSecrets {
  return secretSealed === null ? {} : JSON.parse(secrets.unseal(secretSealed, idpSeal(id)));
}

/**
 * Where the provider sends browsers back to: the first of its further paths, on the public host whatever path is before
 * ours, or else our own path.
 */
export function redirectUriOf(baseUrl: string, { id, settings }: Pick<Idp, 'id' | 'settings'>): string {
  const [path] = settings.callbackPaths;
  return path === undefined ? `${baseUrl}/ui/idps/${encodeURIComponent(id)}/callback` : new URL(baseUrl).origin + path;
}

/** The names under which links know a provider: its id and its aliases, as they are compared. */
export function namesOf({ id, settings }: Pick<Idp, 'id' | 'settings'>): string[] {
  return [id, ...settings.aliases].map(aliasKey);
}

/** Whether a provider of an organization may sign the user in; one of the instance may sign in everybody. */
export async function mayDecide(db: Db, { orgId, setBy }: Pick<Idp, 'orgId' | 'setBy'>, userId: string) {
  if (orgId === null) return true;
  if ((await rightsOfAll(db, [userId])).get(userId)?.isIamOwner) return false;
  return (await decidedBy(db, setBy, [userId])).length > 0;
}

/** A provider as it is to be stored. */
export interface Draft {
  type: IdpType;
  name: string;
  settings: IdpSettings;
  secrets: IdpSecrets;
}

/**
 * Adds a provider. Aliases of its preset that another provider of the owner has are left out, unless they were asked
 * for.
 * @param orgId null: of the instance
 * @throws ApiError 403; 409 IDP-ALIAS-TAKEN; 400 IDPS-FULL
 */
export async function addIdp(
  db: Db,
  secrets: Pick<Secrets, 'seal'>,
  orgId: string | null,
  draft: Draft & { hasAliases: boolean },
  caller: Caller,
): Promise<{ id: string; event: AppendedEvent }> {
  await lockOwner(db, orgId);
  const others = await listIdps(db, orgId);
  if (others.length >= MOST_IDPS) throw tooMany(orgId);
  const id = newId();
  const taken = new Set(others.flatMap(namesOf));
  const free = draft.settings.aliases.filter((alias) => draft.hasAliases || !taken.has(aliasKey(alias)));
  const idp = { id, orgId, ...draft, settings: { ...draft.settings, aliases: free } };
  requireFreeNames(idp, others);
  await requireMayTake(db, caller, orgId, namesOf(idp));
  const event = await idpEvent(db, idp, 'added', caller.userId);
  await db.query(
    `insert into idps (id, org_id, type, name, settings, secret_sealed, set_by, sequence, created_at, changed_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)`,
    [id, orgId, ...stored(secrets, idp, caller.userId, event), event.createdAt],
  );
  return { id, event };
}

/**
 * Stores a change. The provider's row is locked.
 * @param fields names of what changes
 * @throws ApiError 403; 409 IDP-ALIAS-TAKEN
 */
export async function changeIdp(
  db: Db,
  secrets: Pick<Secrets, 'seal'>,
  before: Idp,
  draft: Draft & { fields: string[] },
  caller: Caller,
): Promise<AppendedEvent> {
  const after = { ...before, ...draft };
  requireFreeNames(after, await listIdps(db, before.orgId));
  await requireMayTake(
    db,
    caller,
    before.orgId,
    namesOf(after).filter((name) => !namesOf(before).includes(name)),
  );
  const event = await idpEvent(db, after, 'changed', caller.userId, draft.fields);
  await db.query(
    `update idps set type = $2, name = $3, settings = $4, secret_sealed = $5, set_by = $6, sequence = $7,
       changed_at = $8 where id = $1`,
    [before.id, ...stored(secrets, after, caller.userId, event), event.createdAt],
  );
  return event;
}

function stored(
  secrets: Pick<Secrets, 'seal'>,
  { id, type, name, settings, secrets: hidden }: Draft & { id: string },
  editor: string,
  { sequence }: AppendedEvent,
) {
  return [type, name, JSON.stringify(settings), sealIdpSecrets(secrets, id, hidden), editor, sequence];
}

/** Removes a provider. Its row is locked. */
export async function removeIdp(db: Db, idp: Idp, editor: string): Promise<AppendedEvent> {
  await db.query('delete from idps where id = $1', [idp.id]);
  return idpEvent(db, idp, 'removed', editor);
}

/** The encrypted form of the secrets; null when there are none. */
export function sealIdpSecrets(secrets: Pick<Secrets, 'seal'>, id: string, hidden: IdpSecrets): string | null {
  const given = Object.values(hidden).some((value) => value !== undefined);
  return given ? secrets.seal(JSON.stringify(hidden), idpSeal(id)) : null;
}

/** So that of two calls at the same time the second one sees the names of the first. Before the lock of a row. */
export async function lockOwner(db: Db, orgId: string | null): Promise<void> {
  await db.query(`select pg_advisory_xact_lock(hashtext('identity providers'), hashtext($1))`, [orgId ?? '']);
}

function tooMany(orgId: string | null): ApiError {
  const owner = orgId === null ? 'instance' : 'organization';
  const message = `The ${owner} has ${MOST_IDPS} identity providers. Remove one first.`;
  return new ApiError('FAILED_PRECONDITION', 'IDPS-FULL', message);
}

/** @throws ApiError 409 IDP-ALIAS-TAKEN, which names the alias and who has it */
function requireFreeNames(idp: Pick<Idp, 'id' | 'settings'>, all: readonly Idp[]): void {
  for (const alias of idp.settings.aliases) {
    const other = all.find((one) => one.id !== idp.id && namesOf(one).includes(aliasKey(alias)));
    if (other === undefined) continue;
    const message = `The alias ${alias} is that of the provider ${other.name} (${other.id}).`;
    throw new ApiError('ALREADY_EXISTS', 'IDP-ALIAS-TAKEN', message);
  }
}

/**
 * Nobody changes a provider of an organization that decides about users with more rights than their own.
 * @throws ApiError 403
 */
export async function requireMayDecide(db: Db, caller: Caller, idp: Idp): Promise<void> {
  if (idp.orgId === null || caller.isIamOwner) return;
  const above = await holdersAbove(db, caller, idp.orgId, namesOf(idp));
  const isOwner = new Set([...above].filter(([, rights]) => rights.isIamOwner).map(([userId]) => userId));
  const decided = await decidedBy(db, idp.setBy, [...above.keys()]);
  if (decided.some((userId) => !isOwner.has(userId))) throw permissionDenied();
}

/**
 * A provider of an organization takes links from a provider of the instance with the same names: not those of users with
 * more rights than the caller, whom it would keep out.
 * @throws ApiError 403
 */
async function requireMayTake(db: Db, caller: Caller, orgId: string | null, names: readonly string[]): Promise<void> {
  if (orgId === null || caller.isIamOwner) return;
  const ofInstance = new Set((await listIdps(db, null)).flatMap(namesOf));
  const above = await holdersAbove(
    db,
    caller,
    orgId,
    names.filter((name) => ofInstance.has(name)),
  );
  if (above.size > 0) throw permissionDenied();
}

/** Users of the organization with links of these names and with rights that the caller does not have. */
async function holdersAbove(
  db: Db,
  caller: Caller,
  orgId: string,
  names: readonly string[],
): Promise<Map<string, Rights>> {
  if (names.length === 0) return new Map();
  const { rows } = await db.query<Pick<Users, 'id'>>(
    `select u.id from (select user_id from instance_members union select user_id from org_members) m
       join users u on u.id = m.user_id
     where u.org_id = $1 and exists (
       select from user_idp_links l where l.user_id = u.id and lower(l.idp_id collate "C") = any($2::text[]))`,
    [orgId, names],
  );
  const members = await rightsOfAll(
    db,
    rows.map(({ id }) => id),
  );
  return new Map([...members].filter(([, rights]) => !covers(caller, rights)));
}

/** Appends the event of a change. @param fields names of what changed */
export function idpEvent(
  db: Db,
  { id, orgId, type, name }: Pick<Idp, 'id' | 'orgId' | 'type' | 'name'>,
  change: 'added' | 'changed' | 'removed',
  editor: string,
  fields?: string[],
): Promise<AppendedEvent> {
  const aggregateType = orgId === null ? 'instance' : 'organization';
  const owner = orgId ?? INSTANCE;
  return appendEvent(db, {
    aggregateType,
    aggregateId: owner,
    resourceOwner: owner,
    type: `${aggregateType}.idp.${change}`,
    editor,
    payload: { idpId: id, type, name, ...(fields ? { fields } : {}) },
  });
}

/** How the provider answers, if it is not by a redirect (`response_mode`). */
export function responseModeOf({ type }: Pick<Idp, 'type'>): 'form_post' | undefined {
  return PRESETS[type].responseMode;
}

/** Removes one batch of visits at providers whose time is over (round-trip.ts); returns how many. */
export function sweepTrips(db: Db): Promise<number> {
  return sweepRows(db, { table: 'idp_round_trips', where: 'expires_at < now()', order: 'expires_at' });
}
