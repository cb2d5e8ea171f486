/** The import that a request names, as far as its caller may see it. */
import type { Request, Response } from 'express';
import type { Pool } from '../db/pool.ts';
import { ApiError } from '../errors.ts';
import { callerOf, may, permissionDenied } from '../identity/caller.ts';
import type { OperationId } from '../identity/permissions.ts';
import { type ImportResult, readProgress } from './progress.ts';

/** @throws ApiError 403 unless the caller may on every organization of the import; 404 for an IAM_OWNER when it is missing */
export async function visibleImport(
  pool: Pool,
  operation: OperationId,
  req: Request,
  res: Response,
): Promise<ImportResult> {
  const caller = callerOf(res);
  const progress = await readProgress(pool, String(req.params.importId));
  if (!progress) throw caller.isIamOwner ? notFound() : permissionDenied();
  if (!progress.orgs.every((org) => may(caller, operation, org.orgId))) throw permissionDenied();
  return progress;
}

/** @throws ApiError 404 */
export async function currentProgress(pool: Pool, importId: string): Promise<ImportResult> {
  const progress = await readProgress(pool, importId);
  if (!progress) throw notFound();
  return progress;
}

function notFound(): ApiError {
  return new ApiError('NOT_FOUND', 'IMPORT-NOT-FOUND', 'The import does not exist.');
}
