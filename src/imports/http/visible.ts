/** Finds the import that a request names, if its caller may see it. */
import type { Request, Response } from 'express';
import { callerOf, may, permissionDenied } from '../../access/caller.ts';
import type { OperationId } from '../../access/permissions.ts';
import type { Pool } from '../../db/pool.ts';
import type { ImportResult } from '../answers.ts';
import { draftResult, stateOf, wrongState } from '../draft/draft.ts';
import { findDraft } from '../draft/visible.ts';
import { importNotFound, readProgress } from '../status/progress.ts';
import { readResult } from '../status/result.ts';
import { readWithMore } from '../status/result-extras.ts';

/**
 * @throws ApiError 403 unless the caller is allowed the operation on every organization of the import. When there is no
 *   such import: 404 for an IAM_OWNER, 403 for all others
 */
export async function visibleImport(
  pool: Pool,
  operation: OperationId,
  req: Request,
  res: Response,
): Promise<ImportResult> {
  const progress = await readProgress(pool, String(req.params.importId));
  if (!progress) await refuseDraft(pool, operation, req, res);
  return requireVisible(operation, res, progress && { progress }).progress;
}

/** @throws ApiError 400 when the import is still a draft that the caller may see */
async function refuseDraft(pool: Pool, operation: OperationId, req: Request, res: Response): Promise<void> {
  const draft = await findDraft(pool, operation, req, res);
  if (draft) throw wrongState(stateOf(draft), DONE[operation] ?? 'used');
}

/** Completes "An import in state … cannot be …". */
const DONE: Partial<Record<OperationId, string>> = {
  cancelImport: 'cancelled; discard it',
  pauseImport: 'paused',
  resumeImport: 'resumed',
  retryImport: 'retried',
  undoImport: 'undone',
  sendImportMails: 'asked for its mails',
  getImportReport: 'reported',
  streamImportEvents: 'followed',
  listImportItems: 'listed',
};

/** Its result, or the draft. @throws ApiError as `visibleImport` */
export async function visibleResult(pool: Pool, operation: OperationId, req: Request, res: Response): Promise<object> {
  const found = await readWithMore(pool, String(req.params.importId));
  const draft = found ? undefined : await findDraft(pool, operation, req, res);
  if (draft) return draftResult(pool, draft, readProgress);
  return readResult(pool, requireVisible(operation, res, found));
}

function requireVisible<T extends { progress: ImportResult }>(
  operation: OperationId,
  res: Response,
  found: T | undefined,
): T {
  const caller = callerOf(res);
  if (!found) throw caller.isIamOwner ? importNotFound() : permissionDenied();
  if (!found.progress.orgs.every((org) => may(caller, operation, org.orgId))) throw permissionDenied();
  return found;
}

/** @throws ApiError 404 */
export async function currentProgress(pool: Pool, importId: string): Promise<ImportResult> {
  const progress = await readProgress(pool, importId);
  if (!progress) throw importNotFound();
  return progress;
}

/** @throws ApiError 404 */
export async function currentResult(pool: Pool, importId: string): Promise<Record<string, unknown>> {
  const found = await readWithMore(pool, importId);
  if (!found) throw importNotFound();
  return readResult(pool, found);
}
