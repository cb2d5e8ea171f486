/** Routes for the keys with which machine users authenticate (RFC 7523). */
import { type Request, type Response, Router } from 'express';
import { callerOf } from '../../access/caller.ts';
import { removeCredential } from '../../access/last-credential.ts';
import { pathId } from '../../access/path-id.ts';
import type { OperationId } from '../../access/permissions.ts';
import { details } from '../../db/events.ts';
import { type Pool, transaction } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import { readJson } from '../../http/json-body.ts';
import { searchResult } from '../../http/paging.ts';
import { parseBody } from '../../http/parse-body.ts';
import { newId } from '../../ids.ts';
import type { User } from '../../users/store.ts';
import { keyDetails, makeKeyPair } from './key-file.ts';
import { addKey, listKeys, type MachineKey, removeKey } from './keys-store.ts';
import { type MachineCall, requireMachine } from './require-machine.ts';
import { newKey } from './schema.ts';

export function keyRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.post('/management/v1/users/:userId/keys', (req, res) => add(pool, req, res));
  router.get('/management/v1/users/:userId/keys', async (req, res) => {
    const user = await requireMachine(pool, callOf(req, res, 'listKeys'));
    const keys = await listKeys(pool, user.id);
    res.json(
      searchResult(
        keys.length,
        keys.map((key) => keyView(user, key)),
      ),
    );
  });
  router.delete('/management/v1/users/:userId/keys/:keyId', async (req, res) => {
    const call = callOf(req, res, 'removeKey');
    const keyId = pathId(req, 'keyId');
    const { user, event } = await transaction(pool, async (db) => {
      const user = await requireMachine(db, call, 'for update');
      const remove = () => removeKey(db, user, keyId, call.caller.userId);
      return { user, event: await removeCredential(db, user.id, call.caller, remove) };
    });
    if (!event) throw new ApiError('NOT_FOUND', 'KEY-NOT-FOUND', 'The user has no such key.');
    res.json({
      details: details({ sequence: event.sequence, changedAt: event.createdAt, resourceOwner: user.orgId }),
    });
  });
  return router;
}

/** Generates the key pair before the transaction begins, so that no row is locked meanwhile. */
async function add(pool: Pool, req: Request, res: Response): Promise<void> {
  const call = callOf(req, res, 'addKey');
  await requireMachine(pool, call);
  const { expirationDate } = parseBody(newKey, await readJson(req, res), 'KEY-INVALID');
  const keyId = newId();
  const { publicJwk, privateKey } = await makeKeyPair(keyId);
  const { user, key } = await transaction(pool, async (db) => {
    const user = await requireMachine(db, call, 'for update');
    const given = { id: keyId, publicJwk, expiresAt: expirationDate };
    return { user, key: await addKey(db, user, given, call.caller.userId) };
  });
  res.json({
    keyId,
    keyDetails: keyDetails({ keyId, userId: user.id, privateKey, expiresAt: key.expiresAt }),
    details: detailsOf(user, key),
  });
}

function callOf(req: Request, res: Response, operation: OperationId): MachineCall {
  return {
    caller: callerOf(res),
    operation,
    userId: pathId(req, 'userId'),
    notAMachine: { id: 'KEY-NOT-A-MACHINE', message: 'Only a machine user has keys.' },
  };
}

function keyView(user: User, key: MachineKey) {
  const expirationDate = key.expiresAt ? { expirationDate: key.expiresAt.toISOString() } : {};
  return { keyId: key.id, type: 'KEY_TYPE_JSON', details: detailsOf(user, key), ...expirationDate };
}

function detailsOf(user: User, key: MachineKey) {
  return details({ ...key, changedAt: key.createdAt, resourceOwner: user.orgId });
}
