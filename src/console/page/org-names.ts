/** Names of organizations, for pages that show users of several. */
import type { Db } from '../../db/pool.ts';
import { findOrgs } from '../../orgs/store.ts';

/**
 * @param ids organizations that the person may see
 * @returns their names by id; of one that does not exist, its id
 */
export async function orgNames(db: Db, ids: readonly string[]): Promise<(id: string) => string> {
  const found = await findOrgs(db, [...new Set(ids)]);
  const names = new Map(found.map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? id;
}
