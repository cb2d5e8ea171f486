import { type Request, type Response, Router } from 'express';
import { newKey, newPat } from '../../contract/machines.ts';
import { callerOf, type OperationId } from '../../contract/permissions.ts';
import { removeCredential } from '../../directory/members.ts';
import type { User } from '../../directory/users/store.ts';
import { details } from '../../platform/db/events.ts';
import { type Pool, transaction } from '../../platform/db/pool.ts';
import { ApiError } from '../../platform/errors.ts';
import { searchResult } from '../../platform/http/answers.ts';
import { parseBody, pathId, readJson } from '../../platform/http/request-body.ts';
import { newId, randomToken } from '../../platform/ids.ts';
import { addKey, keyDetails, listKeys, type MachineKey, makeKeyPair, removeKey } from './keys.ts';
import { type MachineCall, removeSecret, requireMachine, setSecret } from './machine.ts';
import { addPat, listPats, type Pat, removePat } from './tokens.ts';
/** Routes for the personal access tokens of machine users. */

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

/** Routes for the keys with which machine users authenticate (RFC 7523). */

export function keyRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.post('/management/v1/users/:userId/keys', (req, res) => add2(pool, req, res));
  router.get('/management/v1/users/:userId/keys', async (req, res) => {
    const user = await requireMachine(pool, callOf2(req, res, 'listKeys'));
    const keys = await listKeys(pool, user.id);
    res.json(
      searchResult(
        keys.length,
        keys.map((key) => keyView(user, key)),
      ),
    );
  });
  router.delete('/management/v1/users/:userId/keys/:keyId', async (req, res) => {
    const call = callOf2(req, res, 'removeKey');
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
async function add2(pool: Pool, req: Request, res: Response): Promise<void> {
  const call = callOf2(req, res, 'addKey');
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

function callOf2(req: Request, res: Response, operation: OperationId): MachineCall {
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

/** Routes for a machine user's client secret (RFC 6749 section 4.4); the client id is the user id. */

export function secretRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.put('/management/v1/users/:userId/secret', async (req, res) => {
    const call = callOf3(req, res, 'setSecret');
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
    const call = callOf3(req, res, 'removeSecret');
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

function callOf3(req: Request, res: Response, operation: OperationId): MachineCall {
  return {
    caller: callerOf(res),
    operation,
    userId: pathId(req, 'userId'),
    notAMachine: { id: 'SECRET-NOT-A-MACHINE', message: 'Only a machine user has a secret.' },
  };
}
