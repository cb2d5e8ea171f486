/**
 * The API for one's own account where no other file has it: the download of what is stored about a person, which an
 * ORG_OWNER may ask for too, and the deletion of a user, which users may ask for themselves if their organization allows
 * it.
 */
import { Router } from 'express';
import { permissionDenied } from '../../contract/permissions.ts';
import { type Asked, serve } from '../../contract/serve.ts';
import { userOperations } from '../../contract/users.ts';
import { changeableUser } from '../../directory/finders.ts';
import { accessForChange, deleteOwn, deleteUser, type Reached } from '../../directory/users/store.ts';
import { changedAnswer } from '../../platform/db/events.ts';
import { transaction } from '../../platform/db/pool.ts';
import { sendText } from '../../platform/http/answers.ts';
import { openSlots } from '../../platform/http/slots.ts';
import { type LoginDeps, originOfCall } from '../login/origin.ts';
import { requireSignInProof } from '../login/owner-proof.ts';
import { storedDataOf } from './stored-data.ts';

const LIMIT = { perCaller: 2, perOrg: 4, total: 8, id: 'EVENTS-SLOTS', what: 'downloads of data' } as const;

/** Routes of one's own account. */
export function accountRoutes(deps: LoginDeps): Router {
  const router = Router();
  const user = changeableUser(deps.pool);
  serve(
    router,
    userOperations.getUserData,
    user,
    async ({ caller, target, req, res }) => {
      await requireSignInProof(deps, caller, target.user, originOfCall(req, res), undefined);
      res.set('Content-Type', 'application/json; charset=utf-8');
      res.set('Content-Disposition', 'attachment; filename="user-data.json"');
      await sendText(res, storedDataOf(deps.pool, target.user));
      // It is sent already.
      return undefined as never;
    },
    openSlots(LIMIT),
  );
  serve(router, userOperations.deleteUser, user, (asked) => remove(deps, asked));
  return router;
}

interface Deleting extends Asked {
  target: Reached;
  body: { currentPassword?: string | undefined };
  countTry(): Promise<void>;
}

async function remove(deps: LoginDeps, { caller, operation, target, body, countTry, req, res }: Deleting) {
  const { id, kind } = target.user;
  // Only people have an account of their own.
  if (target.relation === 'self' && kind !== 'human') throw permissionDenied();
  if (body.currentPassword !== undefined) await countTry();
  if (target.relation === 'self') {
    await requireSignInProof(deps, caller, target.user, originOfCall(req, res), body.currentPassword);
  }
  return transaction(deps.pool, async (db) => {
    const { user, relation } = await accessForChange(db, caller, operation, id, 'for update');
    const event = relation === 'self' ? await deleteOwn(db, user) : await deleteUser(db, user, caller.userId);
    return changedAnswer(event, user.orgId);
  });
}
