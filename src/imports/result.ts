/** The result of an import: its progress with warnings, the first errors and the first successes. */
import type { Pool } from '../db/pool.ts';
import type { ErrorBody } from '../errors.ts';
import { orgsOf, scanItems } from './items-page.ts';
import type { ImportResult } from './progress.ts';
import { readMore } from './result-more.ts';

const MAX_ERRORS = 100;
const MAX_SUCCESS = 1000;

/** The full result: progress plus warnings and, as the ecosystem's clients read them, errors and successes. */
export async function readResult(pool: Pool, progress: ImportResult): Promise<Record<string, unknown>> {
  const id = progress.importId;
  const [more, failed, orgs, succeeded] = await Promise.all([
    readMore(pool, progress),
    pool.query<{ user_id: string | null; error: ErrorBody | null }>(
      `select user_id, error from import_items where import_id = $1 and state = 'failed' order by ordinal limit $2`,
      [id, MAX_ERRORS],
    ),
    orgsOf(pool, id),
    progress.counts.succeeded === 0 ? [] : scanItems(pool, progress, MAX_SUCCESS, { from: 0, state: 'succeeded' }),
  ]);
  const byOrg = Map.groupBy(succeeded, (r) => orgs.get(r.org_index) ?? '');
  return {
    ...progress,
    ...more,
    errors: failed.rows.map((r) => ({ type: 'human_user', id: r.user_id ?? '', message: messageOf(r.error) })),
    success: { orgs: [...byOrg].map(([orgId, rows]) => ({ orgId, humanUserIds: rows.map((r) => r.user_id) })) },
  };
}

function messageOf(error: ErrorBody | null): string {
  if (!error) return '';
  const fields = error.details.flatMap((d) => (d.fieldViolations as { field: string; description: string }[]) ?? []);
  if (fields.length === 0) return error.message;
  return fields.map((f) => `${f.field}: ${f.description}`).join('; ');
}
