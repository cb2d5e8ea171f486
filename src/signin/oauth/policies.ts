/**
 * Which clients may introspect and revoke a token, which web pages may call the endpoints, and the record of what
 * clients do: tokens issued, refreshed, revoked and refused, and sign-outs.
 *
 * Guarantee: a response with a token is sent only after its event is stored.
 *
 * On crash: between the token and its event, the client has not received the token.
 */
import {
  type AccessToken,
  type Client,
  type ClientCredentials,
  errors,
  type KoaContextWithOIDC,
  type Provider,
  type RefreshToken,
} from 'oidc-provider';
import { webOrigin } from '../../contract/clients.ts';
import type { AuditType } from '../../contract/events.ts';
import { recordFailure } from '../../directory/sign-in-events.ts';
import { type AuditEvent, recordAudit } from '../../platform/db/events.ts';
import type { Db } from '../../platform/db/pool.ts';
import { nameCaller } from '../../platform/request-context.ts';
import { publish } from '../../platform/telemetry.ts';
import { PAT } from './machine-tokens.ts';

type Token = AccessToken | ClientCredentials | RefreshToken;

/**
 * A client with a secret is a resource server and may introspect any access token. All clients may introspect their own
 * tokens; nobody may introspect other clients' refresh tokens (RFC 7662 section 4).
 */
export function mayIntrospect(client: Client, token: Token): boolean {
  if (isOwn(client, token)) return true;
  return client.tokenEndpointAuthMethod !== 'none' && token.kind !== 'RefreshToken';
}

/**
 * Only the client that a token was issued to may revoke it (RFC 7009 section 2.1).
 * @throws OIDCProviderError for another client's token if the client has a secret, and for personal access tokens
 */
export function mayRevoke(client: Client, token: Token): boolean {
  if ('gty' in token && token.gty === PAT) {
    throw new errors.UnsupportedTokenType(
      'personal access tokens cannot be revoked here: delete them through the management API',
    );
  }
  if (isOwn(client, token)) return true;
  // Without a secret, anybody could call this and learn that the token is valid.
  if (client.tokenEndpointAuthMethod === 'none') return false;
  throw new errors.InvalidRequest('the token was not issued to this client');
}

/** Whether the token was issued to the client, or to the machine user that the client represents. */
function isOwn(client: Client, token: Token): boolean {
  return token.clientId === client.clientId || ('accountId' in token && token.accountId === client.clientId);
}

/** Whether the client runs in the browser, at this origin: it has no secret, and a redirect URI of this origin. */
export function isBrowserClient(client: Client, origin: string): boolean {
  return (
    client.tokenEndpointAuthMethod === 'none' && (client.redirectUris ?? []).some((uri) => webOrigin(uri) === origin)
  );
}

/** Errors that are not recorded: a device polls until its user has decided. */
const WAITING: ReadonlySet<unknown> = new Set(['authorization_pending', 'slow_down']);

/** Records what clients do. Mount it after `answerFaults`, which handles a database that does not answer. */
export function auditTokens(provider: Provider, db: Db): void {
  provider.use(async (ctx, next) => {
    await next();
    const { oidc } = ctx as Partial<KoaContextWithOIDC>;
    if (oidc) await record(db, ctx as KoaContextWithOIDC);
  });
}

async function record(db: Db, ctx: KoaContextWithOIDC): Promise<void> {
  const { route, client, account } = ctx.oidc;
  if (ctx.status < 400) nameCaller({ clientId: client?.clientId, userId: account?.accountId });
  if (route === 'token') return ctx.status < 400 ? issued(db, ctx) : refused(db, ctx);
  if (route === 'revocation' && ctx.status < 400) return revoked(db, ctx);
  if (route === 'end_session_confirm' && ctx.status < 400) return signedOut(db, ctx);
}

async function issued(db: Db, ctx: KoaContextWithOIDC): Promise<void> {
  const { params, entities } = ctx.oidc;
  const { accountId: userId, scope } = entities.AccessToken ?? { scope: entities.ClientCredentials?.scope };
  nameCaller({ clientId: ctx.oidc.client?.clientId, userId });
  const type: AuditType = params?.grant_type === 'refresh_token' ? 'oauth.token.refreshed' : 'oauth.token.issued';
  await recordAudit(db, { type, ...ofClient(ctx, userId), payload: { grantType: params?.grant_type, scope } });
  publish('token', String(params?.grant_type));
}

async function refused(db: Db, ctx: KoaContextWithOIDC): Promise<void> {
  const { error } = ctx.body as { error?: unknown };
  if (ctx.status >= 500 || WAITING.has(error)) return;
  const { client, params, entities } = ctx.oidc;
  const userId = (entities.RefreshToken ?? entities.AuthorizationCode)?.accountId;
  const grantType = String(params?.grant_type).slice(0, 100);
  const payload = { reason: String(error), grantType };
  await recordFailure(db, { type: 'oauth.token.refused', clientId: client?.clientId, userId, payload });
}

async function revoked(db: Db, ctx: KoaContextWithOIDC): Promise<void> {
  const { client, entities } = ctx.oidc;
  const token = entities.AccessToken ?? entities.RefreshToken ?? entities.ClientCredentials;
  if (!client || !token || !mayRevoke(client, token)) return;
  const userId = 'accountId' in token ? token.accountId : undefined;
  await recordAudit(db, { type: 'oauth.token.revoked', ...ofClient(ctx, userId), payload: { kind: token.kind } });
}

async function signedOut(db: Db, { oidc: { session, params, client } }: KoaContextWithOIDC): Promise<void> {
  const userId = session?.accountId;
  if (!params?.logout || !userId) return;
  nameCaller({ userId });
  await recordAudit(db, { type: 'user.signout', actor: userId, userId, clientId: client?.clientId });
}

/** The actor is the user of the token, or the client that acts for itself. */
function ofClient({ oidc: { client } }: KoaContextWithOIDC, userId: string | undefined): Partial<AuditEvent> {
  const clientId = client?.clientId;
  return userId === undefined ? { actingClient: clientId, clientId } : { actor: userId, userId, clientId };
}
