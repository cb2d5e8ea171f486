/**
 * OAuth clients: the applications that people log in to. They belong to the instance. Only the SHA-256 of a secret is
 * stored. Browsers let pages of the origins of their redirect URIs call the service.
 *
 * Guarantee: a new client's origin is known at once, to every process; a removed one is forgotten within `freshMs`.
 * Requests from known origins read the database once per `freshMs`, and all others share one read at a time.
 */
import type { ClientClaim } from '../contract/claims.ts';
import { type AuthMethod, type GrantType, webOrigin } from '../contract/clients.ts';
import { INSTANCE } from '../directory/members.ts';
import { type AppendedEvent, appendEvent } from '../platform/db/events.ts';
import type { Db } from '../platform/db/pool.ts';
import { columnList, type Named, type Names } from '../platform/db/rows.ts';
import type { OauthClients } from '../platform/db/tables.ts';

/** A client as the authorization server needs it. */
const CLIENT = {
  clientId: 'id',
  name: 'name',
  redirectUris: 'redirect_uris',
  postLogoutRedirectUris: 'post_logout_redirect_uris',
  /** Null exactly when `authMethod` is `none`. */
  secretHash: 'secret_hash',
  /** Whether it must use PKCE; always true when `authMethod` is `none`. */
  pkceRequired: 'pkce_required',
} as const satisfies Names<OauthClients>;

export interface Client extends Named<OauthClients, typeof CLIENT> {
  grantTypes: GrantType[];
  authMethod: AuthMethod;
  /** Scopes that it may request; absent or null: all. */
  scopes?: OauthClients['scopes'] | undefined;
  /** What it reads beside the standard claims. */
  claims: ClientClaim[];
  /** The form of the access tokens of its users. */
  accessTokenType: 'opaque' | 'jwt';
}

export interface ListedClient extends Client, Named<OauthClients, { sequence: 'sequence'; createdAt: 'created_at' }> {}

const COLUMNS = `${columnList(CLIENT)}, grant_types as "grantTypes", auth_method as "authMethod", scopes, claims,
  access_token_type as "accessTokenType"`;

/** The registered client with this id. */
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

/** Stores a client. Call it in a transaction. */
export async function addClient(db: Db, client: Client, editor: string): Promise<AppendedEvent> {
  const event = await clientEvent(db, client.clientId, 'added', editor, { name: client.name });
  await db.query(
    `insert into oauth_clients (id, name, redirect_uris, post_logout_redirect_uris, grant_types, auth_method,
       pkce_required, scopes, secret_hash, sequence, claims, access_token_type)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
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
      JSON.stringify(client.claims),
      client.accessTokenType,
    ],
  );
  return event;
}

/**
 * Locks a client, changes it as `change` says, and stores it; undefined when there is none. Call it in a transaction.
 * @param change returns the whole client; what it throws ends the change
 */
export async function updateClient(
  db: Db,
  { clientId, editor }: { clientId: string; editor: string },
  change: (client: Client) => Client,
): Promise<AppendedEvent | undefined> {
  const { rows } = await db.query<Client>(`select ${COLUMNS} from oauth_clients where id = $1 for update`, [clientId]);
  const before = rows[0];
  if (!before) return undefined;
  const client = change(before);
  await db.query(
    `update oauth_clients set name = $2, redirect_uris = $3, post_logout_redirect_uris = $4, grant_types = $5,
       pkce_required = $6, scopes = $7, claims = $8, access_token_type = $9 where id = $1`,
    [
      clientId,
      client.name,
      client.redirectUris,
      client.postLogoutRedirectUris,
      client.grantTypes,
      client.pkceRequired,
      client.scopes ?? null,
      JSON.stringify(client.claims),
      client.accessTokenType,
    ],
  );
  return clientEvent(db, clientId, 'changed', editor, { name: client.name });
}

/** Removes a client; undefined when there is none. Call it in a transaction. */
export async function removeClient(db: Db, clientId: string, editor: string): Promise<AppendedEvent | undefined> {
  const { rowCount } = await db.query('delete from oauth_clients where id = $1', [clientId]);
  return rowCount ? clientEvent(db, clientId, 'removed', editor) : undefined;
}

function clientEvent(
  db: Db,
  clientId: string,
  change: 'added' | 'changed' | 'removed',
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

const FRESH_MS = 10_000;

export interface Origins {
  has(origin: string): Promise<boolean>;
}

/**
 * Opens the origins of the registered clients' redirect URIs.
 * @param freshMs how long what was read counts, in milliseconds
 */
export function openOrigins(db: Db, freshMs: number = FRESH_MS): Origins {
  let known: ReadonlySet<string | undefined> = new Set();
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  async function read(): Promise<void> {
    const startedAt = performance.now();
    const { rows } = await db.query<{ uri: OauthClients['redirect_uris'][number] }>(
      'select distinct unnest(redirect_uris) as uri from oauth_clients',
    );
    known = new Set(rows.map(({ uri }) => webOrigin(uri)));
    readAt = startedAt;
  }

  const isFresh = (origin: string) => known.has(origin) && performance.now() - readAt < freshMs;

  return {
    async has(origin) {
      if (isFresh(origin)) return true;
      // A read in progress may have begun before the client was registered.
      await reading;
      if (isFresh(origin)) return true;
      reading ??= read().finally(() => {
        reading = undefined;
      });
      await reading;
      return known.has(origin);
    },
  };
}
