/** What of a model of the protocol library is a column of its own, and what of it is kept at all. */
import type { AdapterPayload } from 'oidc-provider';
import { modelKey, userCodeHash } from './token-key.ts';

/** Models that end with the grant that they came of. */
export const OF_GRANT: ReadonlySet<string> = new Set([
  'AuthorizationCode',
  'DeviceCode',
  'AccessToken',
  'RefreshToken',
]);

export interface Columns {
  grantHash: Buffer | null;
  userId: string | null;
  clientId: string | null;
  /** Of a session its uid; of an access token that of the session it ends with. */
  sessionUid: string | null;
  scope: string | null;
  /** Of a device code the code that a person types. */
  userCodeHash: Buffer | null;
}

export function columnsOf(kind: string, payload: AdapterPayload): Columns {
  const { grantId, sessionUid, expiresWithSession, userCode } = payload;
  return {
    grantHash: OF_GRANT.has(kind) && grantId ? modelKey('Grant', grantId) : null,
    userId: userOf(payload) ?? null,
    clientId: payload.clientId ?? null,
    sessionUid: (kind === 'Session' ? payload.uid : expiresWithSession && sessionUid) || null,
    scope: kind === 'AccessToken' ? (payload.scope ?? null) : null,
    userCodeHash: userCode ? userCodeHash(userCode) : null,
  };
}

/** Of a login under way: who has just shown a password, else who was logged in before. */
function userOf({ accountId, result, session }: AdapterPayload): string | undefined {
  return accountId ?? result?.login?.accountId ?? session?.accountId;
}

/** Without what would be good for something in the hands of a reader of the database: ids that were handed out. */
export function storable({ jti: _, userCode: __, session, ...payload }: AdapterPayload): Record<string, unknown> {
  if (!session) return payload;
  const { cookie: ___, ...rest } = session as NonNullable<AdapterPayload['session']> & { cookie?: string };
  return { ...payload, session: rest };
}
