/**
 * Checks a draft: copies its entries inside PostgreSQL to a dry run of their own, which then runs as every dry run does.
 * The draft keeps its entries, for further checks and for the start.
 *
 * On crash: the copy is an import in state `receiving`, which the rescuer removes; another worker begins again.
 */
import { appendEvent } from '../../../db/events.ts';
import { type Pool, transaction } from '../../../db/pool.ts';
import { parseDuration } from '../../duration.ts';
import { publishBatch } from '../../ended.ts';
import { activate, createReceiving, touchReceiving } from '../../intake/accept.ts';
import { ITEM_COLUMNS } from '../../items.ts';
import { auditOf, keepOptions } from '../../options.ts';
import type { HashCount } from '../../validate/hash-counts.ts';
import type { Run } from '../convert/convert.ts';
import { endJob, type Job } from '../convert/job.ts';
import type { ConversionResult, Draft, RunSettings } from '../draft.ts';
import { runOptions } from './run-options.ts';

const BATCH = 20_000;
const TOUCH_MS = 10_000;
/** A dry run keeps no data of an invalid entry. */
const COPIED = ITEM_COLUMNS.map((column) => (column === 'entry_sealed' ? 'null' : column));

/** Starts the dry run. Returns its id. */
export async function startCheck(pool: Pool, job: Job, draft: Draft, run: Run): Promise<string> {
  const result = draft.result as ConversionResult;
  const settings = draft.settings as RunSettings;
  const caller = { userId: settings.by, orgId: draft.resourceOwner };
  const checkId = await createReceiving(pool, caller, draft.source);
  await copyEntries(pool, { from: draft.importId, to: checkId, total: result.total }, run);
  const options = { ...runOptions(settings, result), dryRun: true };
  const settled = await transaction(pool, async (db) => {
    const { sequence } = await appendEvent(db, {
      aggregateType: 'import',
      aggregateId: checkId,
      resourceOwner: draft.resourceOwner,
      type: 'import.accepted',
      editor: settings.by,
      payload: { total: result.total, ...auditOf(options), draft: draft.importId },
    });
    await keepOptions(db, checkId, options, result.hashes as HashCount[]);
    const batch = await activate(db, {
      ...{ importId: checkId, sequence, timeout: settings.timeout, warnings: result.warnings, orgs: result.orgs },
      timeoutMs: parseDuration(settings.timeout) as number,
      hasDuplicates: result.hasDuplicates,
      duplicates: { skips: settings.onExisting === 'skip', erases: true },
    });
    if (!(await endJob(db, job, { check_id: checkId }))) throw new Error('another worker checks the draft');
    return batch;
  });
  publishBatch(settled);
  return checkId;
}

async function copyEntries(
  pool: Pool,
  { from, to, total }: { from: string; to: string; total: number },
  run: Run,
): Promise<void> {
  let touched = Date.now();
  for (let ordinal = 0; ordinal < total; ordinal += BATCH) {
    run.check();
    await pool.query(
      `insert into import_items (import_id, ordinal, org_index, ${ITEM_COLUMNS.join(', ')})
       select $2, ordinal, org_index, ${COPIED.join(', ')} from import_items
       where import_id = $1 and ordinal >= $3 and ordinal < $4 order by ordinal`,
      [from, to, ordinal, ordinal + BATCH],
    );
    run.progress.users = Math.min(total, ordinal + BATCH);
    if (Date.now() - touched < TOUCH_MS) continue;
    await touchReceiving(pool, to);
    touched = Date.now();
  }
}
