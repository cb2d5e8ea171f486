/** Removes expired sessions, grants, codes and tokens of the authorization server; `access/revocation.ts` revokes. */
import type { Db } from '../../db/pool.ts';

const SWEEP_ROWS = 1000;

/** Removes expired rows, which are no longer valid anyway; in small batches, so that nobody waits for it. */
export async function sweepExpired(db: Db): Promise<number> {
  for (let swept = 0; ; ) {
    const { rowCount } = await db.query(
      `delete from oauth_models where id_hash in (
         select id_hash from oauth_models where expires_at < now() order by expires_at limit $1 for update skip locked)`,
      [SWEEP_ROWS],
    );
    swept += rowCount ?? 0;
    if ((rowCount ?? 0) < SWEEP_ROWS) return swept;
  }
}
