/**
 * The clients of the token endpoint: registered clients, and machine users with a secret, whose client id is their user
 * id. They are read from the database on each use, so a removed one is refused from the next request on.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Adapter, ClientMetadata } from 'oidc-provider';
import { applicationType } from '../../contract/clients.ts';
import { accountClient, cliClients, consoleClient, consoleSecret } from '../../contract/own-clients.ts';
import type { Config } from '../../platform/config.ts';
import type { Db } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';
import { idProblem } from '../../platform/fields.ts';
import { tokenHash } from '../../platform/ids.ts';
import { type Client, findClient } from '../clients.ts';
import { findMachineClient } from '../machines/machine.ts';
import { CLIENT_CLAIMS } from './claims.ts';

/** RFC 7523 section 2.1. */
export const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** The client of machine users without client credentials: with a signed assertion or a personal access token. */
export const SERVICE_USER_CLIENT = 'urn:service:iam:service-user';
/** Additional metadata of a machine user's client: the type of its access tokens. */
export const ACCESS_TOKEN_TYPE = 'access_token_type';

/** Additional metadata of a registered client: whether it must use PKCE; absent: it must. */
export const PKCE_REQUIRED = 'pkce_required';

/** Additional metadata of a registered client: `jwt` if the access tokens of its users are JWTs. */
export const ACCESS_TOKEN_FORMAT = 'access_token_format';

/** Built-in clients, which are not in the database. */
export function staticClients(
  { CLI_LOGIN, baseUrl }: Pick<Config, 'CLI_LOGIN' | 'baseUrl'>,
  secrets: Pick<Secrets, 'key'>,
): ClientMetadata[] {
  const forConsole = { ...consoleClient(baseUrl), client_secret: storedSecret(tokenHash(consoleSecret(secrets))) };
  // Nobody knows this secret, or needs it.
  const secret = storedSecret(secrets.key('account-client'));
  const forAccount = { ...accountClient(baseUrl), client_secret: secret };
  return [SERVICE_USERS, forConsole, forAccount, ...cliClients(CLI_LOGIN)];
}

const SERVICE_USERS: ClientMetadata = {
  client_id: SERVICE_USER_CLIENT,
  token_endpoint_auth_method: 'none',
  grant_types: [JWT_BEARER],
  response_types: [],
  redirect_uris: [],
};

/** The library reads clients through an adapter and writes none. */
export function openClientAdapter(db: Db): Adapter {
  const readOnly = async () => {
    throw new Error('The protocol library does not write clients.');
  };
  return {
    find: (id) => clientMetadata(db, id),
    upsert: readOnly,
    findByUid: readOnly,
    findByUserCode: readOnly,
    consume: readOnly,
    destroy: readOnly,
    revokeByGrantId: readOnly,
  };
}

async function clientMetadata(db: Db, clientId: string): Promise<ClientMetadata | undefined> {
  if (idProblem(clientId)) return undefined;
  const client = await findClient(db, clientId);
  return client ? registered(client) : await machine(db, clientId);
}

function registered(client: Client): ClientMetadata {
  const { redirectUris, postLogoutRedirectUris, grantTypes } = client;
  return {
    client_id: client.clientId,
    client_name: client.name,
    application_type: applicationType(redirectUris, postLogoutRedirectUris),
    redirect_uris: redirectUris,
    post_logout_redirect_uris: postLogoutRedirectUris,
    grant_types: [...grantTypes],
    response_types: grantTypes.includes('authorization_code') ? ['code'] : [],
    token_endpoint_auth_method: client.authMethod,
    [PKCE_REQUIRED]: client.pkceRequired,
    [CLIENT_CLAIMS]: client.claims,
    [ACCESS_TOKEN_FORMAT]: client.accessTokenType,
    ...(client.scopes ? { scope: client.scopes.join(' ') } : {}),
    ...(client.secretHash ? { client_secret: storedSecret(client.secretHash) } : {}),
  };
}

async function machine(db: Db, userId: string): Promise<ClientMetadata | undefined> {
  const found = await findMachineClient(db, userId);
  if (!found) return undefined;
  return {
    client_id: userId,
    redirect_uris: [],
    response_types: [],
    grant_types: ['client_credentials', JWT_BEARER],
    token_endpoint_auth_method: 'client_secret_basic',
    client_secret: storedSecret(found.secretHash),
    [ACCESS_TOKEN_TYPE]: found.accessTokenType,
  };
}

/** The library expects a secret as text; ours is a hash. */
function storedSecret(hash: Buffer): string {
  return hash.toString('base64url');
}

/** Whether `shown` is the secret whose hash `storedSecret` encoded. */
export function secretMatches(stored: string | undefined, shown: string): boolean {
  const expected = Buffer.from(stored ?? '', 'base64url');
  const actual = tokenHash(shown);
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}
