/**
 * Stores organizations, the URLs that they allow in emails, and the names that their users sign in with;
 * `users/store.ts` says to whom a name belongs. An organization is deleted for good
 * only days after it stopped to be active, so one that was found exists for as long as a request takes.
 *
 * Guarantee: a link in an email leads only to an origin that the organization allows, to the service itself, or to the
 * redirect URIs of an OAuth client: a link carries a code, and users trust an email of the service. An IAM_OWNER
 * registers those clients, and browsers already bring them the codes of logins.
 */
import { anotherDomain, generatedDomain } from '../contract/domain-name.ts';
import { type OrgQuery, SIGN_IN_NAMES } from '../contract/organizations.ts';
import { type AppendedEvent, appendEvent } from '../platform/db/events.ts';
import type { Db } from '../platform/db/pool.ts';
import { columnList, type Named, type Names, oneRow } from '../platform/db/rows.ts';
import type { OauthClients, Organizations } from '../platform/db/tables.ts';
import { ApiError } from '../platform/errors.ts';
import { nameKey } from '../platform/fields.ts';
import type { ResultPage } from '../platform/http/answers.ts';

const ORG = {
  id: 'id',
  name: 'name',
  domain: 'primary_domain',
  sequence: 'sequence',
  createdAt: 'created_at',
  changedAt: 'changed_at',
  /** Null while it is active. */
  inactiveSince: 'inactive_since',
  /** When it was deleted; null if it was not. */
  removedAt: 'removed_at',
} as const satisfies Names<Organizations>;

export type Org = Named<Organizations, typeof ORG>;

/** SQL over `organizations o`: neither deactivated nor deleted. Elsewhere, `org_is_active(id)` of the migrations. */
export const ORG_IS_ACTIVE = '(o.inactive_since is null and o.removed_at is null)';

const COLUMNS = columnList(ORG);

export interface NewOrg {
  id: string;
  name: string;
  /** Generated from the name when empty or absent. */
  domain?: string | undefined;
}

/**
 * Adds an organization.
 * @throws ApiError 409 when the chosen domain is taken, or the id, also by an organization that was removed; roll the transaction back then
 */
export async function insertOrg(db: Db, org: NewOrg, baseUrl: string, editor: string): Promise<AppendedEvent> {
  if (await wasRemoved(db, org.id)) throw idTaken();
  const event = await appendEvent(db, {
    aggregateType: 'organization',
    aggregateId: org.id,
    resourceOwner: org.id,
    type: 'organization.added',
    editor,
    payload: { name: org.name },
  });
  const domain = org.domain || generatedDomain(org.name, baseUrl);
  if (await insertWithDomain(db, org, domain, event.sequence)) return event;
  if (org.domain) throw new ApiError('ALREADY_EXISTS', 'ORG-DOMAIN-TAKEN', 'The domain is taken.');
  let other = anotherDomain(domain);
  while (!(await insertWithDomain(db, org, other, event.sequence))) other = anotherDomain(domain);
  return event;
}

/** Returns false when the domain is taken. */
async function insertWithDomain(db: Db, org: NewOrg, domain: string, sequence: string): Promise<boolean> {
  try {
    const { rowCount } = await db.query(
      `insert into organizations (id, name, primary_domain, sequence) values ($1, $2, $3, $4)
       on conflict (primary_domain) do nothing`,
      [org.id, org.name, domain, sequence],
    );
    return rowCount === 1;
  } catch (error) {
    if ((error as { constraint?: string }).constraint !== 'organizations_pkey') throw error;
    throw idTaken();
  }
}

function idTaken(): ApiError {
  return new ApiError('ALREADY_EXISTS', 'ORG-ID-TAKEN', 'The organization id is taken.');
}

/** Whether an organization with this id was removed for good. */
export async function wasRemoved(db: Db, id: string): Promise<boolean> {
  const { rowCount } = await db.query('select from removed_organizations where id = $1', [id]);
  return rowCount === 1;
}

/** The organization, if it exists. */
export async function findOrg(db: Db, id: string): Promise<Org | undefined> {
  const { rows } = await db.query<Org>(`select ${COLUMNS} from organizations where id = $1`, [id]);
  return rows[0];
}

/** The organizations that exist, in the order of their ids. */
export async function findOrgs(db: Db, ids: string[]): Promise<Org[]> {
  const { rows } = await db.query<Org>(`select ${COLUMNS} from organizations where id = any($1) order by id`, [ids]);
  return rows;
}

/** The organization with this primary domain, in any case and normalization. */
export async function findOrgByDomain(db: Db, domain: string): Promise<Org | undefined> {
  const { rows } = await db.query<Org>(`select ${COLUMNS} from organizations where primary_domain = $1`, [
    nameKey(domain),
  ]);
  return rows[0];
}

/**
 * The organization; check the caller's role on it first.
 * @throws ApiError 404
 */
export async function requireOrg(db: Db, id: string): Promise<Org> {
  const org = await findOrg(db, id);
  if (!org) throw orgNotFound();
  return org;
}

/** @throws ApiError 404; 400 ORG-INACTIVE for an organization that was deactivated or deleted */
export async function requireActiveOrg(db: Db, id: string): Promise<void> {
  if (!isActiveOrg(await requireOrg(db, id))) throw orgInactive(id);
}

/** Neither deactivated nor deleted. */
export function isActiveOrg({ inactiveSince, removedAt }: Pick<Org, 'inactiveSince' | 'removedAt'>): boolean {
  return inactiveSince === null && removedAt === null;
}

/** The error of a call that needs an active organization. */
export function orgInactive(id: string): ApiError {
  return new ApiError('FAILED_PRECONDITION', 'ORG-INACTIVE', `The organization ${id} is deactivated or deleted.`);
}

/** The error that an IAM_OWNER gets for an organization that does not exist. */
export function orgNotFound(): ApiError {
  return new ApiError('NOT_FOUND', 'ORG-NOT-FOUND', 'The organization does not exist.');
}

/** Organizations that match all queries, in the order of their ids, and their total number. */
export async function searchOrgs(
  db: Db,
  queries: OrgQuery[],
  page: ResultPage,
): Promise<{ total: string; orgs: Org[] }> {
  const values: unknown[] = [];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const where = `where ${['true', ...queries.map((query) => condition(query, parameter))].join(' and ')}`;
  const counted = await db.query<{ total: string }>(`select count(*) as total from organizations ${where}`, values);
  const { rows: orgs } = await db.query<Org>(
    `select ${COLUMNS} from organizations ${where} order by id ${page.asc ? 'asc' : 'desc'}
     limit ${parameter(page.limit)} offset ${parameter(page.offset)}`,
    values,
  );
  return { total: oneRow(counted.rows).total, orgs };
}

function condition(query: OrgQuery, parameter: (value: unknown) => string): string {
  if (query.idQuery) return `id = ${parameter(query.idQuery.id)}`;
  if (query.domainQuery) return `primary_domain = ${parameter(nameKey(query.domainQuery.domain))}`;
  return `name = ${parameter(query.nameQuery?.name)}`;
}

/** Replaces the origins that an existing organization allows; call it in a transaction. */
export async function setAllowedUrls(db: Db, orgId: string, origins: string[], editor: string): Promise<AppendedEvent> {
  const event = await appendEvent(db, {
    aggregateType: 'organization',
    aggregateId: orgId,
    resourceOwner: orgId,
    type: 'organization.allowed_urls.set',
    editor,
    payload: { allowedUrls: origins },
  });
  const text = 'update organizations set allowed_urls = $2, sequence = $3, changed_at = $4 where id = $1';
  await db.query(text, [orgId, origins, event.sequence, event.createdAt]);
  return event;
}

/** The origins that the organization allows itself. */
export async function allowedUrlsOf(db: Db, orgId: string): Promise<string[]> {
  const { rows } = await db.query<Named<Organizations, { origins: 'allowed_urls' }>>(
    'select allowed_urls as origins from organizations where id = $1',
    [orgId],
  );
  return rows[0]?.origins ?? [];
}

/** Whether links in emails of the organization may lead to the origin. */
export async function isAllowedOrigin(db: Db, orgId: string, origin: string, baseUrl: string): Promise<boolean> {
  if (origin === new URL(baseUrl).origin) return true;
  if ((await allowedUrlsOf(db, orgId)).includes(origin)) return true;
  const { rows } = await db.query<{ uri: OauthClients['redirect_uris'][number] }>(
    'select unnest(redirect_uris || post_logout_redirect_uris) as uri from oauth_clients',
  );
  return rows.some(({ uri }) => URL.parse(uri)?.origin === origin);
}

export type SignInName = (typeof SIGN_IN_NAMES)[number];

/** Replaces the names that users of an existing organization sign in with; call it in a transaction. */
export async function setSignInNames(
  db: Db,
  orgId: string,
  signInNames: SignInName[],
  editor: string,
): Promise<AppendedEvent> {
  const event = await appendEvent(db, {
    aggregateType: 'organization',
    aggregateId: orgId,
    resourceOwner: orgId,
    type: 'organization.sign_in_names.set',
    editor,
    payload: { signInNames },
  });
  const text = 'update organizations set sign_in_names = $2, sequence = $3, changed_at = $4 where id = $1';
  await db.query(text, [orgId, signInNames, event.sequence, event.createdAt]);
  return event;
}

/**
 * The names that users of an organization sign in with; without an organization, and for one that does not exist, all
 * names.
 */
export async function signInNamesOf(db: Db, orgId: string | undefined): Promise<readonly SignInName[]> {
  if (orgId === undefined) return SIGN_IN_NAMES;
  const { rows } = await db.query<{ names: SignInName[] }>(
    'select sign_in_names as names from organizations where id = $1',
    [orgId],
  );
  return rows[0]?.names ?? SIGN_IN_NAMES;
}
