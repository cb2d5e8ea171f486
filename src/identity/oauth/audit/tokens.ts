/**
 * Records what clients do at the authorization server: tokens issued, refreshed, revoked and refused, and sign-outs.
 *
 * Guarantee: a response with a token is sent only after its event is stored.
 * On crash: between the token and its event, the client has not received the token.
 */
import type { KoaContextWithOIDC, Provider } from 'oidc-provider';
import { recordFailure } from '../../../audit/failures.ts';
import type { AuditType } from '../../../audit/types.ts';
import { type AuditEvent, recordAudit } from '../../../db/audit.ts';
import type { Db } from '../../../db/pool.ts';
import { publish } from '../../../observations.ts';
import { nameCaller } from '../../../request-context.ts';
import { mayRevoke } from '../policies.ts';

/** A device polls until its user has decided. */
const WAITING: ReadonlySet<unknown> = new Set(['authorization_pending', 'slow_down']);

/** Mount it after `answerFaults`, which handles a database that does not answer. */
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
