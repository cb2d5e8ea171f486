/** Routes for the personal access tokens of machine users. */
import { type Request, type Response, Router } from 'express';
import { callerOf } from '../../access/caller.ts';
import { removeCredential } from '../../access/last-credential.ts';
import { pathId } from '../../access/path-id.ts';
import type { OperationId } from '../../access/permissions.ts';
import { randomToken } from '../../access/random-token.ts';
import { details } from '../../db/events.ts';
import { type Pool, transaction } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import { readJson } from '../../http/json-body.ts';
import { searchResult } from '../../http/paging.ts';
import { parseBody } from '../../http/parse-body.ts';
import type { User } from '../../users/store.ts';
import { type MachineCall, requireMachine } from '../machines/require-machine.ts';
import { newPat } from './schema.ts';
import { addPat, listPats, type Pat, removePat } from './store.ts';

export function patRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.post('/management/v1/users/:userId/pats', (req, res) => add(pool, req, res));
  router.get('/management/v1/users/:userId/pats', async (req, res) => {
    const user = await requireMachine(pool, callOf(req, res, 'listPats'));
    const pats = await listPats(pool, user.id);
    res.json(
      searchResult(
        pats.length,
        pats.map((pat) => patView(user, pat)),
      ),
    );
  });
  router.delete('/management/v1/users/:userId/pats/:tokenId', async (req, res) => {
    const call = callOf(req, res, 'removePat');
    const tokenId = pathId(req, 'tokenId');
    const { user, event } = await transaction(pool, async (db) => {
      const user = await requireMachine(db, call, 'for update');
      const remove = () => removePat(db, user, tokenId, call.caller.userId);
      return { user, event: await removeCredential(db, user.id, call.caller, remove) };
    });
    if (!event) throw new ApiError('NOT_FOUND', 'PAT-NOT-FOUND', 'The user has no such token.');
    res.json({
      details: details({ sequence: event.sequence, changedAt: event.createdAt, resourceOwner: user.orgId }),
    });
  });
  return router;
}

async function add(pool: Pool, req: Request, res: Response): Promise<void> {
  const call = callOf(req, res, 'addPat');
  await requireMachine(pool, call);
  const { expirationDate } = parseBody(newPat, await readJson(req, res), 'PAT-INVALID');
  const token = randomToken();
  const { user, pat } = await transaction(pool, async (db) => {
    const user = await requireMachine(db, call, 'for update');
    return { user, pat: await addPat(db, user, { token, expiresAt: expirationDate }, call.caller.userId) };
  });
  res.json({ tokenId: pat.id, token, details: patDetails(user, pat) });
}

function callOf(req: Request, res: Response, operation: OperationId): MachineCall {
  return {
    caller: callerOf(res),
    operation,
    userId: pathId(req, 'userId'),
    notAMachine: { id: 'PAT-NOT-A-MACHINE', message: 'Only a machine user has personal access tokens.' },
  };
}

function patView(user: User, pat: Pat) {
  const expirationDate = pat.expiresAt ? { expirationDate: pat.expiresAt.toISOString() } : {};
  return { tokenId: pat.id, details: patDetails(user, pat), ...expirationDate };
}

function patDetails(user: User, pat: Pat) {
  return details({ ...pat, changedAt: pat.createdAt, resourceOwner: user.orgId });
}
