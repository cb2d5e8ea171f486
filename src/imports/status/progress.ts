/**
 * The progress of an import as the API shows it, the list of imports, and how many there are in each state. The
 * counts of an import always sum to its total, and reading it costs the same whatever its size.
 *
 * Guarantee: pending items of a timed-out, cancelled or undone import are shown as timed out or cancelled (derived,
 * never written to the items). An import past its deadline is ended before it is shown, so TIMED_OUT is never
 * reported while a commit is in progress.
 */
import { IMPORT_STATES, openState } from '../../contract/import-results.ts';
import type { Counts, ImportResult, StateCounts } from '../../contract/import-types.ts';
import { details } from '../../platform/db/events.ts';
import type { Db, Pool } from '../../platform/db/pool.ts';
import type { ImportOrgs, Imports } from '../../platform/db/tables.ts';
import { ApiError } from '../../platform/errors.ts';
import { shownState } from '../entries/states.ts';
import { expireImport } from '../upkeep/rescue.ts';

interface Tallies {
  total: number;
  succeeded: number;
  skipped: number;
  failed: number;
  undone: number;
}

interface ImportRow
  extends Pick<
    Imports,
    | keyof Tallies
    | 'id'
    | 'timeout'
    | 'dry_run'
    | 'source'
    | 'files'
    | 'mails'
    | 'mails_due'
    | 'mails_sent'
    | 'mails_failed'
    | 'sequence'
    | 'created_at'
    | 'accepted_at'
    | 'changed_at'
    | 'resource_owner'
  > {
  state: string;
  overdue: boolean;
  /** With the time for which it is paused. */
  deadline: Date;
  failed_before: number;
  elapsed_ms: number;
  orgs: (Tallies & Pick<ImportOrgs, 'org_id'>)[];
  check_of: string | null;
}

const COLUMNS = `
  i.id, i.state, i.state = 'running' and i.deadline <= clock_timestamp() as overdue, i.timeout,
    i.deadline + coalesce(clock_timestamp() - i.paused_at, '0') as deadline,
    i.total, i.succeeded, i.skipped, i.failed, i.undone, i.dry_run, i.source, i.files, i.mails, i.mails_due, i.mails_sent, i.mails_failed,
    i.sequence, i.created_at, i.accepted_at, i.changed_at, i.resource_owner,
    case when i.dry_run then (select entries_of from import_dry_runs where import_id = i.id) end as check_of,
    extract(epoch from coalesce(i.finished_at, i.paused_at, clock_timestamp()) - i.accepted_at - i.stood)::float8 * 1000
      as elapsed_ms,
    (select coalesce(jsonb_agg(o order by o.org_index), '[]') from (
       select min(org_index) as org_index, org_id, sum(total) as total, sum(succeeded) as succeeded,
         sum(skipped) as skipped, sum(failed) as failed, sum(undone) as undone
       from import_orgs where import_id = i.id group by org_id) o) as orgs`;

const SHOWN = `i.kind = 'bulk' and i.state <> 'receiving' and i.removed_to is null`;

/** The newest so many are counted, which bounds the cost: 10,000 imports take about 10 ms. */
const MOST_COUNTED = 10_000;

const STARTED = `select case when i.dry_run then 'dry_run' else i.state::text end as state from imports i
  where ${SHOWN}
    and ($1::text[] is null or i.id in (select import_id from import_orgs where org_id = any ($1)) and not exists (
      select from import_orgs o where o.import_id = i.id and o.org_id <> all ($1)))
    and ($2::text is null or i.id in (select import_id from import_orgs where org_id = $2))
  order by i.id desc limit ${MOST_COUNTED}`;

const DRAFTS = `select 'draft' as state from import_preparations d join imports i on i.id = d.import_id
  where $2::text is null and i.kind = 'draft' and i.state <> 'discarded' and d.expires_at > clock_timestamp()
    and ($3::text is null or i.created_by = $3 or d.orgs <> '{}' and d.orgs <@ $1::text[])
  limit ${MOST_COUNTED}`;

/** The result without `errors`, `success` and `warnings`; undefined when there is no such import. */
export async function readProgress(pool: Pool, importId: string): Promise<ImportResult | undefined> {
  return (await readWithColumns(pool, importId, { name: 'progress', columns: '', joins: '' }))?.progress;
}

/** Additional columns to read with an import `i`: the columns, with a leading comma, and the joins they need. */
export interface ExtraColumns {
  /** The name of the prepared statement. */
  name: string;
  columns: string;
  joins: string;
}

/** The progress, and the row with the additional columns. */
export async function readWithColumns<Row>(
  pool: Pool,
  importId: string,
  extra: ExtraColumns,
): Promise<{ progress: ImportResult; row: Row } | undefined> {
  if (!/^\d{1,18}$/.test(importId)) return undefined;
  const { name, columns, joins } = extra;
  const text = `select ${COLUMNS}${columns} from imports i ${joins} where ${SHOWN} and i.id = $1`;
  const { rows } = await pool.query<ImportRow & Row>({ name, text, values: [importId] });
  const row = rows[0];
  if (!row) return undefined;
  if (row.overdue) {
    await expireImport(pool, importId);
    return readWithColumns(pool, importId, extra);
  }
  return { progress: toResult(row), row };
}

/** The progress of several imports, in any order; those that do not exist are left out. */
export async function readAllProgress(pool: Pool, importIds: readonly string[]): Promise<ImportResult[]> {
  const text = `select ${COLUMNS} from imports i where ${SHOWN} and i.id = any ($1::bigint[])`;
  return toResults(pool, (await pool.query<ImportRow>({ name: 'all-progress', text, values: [importIds] })).rows);
}

export interface ListQuery {
  /** Only imports whose organizations are all in this list; undefined: all imports. */
  within: string[] | undefined;
  pageSize: number;
  /** Only imports older than this id. */
  before: string | undefined;
  /** One of IMPORT_STATES. */
  state?: string | undefined;
  /** Only imports with users of this organization. */
  orgId?: string | undefined;
  /** Only dry runs, or none. */
  dryRun?: boolean | undefined;
}

/** Newest first. */
export async function listImports(pool: Pool, query: ListQuery): Promise<ImportResult[]> {
  const { rows } = await pool.query<ImportRow>({
    name: 'list-imports',
    text: `select ${COLUMNS} from imports i where ${SHOWN}
     and ($1::text[] is null or coalesce((
       select bool_and(o.org_id = any ($1)) from import_orgs o where o.import_id = i.id), true))
     and ($2::bigint is null or i.id < $2)
     and ($4::import_state is null or i.state = $4)
     and ($5::text is null or exists (select from import_orgs o where o.import_id = i.id and o.org_id = $5))
     and ($6::boolean is null or i.dry_run = $6)
     order by i.id desc limit $3`,
    values: [
      query.within ?? null,
      query.before ?? null,
      query.pageSize,
      query.state?.toLowerCase() ?? null,
      query.orgId ?? null,
      query.dryRun ?? null,
    ],
  });
  return toResults(pool, rows);
}

async function toResults(pool: Pool, rows: ImportRow[]): Promise<ImportResult[]> {
  const results = await Promise.all(rows.map((row) => (row.overdue ? readProgress(pool, row.id) : toResult(row))));
  return results.filter((r) => r !== undefined);
}

function toResult(row: ImportRow): ImportResult {
  const settled = row.succeeded + row.skipped + row.failed + row.undone;
  const rate = row.elapsed_ms > 0 ? (settled / row.elapsed_ms) * 1000 : 0;
  const left = row.total - settled;
  const open = row.mails_due - row.mails_sent - row.mails_failed;
  return {
    importId: row.id,
    state: shownState(row.state),
    dryRun: row.dry_run,
    ...(row.source === null ? {} : { source: row.source }),
    ...(row.files === null ? {} : { files: row.files }),
    ...(row.check_of === null ? {} : { checkOf: row.check_of }),
    timeout: row.timeout,
    ...(row.accepted_at ? { startDate: row.accepted_at.toISOString() } : {}),
    deadline: row.deadline.toISOString(),
    counts: counts(row, row.state),
    mails: {
      // Held mails are not pending: they wait for `_send_mails`. The mails that a dry run counts would be held, too.
      pending: row.mails === 'held' ? 0 : open,
      held: row.mails === 'held' ? open : 0,
      sent: row.mails_sent,
      failed: row.mails_failed,
    },
    usersPerSecond: Math.round(rate * 10) / 10,
    eta: row.state === 'running' && rate > 0 ? new Date(Date.now() + (left / rate) * 1000).toISOString() : null,
    orgs: row.orgs.map((o) => ({ orgId: o.org_id, counts: counts(o, row.state) })),
    details: details({
      sequence: row.sequence,
      createdAt: row.created_at,
      changedAt: row.changed_at,
      resourceOwner: row.resource_owner,
    }),
  };
}

function counts(t: Tallies, state: string): Counts {
  const open = t.total - t.succeeded - t.skipped - t.failed - t.undone;
  const as = openState(state);
  return {
    total: t.total,
    pending: as === 'pending' ? open : 0,
    succeeded: t.succeeded,
    skipped: t.skipped,
    failed: t.failed,
    timedOut: as === 'timed_out' ? open : 0,
    cancelled: as === 'cancelled' ? open : 0,
    undone: t.undone,
  };
}

/** 404 */
export function importNotFound(): ApiError {
  return new ApiError('NOT_FOUND', 'IMPORT-NOT-FOUND', 'The import does not exist.');
}

export interface Counted {
  /** Only imports whose organizations are all in this list, and drafts of the user; undefined: all. */
  of: { userId: string; within: string[] } | undefined;
  /** Only imports with users of this organization; drafts are then not counted, as the list does not show them. */
  orgId: string | undefined;
}

/** How many imports there are in each state, and drafts and dry runs apart, for the filters of the list. */
export async function countStates(db: Db, { of, orgId }: Counted): Promise<StateCounts> {
  const { rows } = await db.query<{ state: string; imports: number }>({
    name: 'count-states',
    text: `select state, count(*)::int as imports from ((${STARTED}) union all (${DRAFTS})) as listed group by state`,
    values: [of?.within ?? null, orgId ?? null, of?.userId ?? null],
  });
  const found = new Map(rows.map(({ state, imports }) => [state.toUpperCase(), imports]));
  return {
    states: Object.fromEntries(IMPORT_STATES.map((state) => [`IMPORT_STATE_${state}`, found.get(state) ?? 0])),
    drafts: found.get('DRAFT') ?? 0,
    dryRuns: found.get('DRY_RUN') ?? 0,
    isCapped:
      rows.filter(({ state }) => state !== 'draft').reduce((sum, { imports }) => sum + imports, 0) === MOST_COUNTED,
  };
}
