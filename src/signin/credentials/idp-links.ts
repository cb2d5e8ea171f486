/**
 * Routes that add and remove links of users to their accounts at providers.
 *
 * Guarantee: nobody links an account to themselves by naming it, unless they manage users: a person shows at the
 * provider that the account is theirs. Nobody changes the links of a user with more rights than their own. People prove
 * that the account here is theirs (login/owner-proof.ts), and keep a way in.
 */
import { Router } from 'express';
import { idpLinkOperations } from '../../contract/idp-links.ts';
import { type Asked, serve } from '../../contract/serve.ts';
import { changeableUser } from '../../directory/finders.ts';
import { addLink, removeLink } from '../../directory/idp-links.ts';
import { accessForChange, type Reached, type User } from '../../directory/users/store.ts';
import type { WaysInConfig } from '../../directory/ways-in.ts';
import { type AppendedEvent, changedAnswer } from '../../platform/db/events.ts';
import { type Db, transaction } from '../../platform/db/pool.ts';
import { type LoginDeps, originOfCall } from '../login/origin.ts';
import { requireOwnerProof } from '../login/owner-proof.ts';
import { requireHuman } from './change.ts';

export type LinkRouteDeps = LoginDeps & { config: WaysInConfig };

/** Routes of links; `readRoutes` of the users lists them. */
export function linkRoutes(deps: LinkRouteDeps): Router {
  const router = Router();
  const user = changeableUser(deps.pool);
  serve(router, idpLinkOperations.addUserLink, user, (asked) =>
    changed(deps, asked, (db, user, editor) => {
      requireHuman(user, 'USER-NOT-HUMAN');
      return addLink(db, user, asked.body.idpLink, editor);
    }),
  );
  serve(router, idpLinkOperations.removeUserLink, user, ({ params: { idpId, linkedUserId }, ...asked }) =>
    changed(deps, asked, (db, user, editor) =>
      removeLink(db, user, { idpId, userId: linkedUserId }, editor, deps.config),
    ),
  );
  return router;
}

interface Changing extends Asked {
  target: Reached;
  body: { currentPassword?: string | undefined; mailedCode?: string | undefined };
  countTry(): Promise<void>;
}

/** Runs a change of the user with their row locked, if the caller still may. @throws ApiError as `requireOwnerProof` */
async function changed(
  deps: LoginDeps,
  { caller, operation, target, body, countTry, req, res }: Changing,
  change: (db: Db, user: User, editor: string) => Promise<AppendedEvent>,
) {
  if (body.currentPassword !== undefined) await countTry();
  await requireOwnerProof(deps, caller, target.user, originOfCall(req, res), body.currentPassword, body.mailedCode);
  return transaction(deps.pool, async (db) => {
    const { user } = await accessForChange(db, caller, operation, target.user.id, 'for update');
    return changedAnswer(await change(db, user, caller.userId), user.orgId);
  });
}
