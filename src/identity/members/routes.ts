/** Members of an organization (its ORG_OWNER decides) and of the instance (IAM_OWNER decides). */
import { type Request, type Response, Router } from 'express';
import { details } from '../../db/events.ts';
import { type Pool, transaction } from '../../db/pool.ts';
import { readJson } from '../../http/json-body.ts';
import { searchResult } from '../../http/paging.ts';
import { parseBody } from '../../http/parse-body.ts';
import { requireOrg } from '../../orgs/store.ts';
import { findUser, userNotFound } from '../../users/store.ts';
import {
  type Caller,
  callerOf,
  ORG_ROLES,
  requireIamOwner,
  requireOrgRole,
  requireReach,
  selectedOrg,
} from '../caller.ts';
import { pathId } from '../path-id.ts';
import { instanceMember, memberSearch, orgMember } from './schema.ts';
import { addMember, listMembers, type Member, ownerOf, removeMember, type Scope } from './store.ts';

export function memberRoutes(deps: { pool: Pool }): Router {
  const router = Router();
  for (const { path, scopeOf, schema } of [
    { path: '/management/v1/orgs/me/members', scopeOf: organization(deps.pool), schema: orgMember },
    { path: '/admin/v1/members', scopeOf: instance, schema: instanceMember },
  ]) {
    router.post(path, async (req, res) => {
      const caller = callerOf(res);
      const scope = await scopeOf(req, res);
      const member = parseBody(schema, await readJson(req, res), 'MEMBER-INVALID');
      const added = await transaction(deps.pool, async (db) => {
        const user = await findUser(db, member.userId, 'for key share');
        requireReach(caller, user, ORG_ROLES, userNotFound);
        return addMember(db, scope, member, caller.userId);
      });
      res.json({ details: memberDetails(scope, added) });
    });
    router.post(`${path}/_search`, async (req, res) => {
      const scope = await scopeOf(req, res);
      const { query } = parseBody(memberSearch, await readJson(req, res), 'MEMBER-SEARCH');
      const { total, members } = await listMembers(deps.pool, scope, query);
      res.json(
        searchResult(
          total,
          members.map((m) => ({ userId: m.userId, roles: m.roles, details: memberDetails(scope, m) })),
        ),
      );
    });
    router.delete(`${path}/:userId`, async (req, res) => {
      const scope = await scopeOf(req, res);
      const userId = pathId(req, 'userId');
      const event = await transaction(deps.pool, (db) => removeMember(db, scope, userId, callerOf(res).userId));
      res.json({
        details: details({ sequence: event.sequence, changedAt: event.createdAt, resourceOwner: ownerOf(scope) }),
      });
    });
  }
  return router;
}

async function instance(_req: Request, res: Response): Promise<Scope> {
  requireIamOwner(callerOf(res));
  return { kind: 'instance' };
}

function organization(pool: Pool) {
  return async (req: Request, res: Response): Promise<Scope> => {
    const caller: Caller = callerOf(res);
    const orgId = selectedOrg(req, caller);
    requireOrgRole(caller, orgId, ['ORG_OWNER']);
    await requireOrg(pool, orgId);
    return { kind: 'organization', orgId };
  };
}

function memberDetails(scope: Scope, member: Member) {
  return details({ ...member, resourceOwner: ownerOf(scope) });
}
