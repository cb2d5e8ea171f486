/**
 * Routes of users: read, search, create, change their state, delete.
 *
 * Guarantee: only users of organizations on which the caller has a role are found and counted. To search in another one
 * is 403, whether or not it exists. Nobody changes the state of a user with more rights than their own.
 */
import { type Request, type Response, Router } from 'express';
import { newHuman } from '../../contract/humans.ts';
import { templateOrigin } from '../../contract/link-templates.ts';
import {
  type Caller,
  callerOf,
  may,
  namedOrg,
  type OperationId,
  orgsFor,
  permissionDenied,
  requirePermission,
  requireReach,
  selectedOrg,
} from '../../contract/permissions.ts';
import { ACCESS_TOKEN_TYPES, newMachine, userSearch } from '../../contract/users.ts';
import type { Config } from '../../platform/config.ts';
import { type AppendedEvent, details } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import type { Reads } from '../../platform/db/replica.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { searchResult } from '../../platform/http/answers.ts';
import { badFields, LARGE_BODY, parseBody, pathId, readJson } from '../../platform/http/request-body.ts';
import { newId } from '../../platform/ids.ts';
import { findOrg, findOrgByDomain, isAllowedOrigin, type Org, orgNotFound, requireOrg } from '../organizations.ts';
import { createHuman, type HumanDeps } from './create.ts';
import { requestErasure } from './erase.ts';
import { linksOf, metadataOf, userDetails, userView, userViewV1 } from './read.ts';
import { searchUsers } from './search.ts';
import { changeState, type StateChange, TRANSITIONS } from './states.ts';
import { accessForChange, deleteUser, findUser, insertUser, type User, userNotFound } from './store.ts';

/** Routes that read one user by id, their metadata and links. */
export function readRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.get('/v2beta/users/:userId', async (req, res) => {
    const user = await readableUser(pool, 'getUser', req, res);
    res.json({ details: userDetails(user), user: userView(user) });
  });
  router.get('/v2beta/users/:userId/metadata', async (req, res) => {
    const metadata = await metadataOf(pool, (await readableUser(pool, 'getUserMetadata', req, res)).id);
    res.json(searchResult(metadata.length, metadata));
  });
  router.get('/v2beta/users/:userId/links', async (req, res) => {
    const links = await linksOf(pool, (await readableUser(pool, 'getUserLinks', req, res)).id);
    res.json(searchResult(links.length, links));
  });
  return router;
}

/** The user of the path, for the user themselves and for callers with any role on their organization. */
async function readableUser(pool: Pool, operation: OperationId, req: Request, res: Response): Promise<User> {
  return requireReach(callerOf(res), operation, await findUser(pool, pathId(req, 'userId')), userNotFound);
}

/** The search of users, and its older form for one organization. */
export function searchRoutes({ pool, reads }: { pool: Pool; reads: Reads }): Router {
  const router = Router();
  router.post('/v2beta/users', async (req, res) => {
    const orgIds = await searchedOrgs(pool, callerOf(res), namedOrg(req));
    await search(reads, 'searchUsers', orgIds, (user) => ({ details: userDetails(user), ...userView(user) }), req, res);
  });
  router.post('/management/v1/users/_search', async (req, res) => {
    const caller = callerOf(res);
    const orgIds = [await oneOrg(pool, caller, 'searchOrgUsers', selectedOrg(req, caller))];
    await search(reads, 'searchOrgUsers', orgIds, userViewV1, req, res);
  });
  return router;
}

async function search(
  reads: Reads,
  operation: OperationId,
  orgIds: string[] | undefined,
  view: (user: User) => Record<string, unknown>,
  req: Request,
  res: Response,
): Promise<void> {
  const { query: page, queries } = parseBody(userSearch, await readJson(req, res, LARGE_BODY), 'USER-SEARCH');
  for (const { organizationIdQuery } of queries) {
    if (organizationIdQuery) requirePermission(callerOf(res), operation, organizationIdQuery.organizationId);
  }
  const { total, isEstimate, users, nextPageToken } = await reads.run((db) =>
    searchUsers(db, { queries, page, orgIds }),
  );
  const { details, result } = searchResult(total, users.map(view));
  res.json({ details: { ...details, ...(isEstimate ? { totalIsEstimate: true } : {}) }, result, nextPageToken });
}

/**
 * Where to search: in the organization that the request names, else in all on which the caller has a role.
 * @returns undefined for every organization
 * @throws ApiError 403; for an IAM_OWNER 404 if the named organization does not exist
 */
async function searchedOrgs(pool: Pool, caller: Caller, named: string | undefined): Promise<string[] | undefined> {
  if (named === undefined) return orgsFor(caller, 'searchUsers');
  return [await oneOrg(pool, caller, 'searchUsers', named)];
}

/** The id of the one organization to search in. @throws ApiError 403, 404 */
async function oneOrg(pool: Pool, caller: Caller, operation: OperationId, orgId: string): Promise<string> {
  requirePermission(caller, operation, orgId);
  return (await requireOrg(pool, orgId)).id;
}

/** The route that creates human users. */
export function humanRoutes(deps: HumanDeps): Router {
  return Router().post('/v2beta/users/human', (req, res) => addHuman(deps, req, res));
}

async function addHuman(deps: HumanDeps, req: Request, res: Response): Promise<void> {
  const caller = callerOf(res);
  orgsFor(caller, 'createHumanUser');
  const body = parseBody(newHuman, await readJson(req, res, LARGE_BODY), 'USER-INVALID');
  const selected = selectedOrg(req, caller);
  const { orgId = selected, orgDomain } = body.organization ?? {};
  const org = await targetOrg(deps.pool, caller, orgId, orgDomain);
  await requireAllowedTemplate(deps, org.id, 'email.sendCode.urlTemplate', body.email.sendCode?.urlTemplate);
  res.json(await createHuman(deps, org, body, caller.userId));
}

/**
 * The organization of the new user. The body takes precedence over the header, which is the default for calls that name
 * none.
 * @throws ApiError 403; for an IAM_OWNER 404 if the organization does not exist
 */
async function targetOrg(pool: Pool, caller: Caller, orgId: string, orgDomain?: string): Promise<Org> {
  const org = orgDomain === undefined ? await findOrg(pool, orgId) : await findOrgByDomain(pool, orgDomain);
  if (org && may(caller, 'createHumanUser', org.id)) return org;
  throw caller.isIamOwner ? orgNotFound() : permissionDenied();
}

/** The route that creates machine users. */
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

/** Routes that deactivate, reactivate, lock, unlock, delete and erase users. */
export function stateRoutes({ pool, secrets }: { pool: Pool; secrets: Secrets }): Router {
  const router = Router();
  for (const change of Object.keys(TRANSITIONS) as StateChange[]) {
    router.post(`/v2beta/users/:userId/${change}`, (req, res) =>
      act(pool, TRANSITIONS[change].operation, req, res, (db, user, editor) =>
        changeState({ db, secrets }, user, change, editor),
      ),
    );
  }
  router.delete('/v2beta/users/:userId', (req, res) => act(pool, 'deleteUser', req, res, deleteUser));
  router.post('/v2beta/users/:userId/erase', async (req, res) => {
    const { event, orgId, erasedId } = await requestErasure(pool, callerOf(res), pathId(req, 'userId'));
    const { sequence, createdAt } = event;
    res.json({ details: details({ sequence, changedAt: createdAt, resourceOwner: orgId }), erasedId });
  });
  return router;
}

type Action = (db: Db, user: User, editor: string) => Promise<AppendedEvent>;

/** Runs the action on the user of the path, with their row locked, and responds with its details. */
async function act(pool: Pool, operation: OperationId, req: Request, res: Response, action: Action): Promise<void> {
  const caller = callerOf(res);
  const userId = pathId(req, 'userId');
  const answer = await transaction(pool, async (db) => {
    const { user } = await accessForChange(db, caller, operation, userId, 'for update');
    const { sequence, createdAt } = await action(db, user, caller.userId);
    return details({ sequence, changedAt: createdAt, resourceOwner: user.orgId });
  });
  res.json({ details: answer });
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
