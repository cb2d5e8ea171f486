/**
 * Routes for OAuth clients, which only an IAM_OWNER may register and remove.
 * Guarantee: a secret appears only in the response of the call that created it.
 */
import { Router } from 'express';
import { clientOperations as operations } from '../contract/clients.ts';
import { instance, serve } from '../contract/serve.ts';
import { INSTANCE } from '../directory/members.ts';
import { revokeClientGrants } from '../directory/revocation.ts';
import { changedAnswer, details, newDetails } from '../platform/db/events.ts';
import { type Pool, transaction } from '../platform/db/pool.ts';
import { ApiError } from '../platform/errors.ts';
import { searchResult } from '../platform/http/answers.ts';
import { newId, randomToken, tokenHash } from '../platform/ids.ts';
import { addClient, type ListedClient, listClients, removeClient } from './clients.ts';

/** Routes of OAuth clients. */
export function clientRoutes({ pool }: { pool: Pool }): Router {
  const router = Router();
  serve(router, operations.addClient, instance, async ({ caller, body: client }) => {
    const clientId = newId();
    const clientSecret = client.authMethod === 'none' ? undefined : randomToken();
    const secretHash = clientSecret === undefined ? null : tokenHash(clientSecret);
    const event = await transaction(pool, (db) => addClient(db, { ...client, clientId, secretHash }, caller.userId));
    return {
      clientId,
      ...(clientSecret === undefined ? {} : { clientSecret }),
      details: newDetails(event, INSTANCE),
    };
  });
  serve(router, operations.listClients, instance, async () => {
    const clients = await listClients(pool);
    return searchResult(clients.length, clients.map(clientView));
  });
  serve(router, operations.removeClient, instance, async ({ caller, params: { clientId } }) => {
    const event = await transaction(pool, async (db) => {
      const removed = await removeClient(db, clientId, caller.userId);
      await revokeClientGrants(db, clientId);
      return removed;
    });
    if (!event) throw new ApiError('NOT_FOUND', 'CLIENT-NOT-FOUND', 'The client does not exist.');
    return changedAnswer(event, INSTANCE);
  });
  return router;
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
