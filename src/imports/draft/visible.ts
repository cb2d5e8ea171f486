/** Finds the draft that a request names, if its caller may see it. */
import type { Request, Response } from 'express';
import { type Caller, callerOf, may, orgsFor, permissionDenied } from '../../access/caller.ts';
import type { OperationId } from '../../access/permissions.ts';
import type { Pool } from '../../db/pool.ts';
import { readProgress } from '../status/progress.ts';
import { type Draft, draftNotFound, readDraft, wrongState } from './draft.ts';

/**
 * Whether the caller may do the operation: its creator, as long as they may import at all, and everybody who may do it
 * on all organizations of its users, if these are known.
 */
export function mayOnDraft(caller: Caller, operation: OperationId, draft: Draft): boolean {
  if (caller.isIamOwner) return true;
  if (draft.createdBy === caller.userId) return [...caller.orgRoles.keys()].some((id) => may(caller, operation, id));
  return draft.orgs.length > 0 && draft.orgs.every((orgId) => may(caller, operation, orgId));
}

/** Undefined when there is no such draft. @throws ApiError 403 */
export async function findDraft(
  pool: Pool,
  operation: OperationId,
  req: Request,
  res: Response,
): Promise<Draft | undefined> {
  const draft = await readDraft(pool, String(req.params.importId));
  if (draft && !mayOnDraft(callerOf(res), operation, draft)) throw permissionDenied();
  return draft;
}

/**
 * @param done completes "An import in state … cannot be …", for an import that has started
 * @param read reads the body of a caller who may, before the state is told
 * @throws ApiError 400 when it has started; 403; 404 for an IAM_OWNER when there is none; those of `read`
 */
export async function visibleDraft<T = undefined>(
  pool: Pool,
  operation: OperationId,
  done: string,
  req: Request,
  res: Response,
  read?: () => Promise<T>,
): Promise<{ draft: Draft; body: T }> {
  const caller = callerOf(res);
  orgsFor(caller, operation);
  const draft = await findDraft(pool, operation, req, res);
  const started = draft ? undefined : await readProgress(pool, String(req.params.importId));
  const isVisible = started?.orgs.every(({ orgId }) => may(caller, operation, orgId)) === true;
  if (!draft && !isVisible) throw caller.isIamOwner ? draftNotFound() : permissionDenied();
  const body = (await read?.()) as T;
  if (started) throw wrongState(started.state, done);
  return { draft: draft as Draft, body };
}
