/** Routes for the members of an organization (managed by its ORG_OWNER) and of the instance (managed by IAM_OWNER). */
import { type Request, type Response, Router } from 'express';
import { instanceMember, memberSearch, orgMember } from '../contract/members.ts';
import {
  type Caller,
  callerOf,
  type OperationId,
  requirePermission,
  requireReach,
  selectedOrg,
} from '../contract/permissions.ts';
import { details } from '../platform/db/events.ts';
import { type Pool, transaction } from '../platform/db/pool.ts';
import { searchResult } from '../platform/http/answers.ts';
import { parseBody, pathId, readJson } from '../platform/http/request-body.ts';
import { addMember, listMembers, type Member, ownerOf, removeMember, type Scope } from './members.ts';
import { requireOrg } from './organizations.ts';
import { findUser, type User, userNotFound } from './users/store.ts';

/** The two kinds of members, and the operations on each. */
const KINDS = [
  {
    path: '/management/v1/orgs/me/members',
    schema: orgMember,
    operations: { add: 'addOrgMember', search: 'searchOrgMembers', remove: 'removeOrgMember' },
    scopeOf: organization,
  },
  {
    path: '/admin/v1/members',
    schema: instanceMember,
    operations: { add: 'addInstanceMember', search: 'searchInstanceMembers', remove: 'removeInstanceMember' },
    scopeOf: instance,
  },
] as const;

/** Routes of both kinds of members. */
export function memberRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  for (const { path, schema, operations, scopeOf } of KINDS) {
    router.post(path, async (req, res) => {
      const caller = callerOf(res);
      const scope = await scopeOf(pool, operations.add, req, res);
      const member = parseBody(schema, await readJson(req, res), 'MEMBER-INVALID');
      const added = await transaction(pool, async (db) => {
        requireVisible(caller, await findUser(db, member.userId, 'for key share'));
        return addMember(db, scope, member, caller.userId);
      });
      res.json({ details: memberDetails(scope, added) });
    });
    router.post(`${path}/_search`, async (req, res) => {
      const scope = await scopeOf(pool, operations.search, req, res);
      const { query } = parseBody(memberSearch, await readJson(req, res), 'MEMBER-SEARCH');
      const { total, members } = await listMembers(pool, scope, query);
      res.json(
        searchResult(
          total,
          members.map((m) => ({ userId: m.userId, roles: m.roles, details: memberDetails(scope, m) })),
        ),
      );
    });
    router.delete(`${path}/:userId`, async (req, res) => {
      const scope = await scopeOf(pool, operations.remove, req, res);
      const userId = pathId(req, 'userId');
      const event = await transaction(pool, (db) => removeMember(db, scope, userId, callerOf(res).userId));
      res.json({
        details: details({ sequence: event.sequence, changedAt: event.createdAt, resourceOwner: ownerOf(scope) }),
      });
    });
  }
  return router;
}

async function instance(_pool: Pool, operation: OperationId, _req: Request, res: Response): Promise<Scope> {
  requirePermission(callerOf(res), operation);
  return { kind: 'instance' };
}

async function organization(pool: Pool, operation: OperationId, req: Request, res: Response): Promise<Scope> {
  const caller = callerOf(res);
  const orgId = selectedOrg(req, caller);
  requirePermission(caller, operation, orgId);
  await requireOrg(pool, orgId);
  return { kind: 'organization', orgId };
}

/** Callers may only add users whom they may read. */
function requireVisible(caller: Caller, user: User | undefined): void {
  requireReach(caller, 'getUser', user, userNotFound);
}

function memberDetails(scope: Scope, member: Member) {
  return details({ ...member, resourceOwner: ownerOf(scope) });
}
