import { type Request, Router } from 'express';
import { allowedUrlsBody, newOrg, orgSearch, SIGN_IN_NAMES, signInNamesBody } from '../contract/organizations.ts';
import { callerOf, requirePermission, selectedOrg } from '../contract/permissions.ts';
import { setWebhookSecret } from '../messages/webhooks/signature.ts';
import type { Config } from '../platform/config.ts';
import { appendEvent, details } from '../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../platform/db/pool.ts';
import type { Secrets } from '../platform/encryption.ts';
import { searchResult } from '../platform/http/answers.ts';
import { parseBody, pathId, readJson } from '../platform/http/request-body.ts';
import { newId } from '../platform/ids.ts';
import { allowedUrlsOf, insertOrg, type Org, requireOrg, searchOrgs, setAllowedUrls } from './organizations.ts';

/** `GET, PUT /management/v1/orgs/me/allowed_urls`: where the links in an organization's emails may lead. */

const PATH = '/management/v1/orgs/me/allowed_urls';

export function allowedUrlRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.get(PATH, async (req, res) => {
    const caller = callerOf(res);
    const orgId = selectedOrg(req, caller);
    requirePermission(caller, 'getAllowedUrls', orgId);
    const { sequence, changedAt } = await requireOrg(pool, orgId);
    res.json({
      details: details({ sequence, changedAt, resourceOwner: orgId }),
      allowedUrls: await allowedUrlsOf(pool, orgId),
    });
  });
  router.put(PATH, async (req, res) => {
    const caller = callerOf(res);
    const orgId = selectedOrg(req, caller);
    requirePermission(caller, 'setAllowedUrls', orgId);
    const { allowedUrls } = parseBody(allowedUrlsBody, await readJson(req, res), 'ALLOWED-URLS');
    const { sequence, createdAt: changedAt } = await transaction(pool, async (db) => {
      await requireOrg(db, orgId);
      return setAllowedUrls(db, orgId, allowedUrls, caller.userId);
    });
    res.json({ details: details({ sequence, changedAt, resourceOwner: orgId }) });
  });
  return router;
}

/**
 * `GET, PUT /management/v1/orgs/me/sign_in_names`: which names the users of an organization sign in with.
 * `src/directory/users/store.ts` says to whom a name belongs.
 */

const PATH2 = '/management/v1/orgs/me/sign_in_names';

export type SignInName = (typeof SIGN_IN_NAMES)[number];

export function signInNameRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.get(PATH2, async (req, res) => {
    const orgId = permitted(req, callerOf(res), 'getSignInNames');
    const { sequence, changedAt } = await requireOrg(pool, orgId);
    const signInNames = await signInNamesOf(pool, orgId);
    res.json({ details: details({ sequence, changedAt, resourceOwner: orgId }), signInNames });
  });
  router.put(PATH2, async (req, res) => {
    const caller = callerOf(res);
    const orgId = permitted(req, caller, 'setSignInNames');
    const { signInNames } = parseBody(signInNamesBody, await readJson(req, res), 'SIGN-IN-NAMES');
    const { sequence, createdAt: changedAt } = await transaction(pool, async (db) => {
      await requireOrg(db, orgId);
      return setSignInNames(db, orgId, signInNames, caller.userId);
    });
    res.json({ details: details({ sequence, changedAt, resourceOwner: orgId }) });
  });
  return router;
}

function permitted(
  req: Request,
  caller: ReturnType<typeof callerOf>,
  operation: 'getSignInNames' | 'setSignInNames',
): string {
  const orgId = selectedOrg(req, caller);
  requirePermission(caller, operation, orgId);
  return orgId;
}

async function setSignInNames(db: Db, orgId: string, signInNames: SignInName[], editor: string) {
  const event = await appendEvent(db, {
    aggregateType: 'organization',
    aggregateId: orgId,
    resourceOwner: orgId,
    type: 'organization.sign_in_names.set',
    editor,
    payload: { signInNames },
  });
  const text = 'update organizations set sign_in_names = $2, sequence = $3, changed_at = $4 where id = $1';
  await db.query(text, [orgId, signInNames, event.sequence, event.createdAt]);
  return event;
}

/** The names of an organization; without one, and for one that does not exist, all. */
export async function signInNamesOf(db: Db, orgId: string | undefined): Promise<readonly SignInName[]> {
  if (orgId === undefined) return SIGN_IN_NAMES;
  const { rows } = await db.query<{ names: SignInName[] }>(
    'select sign_in_names as names from organizations where id = $1',
    [orgId],
  );
  return rows[0]?.names ?? SIGN_IN_NAMES;
}

/** Organization routes: create, get, search. */

/** `/admin/v1/orgs/:orgId`, except the actions `_setup` and `_search`. */
const ONE_ORG = /^\/admin\/v1\/orgs\/(?!_(?:setup|search)\/?$)(?<orgId>[^/]+)\/?$/i;

export function orgRoutes(deps: { pool: Pool; config: Pick<Config, 'baseUrl'> }): Router {
  const { pool } = deps;
  const router = Router();
  router.post('/management/v1/orgs', async (req, res) => {
    requirePermission(callerOf(res), 'createOrg');
    const { orgId, ...org } = parseBody(newOrg, await readJson(req, res), 'ORG-INVALID');
    const id = orgId ?? newId();
    const editor = callerOf(res).userId;
    const event = await transaction(pool, (db) => insertOrg(db, { ...org, id }, deps.config.baseUrl, editor));
    res.json({ id, details: details({ ...event, changedAt: event.createdAt, resourceOwner: id }) });
  });
  router.get(ONE_ORG, async (req, res) => {
    requirePermission(callerOf(res), 'getOrg');
    res.json({ org: orgView(await requireOrg(pool, pathId(req, 'orgId'))) });
  });
  router.post('/admin/v1/orgs/_search', async (req, res) => {
    requirePermission(callerOf(res), 'searchOrgs');
    const { query, queries } = parseBody(orgSearch, await readJson(req, res), 'ORG-SEARCH');
    const { total, orgs } = await searchOrgs(pool, queries, query);
    res.json(searchResult(total, orgs.map(orgView)));
  });
  router.get('/management/v1/orgs/me', async (req, res) => {
    const caller = callerOf(res);
    const orgId = selectedOrg(req, caller);
    requirePermission(caller, 'getMyOrg', orgId);
    res.json({ org: orgView(await requireOrg(pool, orgId)) });
  });
  return router.use(allowedUrlRoutes(deps)).use(signInNameRoutes(deps));
}

function orgView(org: Org): Record<string, unknown> {
  return {
    id: org.id,
    details: details({ ...org, resourceOwner: org.id }),
    state: 'ORG_STATE_ACTIVE',
    name: org.name,
    primaryDomain: org.domain,
  };
}

/** Route for the secret that signs an organization's webhooks. */

export function webhookRoutes({ pool, secrets }: { pool: Pool; secrets: Secrets }): Router {
  return Router().put('/management/v1/orgs/me/webhook_secret', async (req, res) => {
    const caller = callerOf(res);
    const orgId = selectedOrg(req, caller);
    requirePermission(caller, 'setWebhookSecret', orgId);
    const { secret, event } = await transaction(pool, async (db) => {
      await requireOrg(db, orgId);
      return setWebhookSecret(db, secrets, orgId, caller.userId);
    });
    const { sequence, createdAt: changedAt } = event;
    res.json({ secret, details: details({ sequence, changedAt, resourceOwner: orgId }) });
  });
}
