/** Route to create machine users. */
import { type Request, type Response, Router } from 'express';
import { callerOf, requirePermission, selectedOrg } from '../access/caller.ts';
import { details } from '../db/events.ts';
import { type Pool, transaction } from '../db/pool.ts';
import { readJson } from '../http/json-body.ts';
import { parseBody } from '../http/parse-body.ts';
import { newId } from '../ids.ts';
import { requireOrg } from '../orgs/store.ts';
import { newMachine } from '../users/schema.ts';
import { insertUser } from '../users/store.ts';
import { ACCESS_TOKEN_TYPES } from '../users/view.ts';

export function machineRoutes({ pool }: { pool: Pool }): Router {
  return Router().post('/management/v1/users/machine', (req, res) => addMachine(pool, req, res));
}

async function addMachine(pool: Pool, req: Request, res: Response): Promise<void> {
  const caller = callerOf(res);
  const orgId = selectedOrg(req, caller);
  requirePermission(caller, 'createMachineUser', orgId);
  await requireOrg(pool, orgId);
  const { userId, userName, accessTokenType, ...machine } = parseBody(
    newMachine,
    await readJson(req, res),
    'MACHINE-INVALID',
  );
  const id = userId ?? newId();
  const type = ACCESS_TOKEN_TYPES.indexOf(accessTokenType);
  const user = { id, orgId, userName, machine: { ...machine, accessTokenType: type } };
  const event = await transaction(pool, (db) => insertUser(db, user, caller.userId));
  res.json({
    userId: id,
    details: details({ sequence: event.sequence, changedAt: event.createdAt, resourceOwner: orgId }),
  });
}
