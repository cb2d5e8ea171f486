/** The password sources that an import can use. Call it only for organizations of which the person may list them. */
import type { Db } from '../../db/pool.ts';
import { IS_ACTIVE } from '../../password-sources/store.ts';

export interface PasswordSource {
  id: string;
  name: string;
  orgId: string;
}

/** As many as a list to choose from shows. */
const MOST = 200;

/** Those that have not ended, by organization and name. */
export async function activeSources(db: Db, orgIds: readonly string[]): Promise<PasswordSource[]> {
  const { rows } = await db.query<PasswordSource>(
    `select s.id, s.name, s.org_id as "orgId" from password_sources s
     where s.org_id = any ($1) and ${IS_ACTIVE} order by s.org_id, s.name, s.id limit ${MOST}`,
    [orgIds],
  );
  return rows;
}
