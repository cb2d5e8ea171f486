/**
 * Stores the protocol library's models in one PostgreSQL table, so that every API process can serve every request.
 *
 * Guarantee: no row holds an issued token or code, only its hash. Models of a user are stored and found only while the
 * user is active, codes and tokens only while their grant exists: both rows are locked during the write, so nothing is
 * added while they are being revoked. A code is redeemed once; a second attempt revokes the grant and with it the
 * tokens of the first (RFC 6749 section 4.1.2), as does the reuse of a refresh token after its grace period.
 *
 * What is stored while nobody has signed in is counted by network and in all (RATE_LIMIT_UNKNOWN_KB), before it is
 * stored.
 *
 * On crash: between two statements, the incomplete part expires unused and the client requests it again.
 */
import Provider, { type Adapter, type AdapterPayload, errors } from 'oidc-provider';
import type { Config } from '../../platform/config.ts';
import { countWithin } from '../../platform/db/counts.ts';
import { sqlState } from '../../platform/db/faults.ts';
import { type Pool, prepared } from '../../platform/db/pool.ts';
import type { Named } from '../../platform/db/rows.ts';
import type { OauthModels } from '../../platform/db/tables.ts';
import { ApiError } from '../../platform/errors.ts';
import { requestContext } from '../../platform/request-context.ts';
import { networkOf } from '../login/origin.ts';
import { findPatToken } from './machine-tokens.ts';
import { modelKey, rowHandle, userCodeHash } from './tokens.ts';

interface StoredModel extends Named<OauthModels, { key: 'id_hash' }> {
  payload: AdapterPayload;
  /** Seconds since 1970. */
  consumed: number | null;
}

/**
 * SQL: a refresh token that was rotated may be used again for this time, as two tabs of an application refresh at once,
 * or a response is lost. Every such use gets the same successor (`deriveSuccessors` in patches.ts).
 */
const IN_GRACE = `m.kind = 'RefreshToken' and m.consumed_at > now() - interval '10 seconds'`;

const FIND = `select m.id_hash as key, m.payload,
    case when ${IN_GRACE} then null else extract(epoch from m.consumed_at)::float8 end as consumed
  from oauth_models m
  where m.kind = $1 and (m.user_id is null or exists (select from users u
    where u.id = m.user_id and u.state = 'active' and org_is_active(u.org_id)))`;

/**
 * `for share` waits for transactions that change the user's state, and then reads the state again. A device code gets
 * its grant only later, and keeps its user code.
 */
const UPSERT = `with owner as materialized (select from users
    where id = $4 and state = 'active' and org_is_active(org_id) for share)
  insert into oauth_models (id_hash, kind, grant_hash, user_id, client_id, session_uid, scope, user_code_hash, payload,
    expires_at, address, user_agent, used_at)
  select $1, $2, $3, $4, $5, $6, $7, $8, $9, now() + $10 * interval '1 second', $11::text, $12::text, case when $13::boolean then now() end
  where $4::text is null or exists (select from owner)
  on conflict (id_hash) do update set grant_hash = excluded.grant_hash, user_id = excluded.user_id,
    session_uid = excluded.session_uid, payload = excluded.payload, expires_at = excluded.expires_at,
    address = coalesce(excluded.address, oauth_models.address), used_at = excluded.used_at,
    user_agent = coalesce(excluded.user_agent, oauth_models.user_agent)`;

const END_GRANT = `delete from oauth_models g using oauth_models m where m.id_hash = $1 and g.id_hash = m.grant_hash`;

export interface AdapterDeps {
  pool: Pool;
  config: Pick<Config, 'RATE_LIMIT_UNKNOWN_KB'>;
}

/** @param kind the library's name of the model, such as `Session` */
export function openAdapter(deps: AdapterDeps, kind: string): Adapter {
  const { pool } = deps;
  const read = async (condition: string, value: string | Buffer): Promise<StoredModel | undefined> =>
    (await pool.query<StoredModel>(prepared(`${FIND} and ${condition}`, [kind, value]))).rows[0];
  return {
    upsert: (id, payload, expiresIn) => upsert(deps, kind, id, payload, expiresIn),
    async find(id) {
      const found = await read('m.id_hash = $2', modelKey(kind, id));
      if (found) return { ...found.payload, ...(found.consumed ? { consumed: found.consumed } : {}), jti: id };
      return kind === 'AccessToken' ? findPatToken(pool, id) : undefined;
    },
    // Without its id, which only the browser knows; callers that find a session by uid read it and do not store it.
    async findByUid(uid) {
      return (await read('m.session_uid = $2 order by m.expires_at desc limit 1', uid))?.payload;
    },
    // Without the device code, which only the device knows.
    async findByUserCode(userCode) {
      const found = await read('m.user_code_hash = $2', userCodeHash(userCode));
      return found && { ...found.payload, userCode, jti: rowHandle(found.key) };
    },
    consume: (id) => consume(pool, modelKey(kind, id)),
    async destroy(id) {
      await pool.query('delete from oauth_models where id_hash = $1', [modelKey(kind, id)]);
    },
    async revokeByGrantId(grantId) {
      const grant = modelKey('Grant', grantId);
      await pool.query('delete from oauth_models where grant_hash = $1 and kind = $2', [grant, kind]);
    },
  };
}

async function upsert(
  { pool, config }: AdapterDeps,
  kind: string,
  id: string,
  payload: AdapterPayload,
  expiresIn: number | undefined,
): Promise<undefined> {
  const { grantHash, userId, clientId, sessionUid, scope, userCodeHash } = columnsOf(kind, payload);
  const values = [modelKey(kind, id), kind, grantHash, userId, clientId, sessionUid, scope, userCodeHash];
  const text = JSON.stringify(storable(payload));
  if (isOfUnknown(kind, payload)) await countUnknown(pool, config.RATE_LIMIT_UNKNOWN_KB, text);
  try {
    const all = [...values, text, expiresIn, ...placeOf(kind)];
    const { rowCount } = await pool.query(prepared(UPSERT, all));
    if (rowCount === 0) throw gone(kind, 'the user is not active');
  } catch (error) {
    throw sqlState(error) === '23503' ? gone(kind, 'the grant has ended') : error;
  }
}

/** Whether anybody can have the model stored, without a secret; a login in progress also by who signed in before. */
function isOfUnknown(kind: string, payload: AdapterPayload): boolean {
  if (kind === 'Interaction') return payload.result === undefined;
  return (kind === 'Session' || kind === 'DeviceCode') && userOf(payload) === undefined;
}

/** What a row takes beside its payload: its columns, and its entries in the indexes. */
const ROW_BYTES = 300;
const HOUR_MS = 60 * 60_000;
/** All networks together may have stored this many times as much as one. */
const NETWORKS = 100;

/** @throws OIDCProviderError 429 `temporarily_unavailable` */
async function countUnknown(pool: Pool, limit: number, payload: string): Promise<void> {
  if (limit === 0) return;
  const units = Math.ceil((Buffer.byteLength(payload) + ROW_BYTES) / 1000);
  const message = 'Too many sign-ins have been begun. Try again later.';
  const network = networkOf(requestContext()?.address);
  try {
    await countWithin(pool, `unknown ${network}`, { limit, windowMs: HOUR_MS, message }, units);
    await countWithin(pool, 'unknown everywhere', { limit: NETWORKS * limit, windowMs: HOUR_MS, message }, units);
  } catch (error) {
    throw error instanceof ApiError ? tooMuch(error) : error;
  }
}

/** Not redirected to the application, which would begin again. */
function tooMuch({ message, retryAfterS }: ApiError): Error {
  Provider.ctx?.set('Retry-After', String(retryAfterS));
  const error = new errors.CustomOIDCProviderError('temporarily_unavailable', message);
  return Object.assign(error, { status: 429, statusCode: 429, allow_redirect: false });
}

/** From where, and with which program, a person uses a browser or an application. */
function placeOf(kind: string): [address: string | null, userAgent: string | null, isUsed: boolean] {
  const { address, userAgent } = requestContext() ?? {};
  return kind === 'Session' || kind === 'Grant' ? [address ?? null, userAgent ?? null, true] : [null, null, false];
}

async function consume(pool: Pool, key: Buffer): Promise<undefined> {
  const { rowCount } = await pool.query(
    `update oauth_models m set consumed_at = coalesce(consumed_at, now())
     where id_hash = $1 and (consumed_at is null or ${IN_GRACE})`,
    [key],
  );
  if (rowCount === 1) return;
  await pool.query(END_GRANT, [key]);
  throw new errors.InvalidGrant('already consumed');
}

function gone(kind: string, detail: string): Error {
  return OF_GRANT.has(kind) ? new errors.InvalidGrant(detail) : new errors.SessionNotFound(detail);
}

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

/** The fields of a model that have their own columns. @param kind the library's name of the model */
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
