/**
 * Requests a check of a draft, and starts the import of its entries.
 *
 * Guarantee: a start is one short transaction, as the acceptance of a body is: the same entries become visible, and the
 * timeout begins. Nothing is sent or converted again.
 * On crash before the commit: the draft is as it was.
 */
import type { z } from 'zod';
import type { Caller } from '../../../access/caller.ts';
import { appendEvent } from '../../../db/events.ts';
import { transaction } from '../../../db/pool.ts';
import { ApiError } from '../../../errors.ts';
import { rememberSlow } from '../../../users/slow-hashes.ts';
import type { ImportDeps } from '../../deps.ts';
import { parseDuration } from '../../duration.ts';
import { publishBatch } from '../../ended.ts';
import { activate } from '../../intake/accept.ts';
import { requireRoom } from '../../intake/backlog.ts';
import { requireUsed } from '../../intake/body-sources.ts';
import { auditOf, type ImportOptions, keepOptions, unusual } from '../../options.ts';
import { type DraftState, lockDraft, requireDraftState } from '../draft.ts';
import { type checkBody, importable, requireGoodTimeout, runOptions, type startBody } from './run-options.ts';

const CONVERTED: readonly DraftState[] = ['draft', 'checked'];

/** A worker then judges the entries. @throws ApiError 400, 403, 404, 429 */
export async function requestCheck(
  deps: ImportDeps,
  caller: Caller,
  importId: string,
  body: z.output<typeof checkBody>,
): Promise<void> {
  requireGoodTimeout(body.timeout, deps.config.MAX_IMPORT_TIMEOUT);
  await requireRoom(deps, caller);
  await transaction(deps.pool, async (db) => {
    const draft = await lockDraft(db, importId);
    requireDraftState(draft, CONVERTED, 'checked');
    await importable(db, caller, 'checkImport', draft);
    await db.query(
      `update import_drafts set state = 'checking', settings = $2, check_id = null, error = null, attempts = 0,
         run = run + 1, requested_at = clock_timestamp(), changed_at = clock_timestamp() where import_id = $1`,
      [importId, JSON.stringify({ ...body, by: caller.userId })],
    );
  });
}

/** The import runs when this returns. @throws ApiError 400, 403, 404, 429 */
export async function startDraft(
  deps: ImportDeps,
  caller: Caller,
  importId: string,
  { skipBroken, webhook, ...body }: Omit<z.output<typeof startBody>, 'webhook'> & Pick<ImportOptions, 'webhook'>,
): Promise<void> {
  requireGoodTimeout(body.timeout, deps.config.MAX_IMPORT_TIMEOUT);
  await requireRoom(deps, caller);
  const settled = await transaction(deps.pool, async (db) => {
    const draft = await lockDraft(db, importId);
    requireDraftState(draft, CONVERTED, 'started');
    const result = await importable(db, caller, 'startImport', draft);
    if (result.broken > 0 && !skipBroken) throw brokenRecords(result.broken);
    // Before the users exist, so that their first failed login does not differ from that of an unknown user.
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
    await db.query(`update import_drafts set state = 'started', changed_at = clock_timestamp() where import_id = $1`, [
      importId,
    ]);
    return activate(db, {
      ...{ importId, sequence, timeout: body.timeout, warnings: result.warnings, orgs: result.orgs },
      timeoutMs: parseDuration(body.timeout) as number,
      hasDuplicates: result.hasDuplicates,
      duplicates: { skips: body.onExisting === 'skip', erases: false },
      source: draft.source,
    });
  });
  publishBatch(settled);
}

function brokenRecords(count: number): ApiError {
  const message = `${count} records of the files cannot be read. Correct the files, or leave these out with skipBroken.`;
  return new ApiError('FAILED_PRECONDITION', 'DRAFT-BROKEN', message);
}
