/**
 * Erases the peppers of imports that nobody needs any more: no user has a hash with it, and the import holds no hash
 * from which another could be written.
 * Guarantee: an import that could still run keeps its pepper. On crash: the next round finds the rest.
 */
import type { Db } from '../../db/pool.ts';
import { IS_PEPPERED, PEPPER_OF } from '../../passwords/pepper.ts';

export async function sweepPeppers(db: Db): Promise<void> {
  await db.query(
    `delete from import_peppers p
     where not exists (select from users u where ${IS_PEPPERED} and ${PEPPER_OF} = p.import_id::text)
       and not exists (select from imports i where i.id = p.import_id
         and (i.finished_at is null or i.erased_to is null or i.erased_to < i.total))`,
  );
}
