/** Find what an operation acts on: an organization, a user; and check that the caller may do it there. */
import { requireReach } from '../contract/permissions.ts';
import { anOrg, type Finder } from '../contract/serve.ts';
import type { Db, Pool } from '../platform/db/pool.ts';
import { pathId } from '../platform/http/parse.ts';
import { undeleted } from './organization-states.ts';
import { type Org, requireOrg } from './organizations.ts';
import { accessForChange, findUser, type Reached, type User, userNotFound } from './users/store.ts';

/** The organization that the request names, or the caller's own. */
export function existingOrg(db: Db): Finder<'org', Org> {
  return { of: 'org', find: async (asked) => requireOrg(db, await anOrg.find(asked)) };
}

/** The organization that the request names, or the caller's own, for changes: a deleted one is restored first. */
export function changeableOrg(db: Db): Finder<'org', Org> {
  return {
    of: 'org',
    async find(asked) {
      return undeleted(await existingOrg(db).find(asked));
    },
  };
}

/** The user of the path, for themselves and for callers with a role that may read them. */
export function readableUser(pool: Pool): Finder<'user', User> {
  return {
    of: 'user',
    find: async ({ caller, operation, req }) =>
      requireReach(caller, operation, await findUser(pool, pathId(req, 'userId')), userNotFound),
  };
}

/**
 * The user of the path, for callers who may change them. A handler that changes the user asks `accessForChange` again,
 * with the user's row locked.
 */
export function changeableUser(pool: Pool): Finder<'user', Reached> {
  return {
    of: 'user',
    find: ({ caller, operation, req }) => accessForChange(pool, caller, operation, pathId(req, 'userId')),
  };
}
