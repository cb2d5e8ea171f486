/**
 * Routes for the credentials of machine users: personal access tokens, keys with which they authenticate (RFC 7523),
 * and the client secret (RFC 6749 section 4.4), whose client id is the user id.
 */
import { type Request, type Response, Router } from 'express';
import { newKey, newPat } from '../../contract/machines.ts';
import { callerOf, type OperationId } from '../../contract/permissions.ts';
import { removeCredential } from '../../directory/members.ts';
import type { User } from '../../directory/users/store.ts';
import { type AppendedEvent, type Details, details } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { ApiError } from '../../platform/errors.ts';
import { searchResult } from '../../platform/http/answers.ts';
import { parseBody, pathId, readJson } from '../../platform/http/request-body.ts';
import { newId, randomToken } from '../../platform/ids.ts';
import { addKey, keyDetails, listKeys, type MachineKey, makeKeyPair, removeKey } from './keys.ts';
import { type MachineCall, removeSecret, requireMachine, setSecret } from './machine.ts';
import { addPat, listPats, type Pat, removePat } from './tokens.ts';

/** The errors for a human user. */
const NOT_A_MACHINE = {
  pat: { id: 'PAT-NOT-A-MACHINE', message: 'Only a machine user has personal access tokens.' },
  key: { id: 'KEY-NOT-A-MACHINE', message: 'Only a machine user has keys.' },
  secret: { id: 'SECRET-NOT-A-MACHINE', message: 'Only a machine user has a secret.' },
};

/** Routes of personal access tokens. */
export function patRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.post('/management/v1/users/:userId/pats', (req, res) => addPatOf(pool, req, res));
  router.get('/management/v1/users/:userId/pats', async (req, res) => {
    const user = await requireMachine(pool, callOf(req, res, 'listPats', NOT_A_MACHINE.pat));
    const pats = await listPats(pool, user.id);
    res.json(
      searchResult(
        pats.length,
        pats.map((pat) => patView(user, pat)),
      ),
    );
  });
  router.delete('/management/v1/users/:userId/pats/:tokenId', async (req, res) => {
    const call = callOf(req, res, 'removePat', NOT_A_MACHINE.pat);
    const tokenId = pathId(req, 'tokenId');
    const missing = new ApiError('NOT_FOUND', 'PAT-NOT-FOUND', 'The user has no such token.');
    res.json({ details: await ended(pool, call, missing, (db, user, editor) => removePat(db, user, tokenId, editor)) });
  });
  return router;
}

async function addPatOf(pool: Pool, req: Request, res: Response): Promise<void> {
  const call = callOf(req, res, 'addPat', NOT_A_MACHINE.pat);
  await requireMachine(pool, call);
  const { expirationDate } = parseBody(newPat, await readJson(req, res), 'PAT-INVALID');
  const token = randomToken();
  const { user, pat } = await transaction(pool, async (db) => {
    const user = await requireMachine(db, call, 'for update');
    return { user, pat: await addPat(db, user, { token, expiresAt: expirationDate }, call.caller.userId) };
  });
  res.json({ tokenId: pat.id, token, details: patDetails(user, pat) });
}

function patView(user: User, pat: Pat) {
  const expirationDate = pat.expiresAt ? { expirationDate: pat.expiresAt.toISOString() } : {};
  return { tokenId: pat.id, details: patDetails(user, pat), ...expirationDate };
}

function patDetails(user: User, pat: Pat) {
  return details({ ...pat, changedAt: pat.createdAt, resourceOwner: user.orgId });
}

/** Routes of keys. */
export function keyRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.post('/management/v1/users/:userId/keys', (req, res) => addKeyOf(pool, req, res));
  router.get('/management/v1/users/:userId/keys', async (req, res) => {
    const user = await requireMachine(pool, callOf(req, res, 'listKeys', NOT_A_MACHINE.key));
    const keys = await listKeys(pool, user.id);
    res.json(
      searchResult(
        keys.length,
        keys.map((key) => keyView(user, key)),
      ),
    );
  });
  router.delete('/management/v1/users/:userId/keys/:keyId', async (req, res) => {
    const call = callOf(req, res, 'removeKey', NOT_A_MACHINE.key);
    const keyId = pathId(req, 'keyId');
    const missing = new ApiError('NOT_FOUND', 'KEY-NOT-FOUND', 'The user has no such key.');
    res.json({ details: await ended(pool, call, missing, (db, user, editor) => removeKey(db, user, keyId, editor)) });
  });
  return router;
}

/** Generates the key pair before the transaction begins, so that no row is locked meanwhile. */
async function addKeyOf(pool: Pool, req: Request, res: Response): Promise<void> {
  const call = callOf(req, res, 'addKey', NOT_A_MACHINE.key);
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
    details: keyDetailsOf(user, key),
  });
}

function keyView(user: User, key: MachineKey) {
  const expirationDate = key.expiresAt ? { expirationDate: key.expiresAt.toISOString() } : {};
  return { keyId: key.id, type: 'KEY_TYPE_JSON', details: keyDetailsOf(user, key), ...expirationDate };
}

function keyDetailsOf(user: User, key: MachineKey) {
  return details({ ...key, changedAt: key.createdAt, resourceOwner: user.orgId });
}

/** Routes of the client secret. */
export function secretRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.put('/management/v1/users/:userId/secret', async (req, res) => {
    const call = callOf(req, res, 'setSecret', NOT_A_MACHINE.secret);
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
    const call = callOf(req, res, 'removeSecret', NOT_A_MACHINE.secret);
    const missing = new ApiError('NOT_FOUND', 'SECRET-NOT-FOUND', 'The user has no secret.');
    res.json({ details: await ended(pool, call, missing, (db, user, editor) => removeSecret(db, user, editor)) });
  });
  return router;
}

function callOf(
  req: Request,
  res: Response,
  operation: OperationId,
  notAMachine: MachineCall['notAMachine'],
): MachineCall {
  return { caller: callerOf(res), operation, userId: pathId(req, 'userId'), notAMachine };
}

type Remove = (db: Db, user: User, editor: string) => Promise<AppendedEvent | undefined>;

/** Removes a credential of the machine user. @throws ApiError `missing` when there was none */
async function ended(pool: Pool, call: MachineCall, missing: ApiError, remove: Remove): Promise<Details> {
  return transaction(pool, async (db) => {
    const user = await requireMachine(db, call, 'for update');
    const event = await removeCredential(db, user.id, call.caller, () => remove(db, user, call.caller.userId));
    if (!event) throw missing;
    return details({ sequence: event.sequence, changedAt: event.createdAt, resourceOwner: user.orgId });
  });
}
