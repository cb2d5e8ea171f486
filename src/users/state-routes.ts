/** Routes to deactivate, reactivate, lock, unlock and delete users; never users with more rights than the caller. */
import { type Request, type Response, Router } from 'express';
import { callerOf } from '../access/caller.ts';
import { pathId } from '../access/path-id.ts';
import type { OperationId } from '../access/permissions.ts';
import { type AppendedEvent, details } from '../db/events.ts';
import { type Db, type Pool, transaction } from '../db/pool.ts';
import { reachForChange } from './reach.ts';
import { changeState, type HasFailedLogins, type StateChange, TRANSITIONS } from './states.ts';
import { deleteUser, type User } from './store.ts';

export function stateRoutes({ pool }: { pool: Pool }, hasFailedLogins: HasFailedLogins): Router {
  const router = Router();
  for (const change of Object.keys(TRANSITIONS) as StateChange[]) {
    router.post(`/v2beta/users/:userId/${change}`, (req, res) =>
      act(pool, TRANSITIONS[change].operation, req, res, (db, user, editor) =>
        changeState(db, user, change, editor, hasFailedLogins),
      ),
    );
  }
  router.delete('/v2beta/users/:userId', (req, res) => act(pool, 'deleteUser', req, res, deleteUser));
  return router;
}

type Action = (db: Db, user: User, editor: string) => Promise<AppendedEvent>;

/** Runs the action on the user of the path, with their row locked, and responds with its details. */
async function act(pool: Pool, operation: OperationId, req: Request, res: Response, action: Action): Promise<void> {
  const caller = callerOf(res);
  const userId = pathId(req, 'userId');
  const answer = await transaction(pool, async (db) => {
    const { user } = await reachForChange(db, caller, operation, userId, 'for update');
    const { sequence, createdAt } = await action(db, user, caller.userId);
    return details({ sequence, changedAt: createdAt, resourceOwner: user.orgId });
  });
  res.json({ details: answer });
}
