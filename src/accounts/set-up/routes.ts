/** Sets up an organization with its first user. */
import { Router } from 'express';
import { callerOf, requirePermission } from '../../access/caller.ts';
import { details } from '../../db/events.ts';
import { readJson } from '../../http/json-body.ts';
import { parseBody } from '../../http/parse-body.ts';
import { orgSetUp } from '../../orgs/schema.ts';
import { type SetUpDeps, setUpOrg } from './set-up-org.ts';

export function setUpRoutes(deps: SetUpDeps): Router {
  return Router().post('/admin/v1/orgs/_setup', async (req, res) => {
    requirePermission(callerOf(res), 'setUpOrg');
    const body = parseBody(orgSetUp, await readJson(req, res), 'ORG-SETUP');
    const { orgId, userId, event } = await setUpOrg(deps, body, callerOf(res).userId);
    res.json({ details: details({ ...event, changedAt: event.createdAt, resourceOwner: orgId }), orgId, userId });
  });
}
