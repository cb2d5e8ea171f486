/**
 * Routes of users: read, search, create, change their state, delete.
 *
 * Guarantee: only users of organizations on which the caller has a role are found and counted. To search in another one
 * is 403, whether or not it exists. Nobody changes the state of a user with more rights than their own.
 */

import { Router } from 'express';
import type { z } from 'zod';
import { humanOperations } from '../../contract/humans.ts';
import { idpLinkOperations } from '../../contract/idp-links.ts';
import { templateOrigin } from '../../contract/link-templates.ts';
import { machineOperations } from '../../contract/machines.ts';
import { type Caller, namedOrg, permissionDenied, requirePermission, selectedOrg } from '../../contract/permissions.ts';
import { type Asked, type Finder, type OrgsOfBody, orgsOfBody, ownOrgs, serve } from '../../contract/serve.ts';
import type { userSearch } from '../../contract/user-search.ts';
import { ACCESS_TOKEN_TYPES, userOperations } from '../../contract/users.ts';
import type { Config } from '../../platform/config.ts';
import { type AppendedEvent, changedAnswer } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import type { Reads } from '../../platform/db/replica.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { searchResult } from '../../platform/http/answers.ts';
import { badFields, pathId } from '../../platform/http/parse.ts';
import { newId } from '../../platform/ids.ts';
import { changeableOrg, changeableUser, existingOrg, readableUser } from '../finders.ts';
import { linksOf } from '../idp-links.ts';
import { undeleted } from '../organization-states.ts';
import { findOrg, findOrgByDomain, isAllowedOrigin, type Org, orgNotFound, requireOrg } from '../organizations.ts';
import { createHuman, type HumanDeps } from './create.ts';
import { requestErasure } from './erase.ts';
import { metadataOf, userDetails, userView, userViewV1 } from './read.ts';
import { searchUsers } from './search.ts';
import { changeState, type StateChange, setMailCodes, TRANSITIONS } from './states.ts';
import { accessForChange, insertUser, type User } from './store.ts';

/** Routes that read one user by id, their metadata and links. */
export function readRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  const user = readableUser(pool);
  serve(router, userOperations.getUser, user, ({ target }) => ({
    details: userDetails(target),
    user: userView(target),
  }));
  serve(router, userOperations.getUserMetadata, user, async ({ target }) => {
    const metadata = await metadataOf(pool, target.id);
    return searchResult(metadata.length, metadata);
  });
  serve(router, idpLinkOperations.getUserLinks, user, async ({ target }) => {
    const links = await linksOf(pool, target.id);
    return searchResult(links.length, links);
  });
  serve(router, idpLinkOperations.searchUserLinks, user, async ({ target, body: { query } }) => {
    const links = await linksOf(pool, target.id);
    const sorted = query.asc ? links : links.toReversed();
    return searchResult(links.length, sorted.slice(query.offset, query.offset + query.limit));
  });
  return router;
}

/** The search of users, and its older form for one organization. */
export function searchRoutes({ pool, reads }: { pool: Pool; reads: Reads }): Router {
  const router = Router();
  const view = (user: User) => ({ details: userDetails(user), ...userView(user) });
  serve(router, userOperations.searchUsers, searchedOrgs(pool), (asked) => search(reads, view, asked));
  serve(router, userOperations.searchOrgUsers, existingOrg(pool), ({ target, ...asked }) =>
    search(reads, userViewV1, { ...asked, target: [target.id] }),
  );
  return router;
}

/** Where to search: in the organization that the request names, else in all on which the caller has a role. */
function searchedOrgs(pool: Pool): Finder<'orgs', string[] | undefined> {
  return {
    of: 'orgs',
    async find(asked) {
      const named = namedOrg(asked.req);
      if (named === undefined) return ownOrgs.find(asked);
      requirePermission(asked.caller, asked.operation, named);
      return [(await requireOrg(pool, named)).id];
    },
  };
}

interface Search extends Asked {
  target: string[] | undefined;
  body: z.output<typeof userSearch>;
}

async function search<T>(
  reads: Reads,
  view: (user: User) => T,
  { caller, operation, target: orgIds, body: { query: page, queries } }: Search,
) {
  for (const { organizationIdQuery } of queries) {
    if (organizationIdQuery) requirePermission(caller, operation, organizationIdQuery.organizationId);
  }
  const { total, isEstimate, users, nextPageToken } = await reads.run((db) =>
    searchUsers(db, { queries, page, orgIds }),
  );
  const { details, result } = searchResult(total, users.map(view));
  const totalIsEstimate = isEstimate ? { totalIsEstimate: true as const } : {};
  return { details: { ...details, ...totalIsEstimate }, result, nextPageToken };
}

/** The route that creates human users. */
export function humanRoutes(deps: HumanDeps): Router {
  const router = Router();
  serve(router, humanOperations.createHumanUser, orgsOfBody, async ({ caller, target, body, req }) => {
    const { orgId = selectedOrg(req, caller), orgDomain } = body.organization ?? {};
    const org = undeleted(await targetOrg(deps.pool, caller, target, orgId, orgDomain));
    await requireAllowedTemplate(deps, org.id, 'email.sendCode.urlTemplate', body.email.sendCode?.urlTemplate);
    return createHuman(deps, org, body, caller.userId);
  });
  return router;
}

/**
 * The organization of the new user. The body takes precedence over the header, which is the default for calls that name
 * none.
 * @throws ApiError 403; for an IAM_OWNER 404 if the organization does not exist
 */
async function targetOrg(
  pool: Pool,
  caller: Caller,
  { allow }: OrgsOfBody,
  orgId: string,
  orgDomain?: string,
): Promise<Org> {
  const org = orgDomain === undefined ? await findOrg(pool, orgId) : await findOrgByDomain(pool, orgDomain);
  if (!org) throw caller.isIamOwner ? orgNotFound() : permissionDenied();
  allow(org.id);
  return org;
}

/** The route that creates machine users. */
export function machineRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  serve(router, machineOperations.createMachineUser, changeableOrg(pool), async ({ caller, target, body }) => {
    const { userId, userName, accessTokenType, ...machine } = body;
    const orgId = target.id;
    const id = userId ?? newId();
    const type = ACCESS_TOKEN_TYPES.indexOf(accessTokenType);
    const user = { id, orgId, userName, machine: { ...machine, accessTokenType: type } };
    const event = await transaction(pool, (db) => insertUser(db, user, caller.userId));
    return { userId: id, ...changedAnswer(event, orgId) };
  });
  return router;
}

/** Routes that deactivate, reactivate, lock, unlock and erase users, and that leave them out of mail codes. */
export function stateRoutes({ pool, secrets }: { pool: Pool; secrets: Secrets }): Router {
  const router = Router();
  const user = changeableUser(pool);
  for (const change of Object.keys(TRANSITIONS) as StateChange[]) {
    serve(router, userOperations[TRANSITIONS[change].operation], user, (asked) =>
      act(pool, asked, (db, user, editor) => changeState({ db, secrets }, user, change, editor)),
    );
  }
  serve(router, userOperations.setMailCodes, user, (asked) =>
    act(pool, asked, (db, user, editor) => setMailCodes(db, user, { ...asked.body, editor })),
  );
  serve(router, userOperations.eraseUser, formerUser, async ({ caller, target: userId }) => {
    const { event, orgId, erasedId } = await requestErasure(pool, caller, userId);
    return { ...changedAnswer(event, orgId), erasedId };
  });
  return router;
}

/** The id of a user, who may be deleted: `requestErasure` looks where they were, and whether the caller may. */
const formerUser: Finder<'user', string> = { of: 'user', find: ({ req }) => pathId(req, 'userId') };

type Action = (db: Db, user: User, editor: string) => Promise<AppendedEvent>;

/** Runs the action on the user, with their row locked, and answers with its details. */
async function act(pool: Pool, { caller, operation, target }: Asked & { target: { user: User } }, action: Action) {
  return transaction(pool, async (db) => {
    const { user } = await accessForChange(db, caller, operation, target.user.id, 'for update');
    return changedAnswer(await action(db, user, caller.userId), user.orgId);
  });
}

/**
 * Refuses a URL template that the links in emails of the organization may not use. Call it for managers; users may not
 * choose where a link leads (`requireVouching`).
 * @param field its path in the body
 * @throws ApiError 400 URL-TEMPLATE-NOT-ALLOWED
 */
export async function requireAllowedTemplate(
  { pool, config }: { pool: Db; config: Pick<Config, 'baseUrl'> },
  orgId: string,
  field: string,
  template: string | undefined,
): Promise<void> {
  if (template === undefined) return;
  const origin = templateOrigin(template);
  if (origin !== undefined && (await isAllowedOrigin(pool, orgId, origin, config.baseUrl))) return;
  const description =
    'must begin with a URL that the organization allows; an ORG_OWNER sets these with ' +
    'PUT /management/v1/orgs/me/allowed_urls';
  throw badFields('URL-TEMPLATE-NOT-ALLOWED', [{ field, description }]);
}
