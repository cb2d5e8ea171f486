/** Routes for a machine user's client secret (RFC 6749 section 4.4); the client id is the user id. */
import { type Request, type Response, Router } from 'express';
import { callerOf } from '../../access/caller.ts';
import { removeCredential } from '../../access/last-credential.ts';
import { pathId } from '../../access/path-id.ts';
import type { OperationId } from '../../access/permissions.ts';
import { randomToken } from '../../access/random-token.ts';
import { details } from '../../db/events.ts';
import { type Pool, transaction } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import { type MachineCall, requireMachine } from './require-machine.ts';
import { removeSecret, setSecret } from './secret-store.ts';

export function secretRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.put('/management/v1/users/:userId/secret', async (req, res) => {
    const call = callOf(req, res, 'setSecret');
    const clientSecret = randomToken();
    const { user, event } = await transaction(pool, async (db) => {
      const user = await requireMachine(db, call, 'for update');
      return { user, event: await setSecret(db, user, clientSecret, call.caller.userId) };
    });
    res.json({
      clientId: user.id,
      clientSecret,
      details: details({ sequence: event.sequence, changedAt: event.createdAt, resourceOwner: user.orgId }),
    });
  });
  router.delete('/management/v1/users/:userId/secret', async (req, res) => {
    const call = callOf(req, res, 'removeSecret');
    const { user, event } = await transaction(pool, async (db) => {
      const user = await requireMachine(db, call, 'for update');
      const remove = () => removeSecret(db, user, call.caller.userId);
      return { user, event: await removeCredential(db, user.id, call.caller, remove) };
    });
    if (!event) throw new ApiError('NOT_FOUND', 'SECRET-NOT-FOUND', 'The user has no secret.');
    res.json({
      details: details({ sequence: event.sequence, changedAt: event.createdAt, resourceOwner: user.orgId }),
    });
  });
  return router;
}

function callOf(req: Request, res: Response, operation: OperationId): MachineCall {
  return {
    caller: callerOf(res),
    operation,
    userId: pathId(req, 'userId'),
    notAMachine: { id: 'SECRET-NOT-A-MACHINE', message: 'Only a machine user has a secret.' },
  };
}
