/**
 * Requests a check of a draft, makes it, and starts the import of the draft's entries.
 *
 * A check copies the entries inside PostgreSQL to a dry run of their own, which then runs as every dry run does. The
 * draft keeps its entries, for further checks and for the start.
 *
 * Guarantee: a start is one short transaction, as the acceptance of a body is: the same entries become visible, and
 * the timeout begins. Nothing is sent or converted again. On crash in a check: the copy is an import in state
 * `receiving`, which the rescuer removes; another worker begins again.
 */
import type { z } from 'zod';
import { type checkBody, parseDuration, type startBody } from '../../contract/import-options.ts';
import type { OperationId } from '../../contract/operations.ts';
import { type Caller, requirePermission } from '../../contract/permissions.ts';
import { requireRoomForImport, requireWithinLimits } from '../../directory/organization-limits.ts';
import { requireActiveOrg } from '../../directory/organizations.ts';
import { rememberSlow } from '../../directory/users/slow-hashes.ts';
import { appendEvent } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { ApiError } from '../../platform/errors.ts';
import { ITEM_COLUMNS } from '../entries/item.ts';
import type { HashCount } from '../entries/notes.ts';
import {
  auditOf,
  type ImportDeps,
  type ImportOptions,
  keepOptions,
  requireTimeout,
  unusual,
} from '../entries/options.ts';
import { publishBatch } from '../entries/outcome.ts';
import { requireState } from '../entries/states.ts';
import { type Acceptance, activate, createReceiving, type OrgTally, touchReceiving } from '../intake/accept.ts';
import { copyAuthors, requireAuthors } from '../intake/authority.ts';
import { requireRoom, requireUsed } from '../intake/requirements.ts';
import type { Run } from './convert.ts';
import { endJob, type Job } from './convert-lease.ts';
import { type ConversionResult, type Draft, lockDraft, type RunSettings } from './draft.ts';

const BATCH = 20_000;
const TOUCH_MS = 10_000;
/** A dry run keeps no data of an invalid entry. */
const COPIED = ITEM_COLUMNS.map((column) => (column === 'entry_sealed' ? 'null' : column));

/** Requests a check, for which a worker then judges the entries. @throws ApiError 400, 403, 404, 429 */
export async function requestCheck(
  deps: ImportDeps,
  caller: Caller,
  importId: string,
  body: z.output<typeof checkBody>,
): Promise<void> {
  requireTimeout(body.timeout, deps.config.MAX_IMPORT_TIMEOUT);
  await requireRoom(deps, caller);
  await transaction(deps.pool, async (db) => {
    const draft = await lockDraft(db, importId);
    requireState(draft, 'check');
    const { orgs } = await importable(db, caller, 'checkImport', draft);
    await requireAuthors(db, importId, orgIdsOf(orgs), [caller.userId]);
    for (const orgId of orgIdsOf(orgs)) await requireRoomForImport(db, orgId);
    await db.query(
      `update import_drafts set state = 'checking', settings = $2, check_id = null, error = null, attempts = 0,
         run = run + 1, requested_at = clock_timestamp(), changed_at = clock_timestamp() where import_id = $1`,
      [importId, JSON.stringify({ ...body, by: caller.userId })],
    );
  });
}

/** Makes a requested check: starts its dry run, whose id it returns. */
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
    await copyAuthors(db, draft.importId, checkId);
    await requireAuthors(db, checkId, orgIdsOf(result.orgs));
    const batch = await activate(db, { importId: checkId, sequence, ...acceptanceOf(result, settings, true) });
    await requireWithinLimits(db, checkId);
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
      `insert into import_items (import_id, ordinal, org_index, changed_by, ${ITEM_COLUMNS.join(', ')})
       select $2, ordinal, org_index, changed_by, ${COPIED.join(', ')} from import_items
       where import_id = $1 and ordinal >= $3 and ordinal < $4 order by ordinal`,
      [from, to, ordinal, ordinal + BATCH],
    );
    run.progress.users = Math.min(total, ordinal + BATCH);
    if (Date.now() - touched < TOUCH_MS) continue;
    await touchReceiving(pool, to);
    touched = Date.now();
  }
}

/** Starts the import, which runs when this returns. @throws ApiError 400, 403, 404, 429 */
export async function startDraft(
  deps: ImportDeps,
  caller: Caller,
  importId: string,
  { skipBroken, webhook, ...body }: Omit<z.output<typeof startBody>, 'webhook'> & Pick<ImportOptions, 'webhook'>,
): Promise<void> {
  requireTimeout(body.timeout, deps.config.MAX_IMPORT_TIMEOUT);
  await requireRoom(deps, caller);
  const settled = await transaction(deps.pool, async (db) => {
    const draft = await lockDraft(db, importId);
    requireState(draft, 'start');
    const result = await importable(db, caller, 'startImport', draft);
    if (result.broken > 0 && !skipBroken) throw brokenRecords(result.broken);
    // Before the users exist, so that their first failed login takes as long as a login of an unknown user.
    await rememberSlow(deps.pool, result.slowestMs);
    await requireUsed(db, result.sources ?? [], (org) => result.orgs[org]?.orgId ?? '');
    const options = unusual({ ...runOptions({ ...body, by: caller.userId }, result), webhook });
    const { sequence } = await appendEvent(db, {
      aggregateType: 'import',
      aggregateId: importId,
      resourceOwner: draft.resourceOwner,
      type: 'import.accepted',
      editor: caller.userId,
      payload: { total: result.total, ...(options && auditOf(options)), ...(draft.pepper && { pepper: draft.pepper }) },
    });
    if (options) await keepOptions(db, importId, options, []);
    await db.query('delete from import_orgs where import_id = $1', [importId]);
    await db.query(
      `with draft as (update import_drafts set state = 'started', changed_at = clock_timestamp() where import_id = $1)
       update imports set run_by = $2 where id = $1`,
      [importId, caller.userId],
    );
    const batch = await activate(db, {
      importId,
      sequence,
      ...acceptanceOf(result, body, false),
      source: draft.source,
    });
    // Last, as it locks rights, and the steps before may take long.
    await requireAuthors(db, importId, orgIdsOf(result.orgs), [caller.userId]);
    await requireWithinLimits(db, importId);
    return batch;
  });
  publishBatch(settled);
}

/** @param erases the data of failed items is erased too, as in a dry run */
function acceptanceOf(
  { warnings, orgs, hasDuplicates }: ConversionResult,
  { timeout, onExisting }: Pick<RunSettings, 'timeout' | 'onExisting'>,
  erases: boolean,
): Omit<Acceptance, 'importId' | 'sequence'> {
  const timeoutMs = parseDuration(timeout) as number;
  const duplicates = { skips: onExisting === 'skip', erases };
  return { timeout, timeoutMs, warnings, orgs, hasDuplicates, duplicates };
}

function brokenRecords(count: number): ApiError {
  const message = `${count} records of the files cannot be read. Correct the files, or leave these out with skipBroken.`;
  return new ApiError('FAILED_PRECONDITION', 'DRAFT-BROKEN', message);
}

function runOptions(settings: RunSettings, { withoutEmail, passwordSource }: ConversionResult): ImportOptions {
  return {
    dryRun: false,
    onExisting: settings.onExisting,
    holdMails: settings.mails === 'none',
    withoutEmail,
    webhook: undefined,
    passwordSource,
  };
}

function orgIdsOf(orgs: readonly OrgTally[]): string[] {
  return orgs.map(({ orgId }) => orgId).filter((orgId) => orgId !== '');
}

/**
 * The result of the conversion, whose users may all be imported by the caller.
 * @throws ApiError 400 when users name no organization; 403; 404 when an organization does not exist
 */
async function importable(db: Db, caller: Caller, operation: OperationId, draft: Draft): Promise<ConversionResult> {
  const result = draft.result as ConversionResult;
  const orgIds = orgIdsOf(result.orgs);
  for (const orgId of orgIds) requirePermission(caller, operation, orgId);
  const unnamed = result.orgs.find(({ orgId }) => orgId === '');
  if (unnamed) {
    const message = `${unnamed.total} users name no organization. Convert the files again with orgId.`;
    throw new ApiError('FAILED_PRECONDITION', 'DRAFT-ORG', message);
  }
  for (const orgId of orgIds) await requireActiveOrg(db, orgId);
  return result;
}
