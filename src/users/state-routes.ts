/** Deactivate, reactivate, lock, unlock, delete: whoever manages users, and nobody for users who may do more. */
import { type Request, type Response, Router } from 'express';
import { callerOf } from '../access/caller.ts';
import { pathId } from '../access/path-id.ts';
import type { OperationId } from '../access/permissions.ts';
import { type AppendedEvent, details } from '../db/events.ts';
import { type Db, type Pool, transaction } from '../db/pool.ts';
import { reachForChange } from './reach.ts';
import { changeState, type StateChange, TRANSITIONS } from './states.ts';
import { deleteUser, type User } from './store.ts';

export function stateRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  for (const change of Object.keys(TRANSITIONS) as StateChange[]) {
    router.post(`/v2beta/users/:userId/${change}`, (req, res) =>
      act(pool, TRANSITIONS[change].operation, req, res, (db, user, editor) => changeState(db, user, change, editor)),
    );
  }
  router.delete('/v2beta/users/:userId', (req, res) => act(pool, 'deleteUser', req, res, deleteUser));
  return router;
}

type Action = (db: Db, user: User, editor: string) => Promise<AppendedEvent>;

/** Does it to the user of the path, whose row is locked, and answers with the details of that. */
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
