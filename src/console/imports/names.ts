/** The names of organizations that the API has shown to this person. */
import type { Db } from '../../db/pool.ts';
import { findOrgs } from '../../orgs/store.ts';
import type { Progress } from './shapes.ts';

export async function namesOf(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const found = ids.length === 0 ? [] : await findOrgs(db, [...new Set(ids)]);
  return new Map(found.map(({ id, name }) => [id, name]));
}

/** The organizations of imports, of each at most as many as a page shows. */
export function orgIdsOf(imports: readonly Progress[]): string[] {
  return imports.flatMap(({ orgs }) => orgs.slice(0, 50).map(({ orgId }) => orgId));
}
