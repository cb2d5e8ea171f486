/**
 * Presents personal access tokens to the protocol library as access tokens, so that resource servers can introspect
 * them like any other (RFC 7662).
 */
import type { AdapterPayload } from 'oidc-provider';
import { tokenHash } from '../../../access/random-token.ts';
import type { Db } from '../../../db/pool.ts';
import { API_SCOPE } from '../../api-scope.ts';
import { SERVICE_USER_CLIENT } from '../clients.ts';

/** The grant type (`gty`) that marks these tokens in the library. */
export const PAT = 'personal_access_token';

interface PatRow {
  userId: string;
  /** Seconds since 1970. */
  iat: number;
  exp: number | null;
}

/** The token, if it is valid and its user is active. */
export async function findPatToken(db: Db, token: string): Promise<AdapterPayload | undefined> {
  const { rows } = await db.query<PatRow>(
    `select t.user_id as "userId", floor(extract(epoch from t.created_at))::float8 as iat,
       floor(extract(epoch from t.expires_at))::float8 as exp
     from personal_access_tokens t join users u on u.id = t.user_id
     where t.token_hash = $1 and (t.expires_at is null or t.expires_at > now()) and u.state = 'active'`,
    [tokenHash(token)],
  );
  const row = rows[0];
  if (!row) return undefined;
  return {
    kind: 'AccessToken',
    jti: token,
    gty: PAT,
    accountId: row.userId,
    clientId: SERVICE_USER_CLIENT,
    scope: API_SCOPE,
    iat: row.iat,
    ...(row.exp === null ? {} : { exp: row.exp }),
  };
}
