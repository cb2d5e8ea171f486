/** Which fields of the protocol library's models have their own columns, and which are stored at all. */
import type { AdapterPayload } from 'oidc-provider';
import { modelKey, userCodeHash } from './token-key.ts';

/** Models that end with their grant. */
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
  /** For a session, its uid; for an access token, the uid of the session it ends with. */
  sessionUid: string | null;
  scope: string | null;
  /** For a device code, the hash of the code that the user types. */
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

/** For a login in progress: the user whose password was just checked, else the user who was logged in before. */
function userOf({ accountId, result, session }: AdapterPayload): string | undefined {
  return accountId ?? result?.login?.accountId ?? session?.accountId;
}

/** The payload without the issued ids, which somebody who reads the database could use. */
export function storable({ jti: _, userCode: __, session, ...payload }: AdapterPayload): Record<string, unknown> {
  if (!session) return payload;
  const { cookie: ___, ...rest } = session as NonNullable<AdapterPayload['session']> & { cookie?: string };
  return { ...payload, session: rest };
}
