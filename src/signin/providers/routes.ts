/**
 * Routes for the identity providers of an organization and of the instance.
 *
 * Guarantee: no answer has a secret. A change and its event are one transaction, and run with the rights that the caller
 * has then.
 */
import { Router } from 'express';
import { type ChangedIdp, type NewIdp, idpOperations as operations } from '../../contract/idps.ts';
import { type Caller, requireReach } from '../../contract/permissions.ts';
import { type Asked, type Finder, instance, serve } from '../../contract/serve.ts';
import { changeableOrg, existingOrg } from '../../directory/finders.ts';
import { INSTANCE } from '../../directory/members.ts';
import { undeleted } from '../../directory/organization-states.ts';
import { requireOrg } from '../../directory/organizations.ts';
import type { Config } from '../../platform/config.ts';
import { countWithin, type Limit } from '../../platform/db/counts.ts';
import { changedAnswer, details, newDetails } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { ApiError } from '../../platform/errors.ts';
import { searchResult } from '../../platform/http/answers.ts';
import { pathId } from '../../platform/http/parse.ts';
import { checkIdp } from './check.ts';
import { changedDraft, newDraft } from './settings.ts';
import {
  addIdp,
  changeIdp,
  findIdp,
  type Idp,
  listIdps,
  lockOwner,
  redirectUriOf,
  removeIdp,
  requireMayDecide,
  secretsOf,
} from './store.ts';

export interface IdpDeps {
  pool: Pool;
  secrets: Secrets;
  config: Pick<Config, 'IDP_ALLOW_PRIVATE' | 'baseUrl'>;
}

/** Routes of identity providers. */
export function idpRoutes(deps: IdpDeps): Router {
  const { pool, config } = deps;
  const router = Router();
  const own = reachableIdp(pool);
  const view = (idp: Idp) => idpView(config.baseUrl, idp);
  const all = async (orgId: string | null) => {
    const idps = await listIdps(pool, orgId);
    return searchResult(idps.length, idps.map(view));
  };
  serve(router, operations.addIdp, changeableOrg(pool), ({ caller, target, body }) =>
    add(deps, caller, target.id, body),
  );
  serve(router, operations.listIdps, existingOrg(pool), ({ target }) => all(target.id));
  serve(router, operations.getIdp, own, ({ target }) => ({ idp: view(target) }));
  serve(router, operations.checkIdp, own, ({ target }) => checked(deps, target));
  serve(router, operations.changeIdp, own, ({ target, body, ...by }) => change(deps, by, target, body));
  serve(router, operations.removeIdp, own, ({ target, ...by }) => remove(deps, by, target));

  const ofInstance = (asked: Asked) => instanceIdp(pool, asked);
  serve(router, operations.addInstanceIdp, instance, ({ caller, body }) => add(deps, caller, null, body));
  serve(router, operations.listInstanceIdps, instance, () => all(null));
  serve(router, operations.getInstanceIdp, instance, async (by) => ({ idp: view(await ofInstance(by)) }));
  serve(router, operations.checkInstanceIdp, instance, async (by) => checked(deps, await ofInstance(by)));
  serve(router, operations.changeInstanceIdp, instance, async ({ body, ...by }) =>
    change(deps, by, await ofInstance(by), body),
  );
  serve(router, operations.removeInstanceIdp, instance, async (by) => remove(deps, by, await ofInstance(by)));
  return router;
}

async function add({ pool, secrets, config }: IdpDeps, caller: Caller, orgId: string | null, body: NewIdp) {
  const draft = newDraft(body, { allowPrivate: config.IDP_ALLOW_PRIVATE });
  const { id, event } = await transaction(pool, async (db) => {
    return addIdp(db, secrets, orgId, draft, caller);
  });
  return { idpId: id, id, details: newDetails(event, orgId ?? INSTANCE) };
}

/** Each asks the provider several times. */
const MOST_CHECKS: Limit = {
  limit: 20,
  windowMs: 60_000,
  message: 'The provider has been checked too often. Try again in a minute.',
};

async function checked(deps: IdpDeps, idp: Idp) {
  await countWithin(deps.pool, `checks of the provider ${idp.id}`, MOST_CHECKS);
  const checks = await checkIdp(deps, idp);
  return { isUsable: checks.every(({ ok }) => ok), checks };
}

/** Who changes a provider, by which operation. */
type By = Pick<Asked, 'caller' | 'operation'>;

async function change({ pool, secrets, config }: IdpDeps, by: By, { id, orgId }: Idp, body: ChangedIdp) {
  const event = await transaction(pool, async (db) => {
    const idp = await deciding(db, by, id, orgId);
    const rules = { allowPrivate: config.IDP_ALLOW_PRIVATE };
    return changeIdp(db, secrets, idp, changedDraft(idp, secretsOf(secrets, idp), body, rules), by.caller);
  });
  return changedAnswer(event, orgId ?? INSTANCE);
}

async function remove({ pool }: IdpDeps, by: By, { id, orgId }: Idp) {
  const event = await transaction(pool, async (db) =>
    removeIdp(db, await deciding(db, by, id, orgId), by.caller.userId),
  );
  return changedAnswer(event, orgId ?? INSTANCE);
}

/** The provider with its row locked, for a caller who may decide about its users. @throws ApiError 400, 403, 404 */
async function deciding(db: Db, { caller, operation }: By, id: string, orgId: string | null): Promise<Idp> {
  await lockOwner(db, orgId);
  const idp = await findIdp(db, id, 'for update');
  if (idp === undefined || idp.orgId !== orgId) throw idpNotFound();
  if (orgId !== null) {
    requireReach(caller, operation, { id, orgId }, idpNotFound);
    undeleted(await requireOrg(db, orgId));
  }
  await requireMayDecide(db, caller, idp);
  return idp;
}

/** The provider of the path, which belongs to an organization. */
function reachableIdp(pool: Pool): Finder<'idp', Idp> {
  return {
    of: 'idp',
    async find({ caller, operation, req }) {
      const idp = await findIdp(pool, pathId(req, 'idpId'));
      const owned = idp && idp.orgId !== null ? { idp, id: idp.id, orgId: idp.orgId } : undefined;
      return requireReach(caller, operation, owned, idpNotFound).idp;
    },
  };
}

/** The provider of the path, which belongs to the instance. @throws ApiError 404 */
async function instanceIdp(pool: Pool, { req }: Asked): Promise<Idp> {
  const idp = await findIdp(pool, pathId(req, 'idpId'));
  if (idp === undefined || idp.orgId !== null) throw idpNotFound();
  return idp;
}

function idpNotFound(): ApiError {
  return new ApiError('NOT_FOUND', 'IDP-NOT-FOUND', 'The identity provider does not exist.');
}

function idpView(baseUrl: string, idp: Idp) {
  const { id, orgId, type, name, settings, secretSealed } = idp;
  return {
    idpId: id,
    id,
    type,
    name,
    ...settings,
    hasSecret: secretSealed !== null,
    redirectUri: redirectUriOf(baseUrl, idp),
    details: details({ ...idp, resourceOwner: orgId ?? INSTANCE }),
  };
}
