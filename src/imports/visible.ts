/**
 * Finds the import that a request names, if its caller may see it; and how many requests of imports that may take long
 * one process serves at the same time.
 */
import type { ImportResult } from '../contract/import-types.ts';
import type { OperationId } from '../contract/operations.ts';
import { may, permissionDenied } from '../contract/permissions.ts';
import type { Asked, Finder } from '../contract/serve.ts';
import type { Pool } from '../platform/db/pool.ts';
import { openSlots } from '../platform/http/slots.ts';
import { draftResult, findDraft, stateOf } from './drafts/draft.ts';
import { ACTIONS, wrongState } from './entries/states.ts';
import { importNotFound, readProgress } from './status/progress.ts';
import { readResult, readWithMore, type ShownResult } from './status/result.ts';

/** Completes "An import in state … cannot be …", for a draft. */
const DONE: Partial<Record<OperationId, string>> = {
  cancelImport: 'cancelled; discard it',
  pauseImport: ACTIONS.pause.done,
  resumeImport: ACTIONS.resume.done,
  retryImport: ACTIONS.retry.done,
  undoImport: ACTIONS.undo.done,
  sendImportMails: 'asked for its mails',
  getImportReport: 'reported',
  streamImportEvents: 'followed',
  listImportItems: 'listed',
};

/** The import of the path, or the draft that it still is, with what the caller may see of it. */
export function visibleImport(db: Pool): Finder<'import', ImportResult> {
  return {
    of: 'import',
    async find({ caller, operation, req }) {
      const importId = String(req.params.importId);
      const progress = await readProgress(db, importId);
      const draft = progress ? undefined : await findDraft(db, caller, operation, importId);
      if (draft) throw wrongState(stateOf(draft), DONE[operation] ?? 'used');
      return requireVisible({ caller, operation }, progress && { progress }).progress;
    },
  };
}

/**
 * The result of the import, or the draft.
 * @throws ApiError 403 unless the caller is allowed the operation on every organization of the import. When there is no
 *   such import: 404 for an IAM_OWNER, 403 for all others
 */
export async function visibleResult(
  db: Pool,
  { caller, operation, req }: Pick<Asked, 'caller' | 'operation' | 'req'>,
): Promise<ShownResult> {
  const importId = String(req.params.importId);
  const found = await readWithMore(db, importId);
  const draft = found ? undefined : await findDraft(db, caller, operation, importId);
  if (draft) return draftResult(db, draft);
  return readResult(db, requireVisible({ caller, operation }, found));
}

function requireVisible<T extends { progress: ImportResult }>(
  { caller, operation }: Pick<Asked, 'caller' | 'operation'>,
  found: T | undefined,
): T {
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
export async function currentResult(pool: Pool, importId: string): Promise<ShownResult> {
  const found = await readWithMore(pool, importId);
  if (!found) throw importNotFound();
  return readResult(pool, found);
}

/** Uploads. Each takes up to some megabytes of memory. */
export const uploads = openSlots({ perCaller: 16, perOrg: 32, total: 64, id: 'IMPORT-UPLOADS', what: 'uploads' });

/** Requests that wait for an end. Each reads its import from the database twice a second. */
export const waits = openSlots({
  perCaller: 64,
  perOrg: 128,
  total: 512,
  id: 'IMPORT-WAITS',
  what: 'requests that wait for the end of an import',
});

/** Imports of one user, each of which waits until the user is written. */
export const singles = openSlots({
  perCaller: 1000,
  perOrg: 1000,
  total: 4000,
  id: 'IMPORT-SINGLES',
  what: 'imports of one user',
});

/** Event streams. Each takes some tens of kilobytes of memory. */
export const streams = openSlots({
  perCaller: 2500,
  perOrg: 2500,
  total: 10_000,
  id: 'IMPORT-STREAMS',
  what: 'event streams',
});

/** Corrections of a cause. Each takes some seconds at most. */
export const fixes = openSlots({ perCaller: 2, perOrg: 4, total: 8, id: 'IMPORT-FIXES', what: 'corrections' });

/** Previews of an undo, or of mails to who has not signed in. Each reads all users of an import, which takes seconds for a million. */
export const previews = openSlots({
  perCaller: 2,
  perOrg: 4,
  total: 8,
  id: 'IMPORT-PREVIEWS',
  what: 'previews',
});
