/**
 * The password sources of a body: that of the request, and those that users name. A user without a password of their
 * own gets the mark of the source instead of a hash (`src/passwords/at-source.ts`), so the workers write them as users
 * with a password, without a further column.
 *
 * Guarantee: an import is accepted only if every source belongs to the organization of its users and has not ended.
 */
import type { Db } from '../../db/pool.ts';
import { type ApiError, invalidArgument } from '../../errors.ts';
import { IS_ACTIVE, MOST_SOURCES } from '../../password-sources/store.ts';
import { markOf, sourceOf } from '../../passwords/at-source.ts';
import type { Item } from '../items.ts';

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

/** The same as `require`, for sources that were used earlier. @throws ApiError 400 IMPORT-PASSWORD-SOURCE */
export async function requireUsed(db: Db, used: UsedSources, orgOf: (org: number) => string): Promise<void> {
  for (const [org, ids] of used) await requireSources(db, orgOf(org), ids);
}

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
