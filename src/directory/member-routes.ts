/** Routes for the members of an organization (managed by its ORG_OWNER) and of the instance (managed by IAM_OWNER). */

import { Router } from 'express';
import { memberOperations as operations } from '../contract/members.ts';
import { type Caller, requireReach } from '../contract/permissions.ts';
import { type Finder, instance, serve } from '../contract/serve.ts';
import { details } from '../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../platform/db/pool.ts';
import { type ResultPage, searchResult } from '../platform/http/answers.ts';
import { changeableOrg, existingOrg } from './finders.ts';
import { addMember, listMembers, type Member, ownerOf, removeMember, type Scope } from './members.ts';
import type { Org } from './organizations.ts';
import { findUser, userNotFound } from './users/store.ts';

/** Routes of both kinds of members. */
export function memberRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  const ofChangeable = scopeOf(changeableOrg(pool));
  const ofInstance: Finder<'instance', Scope> = {
    of: 'instance',
    find(asked) {
      instance.find(asked);
      return { kind: 'instance' };
    },
  };
  serve(router, operations.addOrgMember, ofChangeable, (asked) => add(pool, asked));
  serve(router, operations.addInstanceMember, ofInstance, (asked) => add(pool, asked));
  serve(router, operations.searchOrgMembers, scopeOf(existingOrg(pool)), ({ target, body }) =>
    search(pool, target, body.query),
  );
  serve(router, operations.searchInstanceMembers, ofInstance, ({ target, body }) => search(pool, target, body.query));
  serve(router, operations.removeOrgMember, ofChangeable, ({ target, caller, params }) =>
    remove(pool, target, params.userId, caller),
  );
  serve(router, operations.removeInstanceMember, ofInstance, ({ target, caller, params }) =>
    remove(pool, target, params.userId, caller),
  );
  return router;
}

function scopeOf(org: Finder<'org', Org>): Finder<'org', Scope> {
  return { of: 'org', find: async (asked) => ({ kind: 'organization', orgId: (await org.find(asked)).id }) };
}

interface NewMember {
  caller: Caller;
  target: Scope;
  body: { userId: string; roles: string[] };
}

/** Callers may only add users whom they may read. */
async function add(pool: Pool, { caller, target: scope, body: member }: NewMember) {
  const added = await transaction(pool, async (db: Db) => {
    requireReach(caller, 'getUser', await findUser(db, member.userId, 'for key share'), userNotFound);
    return addMember(db, scope, member, caller.userId);
  });
  return { details: memberDetails(scope, added) };
}

async function search(pool: Pool, scope: Scope, page: ResultPage) {
  const { total, members } = await listMembers(pool, scope, page);
  const shown = members.map((m) => ({ userId: m.userId, roles: m.roles, details: memberDetails(scope, m) }));
  return searchResult(total, shown);
}

async function remove(pool: Pool, scope: Scope, userId: string, caller: Caller) {
  const { sequence, createdAt } = await transaction(pool, (db) => removeMember(db, scope, userId, caller.userId));
  return { details: details({ sequence, changedAt: createdAt, resourceOwner: ownerOf(scope) }) };
}

function memberDetails(scope: Scope, member: Member) {
  return details({ ...member, resourceOwner: ownerOf(scope) });
}
