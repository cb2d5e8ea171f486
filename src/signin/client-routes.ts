/**
 * Routes for OAuth clients, which only an IAM_OWNER may register and remove.
 * Guarantee: a secret appears only in the response of the call that created it.
 */
import { type Request, type Response, Router } from 'express';
import { newClient } from '../contract/clients.ts';
import { callerOf, requirePermission } from '../contract/permissions.ts';
import { INSTANCE } from '../directory/members.ts';
import { revokeClientGrants } from '../directory/revocation.ts';
import { details } from '../platform/db/events.ts';
import { type Pool, transaction } from '../platform/db/pool.ts';
import { ApiError } from '../platform/errors.ts';
import { searchResult } from '../platform/http/answers.ts';
import { parseBody, pathId, readJson } from '../platform/http/request-body.ts';
import { newId, randomToken, tokenHash } from '../platform/ids.ts';
import { addClient, type ListedClient, listClients, removeClient } from './clients.ts';

/** Routes of OAuth clients. */
export function clientRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  router.post('/admin/v1/clients', (req, res) => add(pool, req, res));
  router.get('/admin/v1/clients', async (_req, res) => {
    requirePermission(callerOf(res), 'listClients');
    const clients = await listClients(pool);
    res.json(searchResult(clients.length, clients.map(clientView)));
  });
  router.delete('/admin/v1/clients/:clientId', async (req, res) => {
    const caller = callerOf(res);
    requirePermission(caller, 'removeClient');
    const clientId = pathId(req, 'clientId');
    const event = await transaction(pool, async (db) => {
      const removed = await removeClient(db, clientId, caller.userId);
      await revokeClientGrants(db, clientId);
      return removed;
    });
    if (!event) throw new ApiError('NOT_FOUND', 'CLIENT-NOT-FOUND', 'The client does not exist.');
    res.json({
      details: details({ sequence: event.sequence, changedAt: event.createdAt, resourceOwner: INSTANCE }),
    });
  });
  return router;
}

async function add(pool: Pool, req: Request, res: Response): Promise<void> {
  const caller = callerOf(res);
  requirePermission(caller, 'addClient');
  const client = parseBody(newClient, await readJson(req, res), 'CLIENT-INVALID');
  const clientId = newId();
  const clientSecret = client.authMethod === 'none' ? undefined : randomToken();
  const secretHash = clientSecret === undefined ? null : tokenHash(clientSecret);
  const event = await transaction(pool, (db) => addClient(db, { ...client, clientId, secretHash }, caller.userId));
  res.json({
    clientId,
    ...(clientSecret === undefined ? {} : { clientSecret }),
    details: details({ ...event, changedAt: event.createdAt, resourceOwner: INSTANCE }),
  });
}

function clientView(client: ListedClient) {
  const { clientId, name, redirectUris, postLogoutRedirectUris, grantTypes, authMethod, pkceRequired, scopes } = client;
  return {
    clientId,
    name,
    redirectUris,
    postLogoutRedirectUris,
    grantTypes,
    authMethod,
    pkceRequired,
    ...(scopes ? { scopes } : {}),
    details: details({ ...client, changedAt: client.createdAt, resourceOwner: INSTANCE }),
  };
}
