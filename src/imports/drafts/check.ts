/**
 * Requests a check of a draft, which a worker then makes (judge.ts), and starts the import of the draft's entries.
 *
 * Guarantee: a start is one short transaction, as the acceptance of a body is: the same entries become visible, and
 * the timeout begins. Nothing is sent, converted or copied again.
 */
import type { z } from 'zod';
import { type checkBody, parseDuration, type startBody } from '../../contract/import-options.ts';
import type { OperationId } from '../../contract/operations.ts';
import { type Caller, requirePermission } from '../../contract/permissions.ts';
import { requireRoomForImport, requireWithinLimits } from '../../directory/organization-limits.ts';
import { requireActiveOrg } from '../../directory/organizations.ts';
import { rememberSlow } from '../../directory/users/slow-hashes.ts';
import { appendEvent } from '../../platform/db/events.ts';
import { type Db, transaction } from '../../platform/db/pool.ts';
import { ApiError } from '../../platform/errors.ts';
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
import { type Acceptance, activate, type OrgTally } from '../intake/accept.ts';
import { requireAuthors } from '../intake/authority.ts';
import { endChecks } from '../intake/checks.ts';
import { requireRoom, requireUsed } from '../intake/requirements.ts';
import { type ConversionResult, changeDraft, type Draft, lockDraft, type RunSettings } from './draft.ts';

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
    await endChecks(db, importId, { editor: caller.userId, entriesStay: true });
    const settings = JSON.stringify({ ...body, by: caller.userId });
    await changeDraft(db, importId, 'check', { isWork: true, values: { settings, check_id: null, error: null } });
  });
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
    await endChecks(db, importId, { editor: caller.userId, entriesStay: true });
    await db.query('delete from import_orgs where import_id = $1', [importId]);
    await db.query(
      `with over as (
         update import_preparations set run = run + 1, requested_at = null, held_until = null where import_id = $1)
       update imports set kind = 'bulk', state = 'receiving', run_by = $2, files = $3 where id = $1`,
      [importId, caller.userId, namesOf(draft)],
    );
    const batch = await activate(db, {
      importId,
      sequence,
      ...acceptanceOf(result, body),
      source: draft.source,
    });
    // Last, as it locks rights, and the steps before may take long.
    await requireAuthors(db, importId, orgIdsOf(result.orgs), [caller.userId]);
    await requireWithinLimits(db, importId);
    return batch;
  });
  publishBatch(settled);
}

/** The names of its files of users, which are erased; null for users that came in a request. */
function namesOf({ files }: Draft): string[] | null {
  const names = files.filter(({ kind }) => kind === 'users').map(({ name }) => name);
  return names.length > 0 ? names : null;
}

export function acceptanceOf(
  { warnings, orgs, hasDuplicates, signIns }: ConversionResult,
  { timeout, onExisting }: Pick<RunSettings, 'timeout' | 'onExisting'>,
): Omit<Acceptance, 'importId' | 'sequence'> {
  const timeoutMs = parseDuration(timeout) as number;
  const duplicates = { skips: onExisting === 'skip', erases: false };
  return { timeout, timeoutMs, warnings, orgs, hasDuplicates, duplicates, signIns };
}

function brokenRecords(count: number): ApiError {
  const message = `${count} records of the files cannot be read. Correct the files, or leave these out with skipBroken.`;
  return new ApiError('FAILED_PRECONDITION', 'DRAFT-BROKEN', message);
}

export function runOptions(settings: RunSettings, { withoutEmail, passwordSource }: ConversionResult): ImportOptions {
  return {
    dryRun: false,
    onExisting: settings.onExisting,
    holdMails: settings.mails === 'none',
    enterpriseMailCodes: settings.enterpriseMailCodes ?? true,
    withoutEmail,
    webhook: undefined,
    passwordSource,
  };
}

export function orgIdsOf(orgs: readonly OrgTally[]): string[] {
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
