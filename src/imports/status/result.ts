/** The result of an import: its progress with warnings, the first errors and the first successes. */
import type { Pool } from '../../db/pool.ts';
import type { ErrorBody } from '../../errors.ts';
import type { ImportResult } from '../answers.ts';
import { inStretches } from './items-page.ts';
import type { MoreResult } from './result-extras.ts';

const MAX_ERRORS = 100;
const MAX_SUCCESS = 1000;

/** The full result: progress and extras, plus errors and successes in the form that the ecosystem's clients read. */
export async function readResult(
  pool: Pool,
  { progress, more }: { progress: ImportResult; more: MoreResult },
): Promise<Record<string, unknown>> {
  const id = progress.importId;
  const [failed, succeeded] = await Promise.all([
    progress.counts.failed === 0 ? [] : firstErrors(pool, id),
    progress.counts.succeeded === 0 ? [] : firstSuccesses(pool, progress),
  ]);
  return {
    ...progress,
    ...more,
    errors: failed.map((r) => ({ type: 'human_user', id: r.user_id ?? '', message: messageOf(r.error) })),
    success: { orgs: succeeded },
  };
}

// `error is not null` matches a partial index. An index on the state would have to be updated at every change of state.
async function firstErrors(
  pool: Pool,
  importId: string,
): Promise<{ user_id: string | null; error: ErrorBody | null }[]> {
  const { rows } = await pool.query<{ user_id: string | null; error: ErrorBody | null }>({
    name: 'first-errors',
    text: `select user_id, error from import_items
      where import_id = $1 and error is not null and state = 'failed' order by ordinal limit $2`,
    values: [importId, MAX_ERRORS],
  });
  return rows;
}

/**
 * The user ids by organization, aggregated by the database, as a thousand separate rows would cost more to transfer.
 */
async function firstSuccesses(pool: Pool, of: ImportResult): Promise<{ orgId: string; humanUserIds: string[] }[]> {
  const byOrg = new Map<string, string[]>();
  // Stop at the known number of successes, so that the rest of an import that has just begun is not searched.
  const enough = Math.min(MAX_SUCCESS, of.counts.succeeded);
  let found = 0;
  for (const [from, to] of inStretches(0, of.counts.total)) {
    const { rows } = await pool.query<{ org_id: string; ids: string[] }>({
      name: 'first-successes',
      text: `select o.org_id, s.ids from (
          select org_index, min(ordinal) as first, json_agg(user_id order by ordinal) as ids from (
            select ordinal, org_index, user_id from import_items
            where import_id = $1 and ordinal >= $2 and ordinal < $3 and state = 'succeeded'
            order by ordinal limit $4) i
          group by org_index) s
        join import_orgs o on o.import_id = $1 and o.org_index = s.org_index order by s.first`,
      values: [of.importId, from, to, MAX_SUCCESS - found],
    });
    for (const { org_id: orgId, ids } of rows) {
      byOrg.set(orgId, [...(byOrg.get(orgId) ?? []), ...ids]);
      found += ids.length;
    }
    if (found >= enough) break;
  }
  return [...byOrg].map(([orgId, humanUserIds]) => ({ orgId, humanUserIds }));
}

function messageOf(error: ErrorBody | null): string {
  if (!error) return '';
  const fields = error.details.flatMap((d) => (d.fieldViolations as { field: string; description: string }[]) ?? []);
  if (fields.length === 0) return error.message;
  return fields.map((f) => `${f.field}: ${f.description}`).join('; ');
}
