/**
 * What must be true before an import is accepted: its organizations exist and the caller may import into them, its
 * password sources belong to them, and there is room for it.
 *
 * Guarantee: an import is accepted only if every source belongs to the organization of its users and has not ended.
 */
import { type Caller, may, permissionDenied } from '../../contract/permissions.ts';
import { requireRoomForImport } from '../../directory/organization-limits.ts';
import { findOrg, isActiveOrg, orgInactive } from '../../directory/organizations.ts';
import { markOf, sourceOf } from '../../passwords/marks.ts';
import type { Db } from '../../platform/db/pool.ts';
import { ApiError, type IdOf, invalidArgument } from '../../platform/errors.ts';
import { idProblem } from '../../platform/fields.ts';
import { IS_ACTIVE, MOST_SOURCES } from '../../signin/password-sources/store.ts';
import type { Item } from '../entries/item.ts';
import type { ImportDeps } from '../entries/options.ts';
import type { Step } from '../entries/parser.ts';
import type { OrgTally } from './accept.ts';

/** Running and paused imports. One branch for each partial index: imports_open, imports_paused. */
const OPEN = `(
  select * from imports where state = 'running' and deadline > clock_timestamp()
  union all
  select * from imports where state = 'paused') as open`;

/** Seconds. Workers write thousands of users a second, so a backlog shrinks fast. */
const RETRY_AFTER_S = 30;

/** The organizations of a body, with the counts of their users. Holds one entry for each; writes nothing. */
export interface BodyOrgs {
  /** By the organization's number in the body. */
  tallies: OrgTally[];
  /** @throws ApiError 400 unless it is an id; 403 unless the caller may import into it; 404 when it does not exist; 400 ORG-INACTIVE; 429 ORG-LIMIT-IMPORTS */
  take(step: Extract<Step, { type: 'orgId' }>): Promise<void>;
  /** The counts of an organization; its id may come later in the body. */
  tally(org: number): OrgTally;
}

/** @param isDraft it runs later, if at all */
export function bodyOrgs(db: Db, caller: Caller, isDraft: boolean): BodyOrgs {
  const tallies: OrgTally[] = [];
  const allowed = new Set<string>();

  function tally(org: number): OrgTally {
    tallies[org] ??= { orgId: '', total: 0, failed: 0 };
    return tallies[org];
  }

  async function allow(orgId: string, where: string): Promise<void> {
    if (allowed.has(orgId)) return;
    if (!may(caller, 'importUsers', orgId)) throw permissionDenied();
    const org = await findOrg(db, orgId);
    if (!org) throw new ApiError('NOT_FOUND', 'ORG-NOT-FOUND', `${where}: the organization does not exist.`);
    if (!isActiveOrg(org)) throw orgInactive(orgId);
    if (!isDraft) await requireRoomForImport(db, orgId);
    allowed.add(orgId);
  }

  return {
    tallies,
    tally,
    async take({ org, value, line }) {
      const field = line === undefined ? `dataOrgs.orgs[${org}].orgId` : 'orgId';
      const where = line === undefined ? field : `Line ${line}: orgId`;
      const problem = typeof value === 'string' ? idProblem(value) : 'must be a string';
      if (problem) throw badField(field, problem, where);
      await allow(value as string, where);
      tally(org).orgId = value as string;
    },
  };
}

/** An error with status 400. @param where how the message names the field; default: its path */
export function badField(field: string, description: string, where = field): ApiError {
  return invalidArgument('IMPORT-BODY', `${where} ${description}.`, [{ field, description }]);
}

/**
 * The password sources of a body: the source of the request, and those that users name. A user without a password of
 * their own gets the mark of the source instead of a hash (`src/passwords/marks.ts`), so the workers write them as
 * users with a password, without a further column.
 */
export interface BodySources {
  /**
   * Gives the item its source, if it needs one.
   * @throws ApiError 400 IMPORT-PASSWORD-SOURCE when the users of an organization name more than it can have
   */
  take(org: number, item: Item): void;
  /** Whether any item has a source. */
  isUsed(): boolean;
  /** For `requireUsed`, when the items become visible in another request. */
  used(): UsedSources;
  /**
   * Call it in the transaction that makes the items visible.
   * @param orgOf the id of an organization by its number in the body
   * @throws ApiError 400 IMPORT-PASSWORD-SOURCE
   */
  require(db: Db, orgOf: (org: number) => string): Promise<void>;
}

/** The ids of sources, by the organization's number in the body. */
export type UsedSources = [org: number, ids: string[]][];

/** @param ofRequest the source of all users who have no password of their own */
export function bodySources(ofRequest: string | undefined): BodySources {
  const mark = ofRequest === undefined ? null : markOf(ofRequest);
  /** By the organization's number in the body. */
  const used = new Map<number, Set<string>>();
  return {
    take(org, item) {
      if (item.state === 'failed') return;
      if (mark !== null && item.passwordHash === null && item.passwordSealed === null) item.passwordHash = mark;
      const id = sourceOf(item.passwordHash);
      if (id === undefined) return;
      const ids = used.get(org) ?? new Set();
      used.set(org, ids.add(id));
      if (ids.size > MOST_SOURCES) throw badSource(id);
    },
    isUsed: () => used.size > 0,
    used: list,
    require: (db, orgOf) => requireUsed(db, list(), orgOf),
  };

  function list(): UsedSources {
    return [...used].map(([org, ids]) => [org, [...ids]]);
  }
}

/** `BodySources.require` for sources that were used earlier. @throws ApiError 400 IMPORT-PASSWORD-SOURCE */
export async function requireUsed(db: Db, used: UsedSources, orgOf: (org: number) => string): Promise<void> {
  for (const [org, ids] of used) await requireSources(db, orgOf(org), ids);
}

/**
 * Refuses a request before its body is read.
 * @throws ApiError 400 IMPORT-PASSWORD-SOURCE
 */
export async function requireKnown(db: Db, id: string): Promise<void> {
  const { rowCount } = await db.query(`select from password_sources s where s.id = $1 and ${IS_ACTIVE}`, [id]);
  if (!rowCount) throw badSource(id);
}

/**
 * Locks the sources, so that none of them is deleted before the import is visible.
 * @throws ApiError 400 IMPORT-PASSWORD-SOURCE
 */
export async function requireSources(db: Db, orgId: string, ids: readonly string[]): Promise<void> {
  const { rows } = await db.query<{ id: string }>(
    `select s.id from password_sources s where s.id = any($1::text[]) and s.org_id = $2 and ${IS_ACTIVE} for key share`,
    [ids, orgId],
  );
  const found = new Set(rows.map(({ id }) => id));
  const missing = ids.find((id) => !found.has(id));
  if (missing !== undefined) throw badSource(missing);
}

function badSource(id: string): ApiError {
  const description = 'must be the id of a password source of the organization of its users that has not ended';
  const shown = id.slice(0, 200);
  return invalidArgument('IMPORT-PASSWORD-SOURCE', `passwordSource ${description}, but is "${shown}".`, [
    { field: 'passwordSource', description },
  ]);
}

/**
 * Refuses new bulk imports while too many users wait to be written, or too many imports of the organization run.
 * Keeps no state: reads the counters of the open imports, which are few rows.
 *
 * Two imports that are accepted at the same moment may both take the last place.
 * @throws ApiError 429 IMPORT-BACKLOG, IMPORT-RUNNING
 */
export async function requireRoom({ pool, config }: ImportDeps, caller: Caller): Promise<void> {
  const { MAX_BACKLOG, MAX_RUNNING_IMPORTS } = config;
  if (MAX_BACKLOG > 0 && (await backlog(pool)) > MAX_BACKLOG) {
    throw refuse('IMPORT-BACKLOG', 'Too many users are waiting to be imported. Try again later.');
  }
  if (MAX_RUNNING_IMPORTS > 0 && (await runningOf(pool, caller)) >= MAX_RUNNING_IMPORTS) {
    const message = `Your organization has ${MAX_RUNNING_IMPORTS} imports that have not ended. Try again when one ends.`;
    throw refuse('IMPORT-RUNNING', message);
  }
}

/** The pending users of all running and paused imports. */
export async function backlog(db: Db): Promise<number> {
  const { rows } = await db.query<{ pending: number }>({
    name: 'backlog',
    text: `select coalesce(sum(total - succeeded - skipped - failed - undone), 0)::float8 as pending from ${OPEN}`,
  });
  return rows[0]?.pending ?? 0;
}

/** The bulk imports that callers of this caller's organization have started and that have not ended. */
async function runningOf(db: Db, caller: Caller): Promise<number> {
  const { rows } = await db.query<{ n: number }>({
    name: 'running-imports',
    text: `select count(*)::int as n from ${OPEN} where kind = 'bulk' and resource_owner = $1`,
    values: [caller.orgId],
  });
  return rows[0]?.n ?? 0;
}

function refuse(id: IdOf<'RESOURCE_EXHAUSTED'>, message: string): ApiError {
  return new ApiError('RESOURCE_EXHAUSTED', id, message, { retryAfterS: RETRY_AFTER_S });
}
