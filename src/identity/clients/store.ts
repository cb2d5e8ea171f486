/**
 * OAuth clients: the applications that people log in to. They belong to the instance.
 * Only the SHA-256 of a secret is stored.
 */

import { INSTANCE } from '../../access/members.ts';
import { type AppendedEvent, appendEvent } from '../../db/events.ts';
import type { Db } from '../../db/pool.ts';

/** The names of OpenID Connect Dynamic Client Registration 1.0 section 2 (`token_endpoint_auth_method`). */
export const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post'] as const;
export type AuthMethod = (typeof AUTH_METHODS)[number];

/** The grant types of RFC 7591 section 2 (`grant_types`) that a registered client may use. */
export const GRANT_TYPES = ['authorization_code', 'refresh_token', 'client_credentials'] as const;
export type GrantType = (typeof GRANT_TYPES)[number];

/** A client as the authorization server needs it. */
export interface Client {
  clientId: string;
  name: string;
  redirectUris: string[];
  postLogoutRedirectUris: string[];
  grantTypes: GrantType[];
  authMethod: AuthMethod;
  /** Whether it must use PKCE; always true when `authMethod` is `none`. */
  pkceRequired: boolean;
  /** Those that it may request; absent or null: all. */
  scopes?: string[] | null | undefined;
  /** Null exactly when `authMethod` is `none`. */
  secretHash: Buffer | null;
}

export interface ListedClient extends Client {
  sequence: string;
  createdAt: Date;
}

const COLUMNS = `id as "clientId", name, redirect_uris as "redirectUris",
  post_logout_redirect_uris as "postLogoutRedirectUris", grant_types as "grantTypes", auth_method as "authMethod",
  pkce_required as "pkceRequired", scopes, secret_hash as "secretHash"`;

export async function findClient(db: Db, clientId: string): Promise<Client | undefined> {
  const { rows } = await db.query<Client>(`select ${COLUMNS} from oauth_clients where id = $1`, [clientId]);
  return rows[0];
}

/** All clients, oldest first. */
export async function listClients(db: Db): Promise<ListedClient[]> {
  const { rows } = await db.query<ListedClient>(
    `select ${COLUMNS}, sequence, created_at as "createdAt" from oauth_clients order by id`,
  );
  return rows;
}

/** Call it in a transaction. */
export async function addClient(db: Db, client: Client, editor: string): Promise<AppendedEvent> {
  const event = await clientEvent(db, client.clientId, 'added', editor, { name: client.name });
  await db.query(
    `insert into oauth_clients (id, name, redirect_uris, post_logout_redirect_uris, grant_types, auth_method,
       pkce_required, scopes, secret_hash, sequence) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      client.clientId,
      client.name,
      client.redirectUris,
      client.postLogoutRedirectUris,
      client.grantTypes,
      client.authMethod,
      client.pkceRequired,
      client.scopes ?? null,
      client.secretHash,
      event.sequence,
    ],
  );
  return event;
}

/** Call it in a transaction; undefined when there is no such client. */
export async function removeClient(db: Db, clientId: string, editor: string): Promise<AppendedEvent | undefined> {
  const { rowCount } = await db.query('delete from oauth_clients where id = $1', [clientId]);
  return rowCount ? clientEvent(db, clientId, 'removed', editor) : undefined;
}

function clientEvent(
  db: Db,
  clientId: string,
  change: 'added' | 'removed',
  editor: string,
  payload?: { name: string },
): Promise<AppendedEvent> {
  return appendEvent(db, {
    aggregateType: 'client',
    aggregateId: clientId,
    resourceOwner: INSTANCE,
    type: `client.${change}`,
    editor,
    ...(payload ? { payload } : {}),
  });
}
