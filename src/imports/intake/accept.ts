import type { Caller } from '../../contract/permissions.ts';
import { allowLong } from '../../platform/db/client.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { ApiError } from '../../platform/errors.ts';
import { traceContext } from '../../platform/telemetry.ts';
import { countFirstFailures, RAN, type SettledBatch } from '../entries/item.ts';
import { type DuplicateRule, settleDuplicates } from './duplicates.ts';
/**
 * The import's own rows during the upload: created invisible, then activated in one short transaction, or removed.
 */

export interface OrgTally {
  orgId: string;
  total: number;
  failed: number;
  /** Left out before the import began; absent: 0. */
  skipped?: number;
}

export interface Acceptance {
  importId: string;
  sequence: string;
  /** The Go duration as the caller sent it. */
  timeout: string;
  timeoutMs: number;
  warnings: unknown[];
  orgs: OrgTally[];
  /** At least one item is marked `maybe_duplicate`. */
  hasDuplicates: boolean;
  /** What happens to users that appear in the body a second time. */
  duplicates: DuplicateRule;
  /** The system that the users come from, if it was not known when the import was created. */
  source?: string | undefined;
}

/**
 * Creates the import in state `receiving`, which every reader filters out.
 * @param source the system that its users come from
 */
export async function createReceiving(
  db: Db,
  caller: Pick<Caller, 'userId' | 'orgId'>,
  source?: string,
): Promise<string> {
  const { rows } = await db.query<{ id: string }>(
    `insert into imports (kind, state, created_by, resource_owner, trace_context, source)
     values ('bulk', 'receiving', $1, $2, $3, $4) returning id`,
    [caller.userId, caller.orgId, traceContext() ?? null, source ?? null],
  );
  return (rows[0] as { id: string }).id;
}

/**
 * Tells the sweep that the upload is still active.
 * @throws ApiError 409 when the sweep has removed the upload as abandoned
 */
export async function touchReceiving(db: Db, importId: string): Promise<void> {
  const { rowCount } = await db.query(`update imports set changed_at = now() where id = $1 and state = 'receiving'`, [
    importId,
  ]);
  if (rowCount === 1) return;
  const message = 'The upload made no progress for too long and nothing was imported. Send the request again.';
  throw new ApiError('ABORTED', 'IMPORT-ABORTED', message);
}

/** Removes an import that was not accepted and all of its items, including those written after a sweep. */
export async function discard(pool: Pool, importId: string): Promise<void> {
  await transaction(pool, async (db) => {
    await allowLong(db);
    await db.query(`delete from imports where id = $1 and state = 'receiving'`, [importId]);
    await db.query('delete from import_items where import_id = $1 and not exists (select from imports where id = $1)', [
      importId,
    ]);
  });
}

/** Removes uploads without progress for `olderThanMs`. Any number of processes may call it at once. */
export async function sweepAbandoned(pool: Pool, olderThanMs: number): Promise<number> {
  const { rows } = await pool.query<{ id: string }>(
    `select id from imports where state = 'receiving' and changed_at < now() - $1 * interval '1 millisecond'`,
    [olderThanMs],
  );
  for (const { id } of rows) await discard(pool, id);
  return rows.length;
}

/**
 * Starts the import: when this transaction commits, the import is visible and its timeout starts.
 * @returns the users that are settled without a worker: invalid ones and duplicates
 * @throws ApiError 409 when the sweep has removed the upload as abandoned
 */
export async function activate(db: Db, acceptance: Acceptance): Promise<SettledBatch> {
  const { importId, orgs } = acceptance;
  await touchReceiving(db, importId); // locks the row against a concurrent sweep
  await insertOrgs(db, importId, orgs);
  if (acceptance.hasDuplicates) await settleDuplicates(db, importId, acceptance.duplicates);
  const { rows } = await db.query<SettledBatch>(
    `with counted as (
       select sum(total)::int as total, sum(failed)::int as failed, sum(skipped)::int as skipped
       from import_orgs where import_id = $1)
     update imports set
       state = case when c.failed + c.skipped < c.total then 'running'::import_state
         when c.failed > 0 then 'completed_with_errors' else 'succeeded' end,
       finished_at = case when c.failed + c.skipped = c.total then clock_timestamp() end,
       timeout = $2, deadline = clock_timestamp() + $3 * interval '1 millisecond', accepted_at = clock_timestamp(),
       changed_at = clock_timestamp(), total = c.total, failed = c.failed, skipped = c.skipped, warnings = $4, sequence = $5,
       source = coalesce($6, source)
     from counted c where id = $1 and state = 'receiving'
     returning imports.state, 0 as succeeded, imports.skipped, imports.failed, ${RAN}`,
    [
      importId,
      acceptance.timeout,
      acceptance.timeoutMs,
      JSON.stringify(acceptance.warnings),
      acceptance.sequence,
      acceptance.source ?? null,
    ],
  );
  await db.query(
    `insert into import_dispatch (import_id, settled_before) select id, failed + skipped from imports where id = $1`,
    [importId],
  );
  if (rows[0]?.failed) await countFirstFailures(db, importId);
  return rows[0] as SettledBatch; // its row is locked
}

async function insertOrgs(db: Db, importId: string, orgs: OrgTally[]): Promise<void> {
  const kept = orgs.map((org, index) => ({ ...org, index })).filter((o) => o.orgId !== '');
  await db.query(
    `insert into import_orgs (import_id, org_index, org_id, total, failed, skipped)
     select $1, * from unnest($2::int[], $3::text[], $4::int[], $5::int[], $6::int[])`,
    [
      ...[importId, kept.map((o) => o.index), kept.map((o) => o.orgId), kept.map((o) => o.total)],
      ...[kept.map((o) => o.failed), kept.map((o) => o.skipped ?? 0)],
    ],
  );
}
