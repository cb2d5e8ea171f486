/**
 * Personal access tokens of machine users.
 * Guarantee: nobody gets a token of somebody who may do more than himself.
 */
import { Router } from 'express';
import { details } from '../../db/events.ts';
import { type Db, type Pool, transaction } from '../../db/pool.ts';
import { ApiError } from '../../errors.ts';
import { readJson } from '../../http/json-body.ts';
import { searchResult } from '../../http/paging.ts';
import { parseBody } from '../../http/parse-body.ts';
import { findUser, type User, type UserLock, userNotFound } from '../../users/store.ts';
import { type Caller, callerOf, covers, permissionDenied, requireReach } from '../caller.ts';
import { rightsOf } from '../members/store.ts';
import { pathId } from '../path-id.ts';
import { randomToken } from '../random-token.ts';
import { newPat } from './schema.ts';
import { addPat, listPats, type Pat, removePat } from './store.ts';

export function patRoutes(deps: { pool: Pool }): Router {
  const { pool } = deps;
  const router = Router();
  router.post('/management/v1/users/:userId/pats', async (req, res) => {
    const caller = callerOf(res);
    await tokenOwner(pool, caller, pathId(req, 'userId'));
    const { expirationDate } = parseBody(newPat, await readJson(req, res), 'PAT-INVALID');
    const token = randomToken();
    const { user, pat } = await transaction(pool, async (db) => {
      const user = await tokenOwner(db, caller, pathId(req, 'userId'), 'for update');
      return { user, pat: await addPat(db, user, { token, expiresAt: expirationDate }, caller.userId) };
    });
    res.json({ tokenId: pat.id, token, details: patDetails(user, pat) });
  });
  router.get('/management/v1/users/:userId/pats', async (req, res) => {
    const user = await tokenOwner(pool, callerOf(res), pathId(req, 'userId'));
    const pats = await listPats(pool, user.id);
    res.json(
      searchResult(
        pats.length,
        pats.map((pat) => patView(user, pat)),
      ),
    );
  });
  router.delete('/management/v1/users/:userId/pats/:tokenId', async (req, res) => {
    const caller = callerOf(res);
    const { user, event } = await transaction(pool, async (db) => {
      const user = await tokenOwner(db, caller, pathId(req, 'userId'), 'for update');
      return { user, event: await removePat(db, user, pathId(req, 'tokenId'), caller.userId) };
    });
    if (!event) throw new ApiError('NOT_FOUND', 'PAT-NOT-FOUND', 'The user has no such token.');
    res.json({
      details: details({ sequence: event.sequence, changedAt: event.createdAt, resourceOwner: user.orgId }),
    });
  });
  return router;
}

/** The machine user, when `caller` may handle its tokens. */
async function tokenOwner(db: Db, caller: Caller, userId: string, lock?: UserLock): Promise<User> {
  const user = requireReach(caller, await findUser(db, userId, lock), ['ORG_OWNER'], userNotFound);
  if (!covers(caller, await rightsOf(db, user.id))) throw permissionDenied();
  if (user.kind !== 'machine') {
    throw new ApiError('FAILED_PRECONDITION', 'PAT-NOT-A-MACHINE', 'Only a machine user has personal access tokens.');
  }
  return user;
}

function patView(user: User, pat: Pat) {
  const expirationDate = pat.expiresAt ? { expirationDate: pat.expiresAt.toISOString() } : {};
  return { tokenId: pat.id, details: patDetails(user, pat), ...expirationDate };
}

function patDetails(user: User, pat: Pat) {
  return details({ ...pat, changedAt: pat.createdAt, resourceOwner: user.orgId });
}
