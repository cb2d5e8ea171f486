/**
 * Routes for OAuth clients, which only an IAM_OWNER may register and remove.
 * Guarantee: a secret appears only in the response of the call that created it.
 */
import { Router } from 'express';
import { claimsOfRequest } from '../contract/claims.ts';
import { contradictions, clientOperations as operations } from '../contract/clients.ts';
import { instance, serve } from '../contract/serve.ts';
import { INSTANCE } from '../directory/members.ts';
import { revokeClientGrants } from '../directory/revocation.ts';
import type { Config } from '../platform/config.ts';
import { changedAnswer, details, newDetails } from '../platform/db/events.ts';
import { type Pool, transaction } from '../platform/db/pool.ts';
import { ApiError } from '../platform/errors.ts';
import { searchResult } from '../platform/http/answers.ts';
import { badFields } from '../platform/http/parse.ts';
import { newId, randomToken, tokenHash } from '../platform/ids.ts';
import { addClient, type Client, type ListedClient, listClients, removeClient, updateClient } from './clients.ts';

export interface ClientDeps {
  pool: Pool;
  config: Pick<Config, 'baseUrl'>;
}

/** Routes of OAuth clients. */
export function clientRoutes({ pool, config: { baseUrl } }: ClientDeps): Router {
  const router = Router();
  serve(router, operations.addClient, instance, async ({ caller, body: client }) => {
    const clientId = newId();
    const clientSecret = client.authMethod === 'none' ? undefined : randomToken();
    const secretHash = clientSecret === undefined ? null : tokenHash(clientSecret);
    const { claims = [], accessTokenType = 'opaque' } = claimsOfRequest(client, baseUrl);
    const added = { ...client, claims, accessTokenType, clientId, secretHash };
    const event = await transaction(pool, (db) => addClient(db, added, caller.userId));
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
  serve(router, operations.updateClient, instance, async ({ caller, params: { clientId }, body: changes }) => {
    const { claims, accessTokenType } = claimsOfRequest(changes, baseUrl);
    const given = { ...changes, claims, accessTokenType };
    const event = await transaction(pool, (db) =>
      updateClient(db, { clientId, editor: caller.userId }, (client) => changed(client, given)),
    );
    if (!event) throw notFound();
    return changedAnswer(event, INSTANCE);
  });
  serve(router, operations.removeClient, instance, async ({ caller, params: { clientId } }) => {
    const event = await transaction(pool, async (db) => {
      const removed = await removeClient(db, clientId, caller.userId);
      await revokeClientGrants(db, clientId);
      return removed;
    });
    if (!event) throw notFound();
    return changedAnswer(event, INSTANCE);
  });
  return router;
}

function notFound(): ApiError {
  return new ApiError('NOT_FOUND', 'CLIENT-NOT-FOUND', 'The client does not exist.');
}

/** @throws ApiError `CLIENT-INVALID` when the client would contradict itself */
function changed(
  client: Client,
  { name, redirectUris, postLogoutRedirectUris, grantTypes, ...given }: Changes,
): Client {
  const after: Client = {
    ...client,
    name: name ?? client.name,
    redirectUris: redirectUris ?? client.redirectUris,
    postLogoutRedirectUris: postLogoutRedirectUris ?? client.postLogoutRedirectUris,
    grantTypes: grantTypes ?? client.grantTypes,
    pkceRequired: given.pkceRequired ?? client.pkceRequired,
    scopes: given.scopes ?? client.scopes,
    claims: given.claims ?? client.claims,
    accessTokenType: given.accessTokenType ?? client.accessTokenType,
  };
  const wrong = contradictions(after).map(([field, description]) => ({ field, description }));
  if (wrong.length > 0) throw badFields('CLIENT-INVALID', wrong);
  return after;
}

type Changes = { [K in keyof Omit<Client, 'clientId' | 'authMethod' | 'secretHash'>]?: Client[K] | undefined };

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
    claims: client.claims,
    accessTokenType: client.accessTokenType,
    details: details({ ...client, changedAt: client.createdAt, resourceOwner: INSTANCE }),
  };
}
