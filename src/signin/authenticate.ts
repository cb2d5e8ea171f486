/**
 * Bearer authentication, with personal access tokens and with access tokens of the authorization server, opaque or JWT.
 *
 * Guarantee: a token that is unknown, expired or revoked, or whose user or their organization is not active, gives the same
 * 401. A role on an organization that is not active does not count. Only the
 * holder of a valid token learns that it was not issued for the API (`API_SCOPE`). One prepared query per request reads
 * the token, its user and all roles, so a revocation takes effect with the next call. A JWT is looked up by its hash
 * too: one that we did not issue has no row, so its signature need not be checked here.
 */
import type { Request, RequestHandler } from 'express';
import { API_SCOPE, CONSOLE_CLIENT } from '../contract/own-clients.ts';
import type { Caller } from '../contract/permissions.ts';
import { countWithin, ORG_COUNTS } from '../platform/db/counts.ts';
import type { Db, Pool } from '../platform/db/pool.ts';
import type { InstanceMembers, OauthModels, OrgLimits, OrgMembers, Users } from '../platform/db/tables.ts';
import { ApiError } from '../platform/errors.ts';
import { tokenHash } from '../platform/ids.ts';
import { nameCaller } from '../platform/request-context.ts';
import { modelKey } from './oauth/tokens.ts';

/** RFC 6750 section 2.1; longer ones are refused unread. */
const BEARER = /^Bearer +([\x21-\x7e]{1,4096})$/i;
const SCHEME = /^Bearer(?: |$)/i;

/** Puts the caller into `res.locals.caller`, or answers 401. */
export function authenticate(deps: { pool: Pool }): RequestHandler {
  return async (req, res, next) => {
    res.locals.caller ??= await callerFromHeader(deps.pool, req);
    next();
  };
}

/**
 * Authenticates as `authenticate` does, but a request without an Authorization header passes, with no caller. A bad
 * token is 401.
 */
export function authenticateIfPresent(deps: { pool: Pool }): RequestHandler {
  return async (req, res, next) => {
    if (req.get('authorization') !== undefined) res.locals.caller ??= await callerFromHeader(deps.pool, req);
    next();
  };
}

/** 401 for a request without a bearer token; so the challenge has no error code (RFC 6750 section 3.1). */
export function unauthenticated(): ApiError {
  return new ApiError('UNAUTHENTICATED', 'AUTH-TOKEN', NEEDED);
}

const NEEDED = 'A valid bearer token is needed.';
const INVALID = 'The token is unknown, expired or revoked, or its user is not active.';
const WITHOUT_SCOPE = `The access token must have the scope ${API_SCOPE}: request it together with the token.`;

/** 401 for a token that no call accepts. */
export function invalidToken(): ApiError {
  const challenge = `Bearer error="invalid_token", error_description="${INVALID}"`;
  return new ApiError('UNAUTHENTICATED', 'AUTH-TOKEN', NEEDED, { challenge });
}

function insufficientScope(): ApiError {
  const challenge = `Bearer error="insufficient_scope", error_description="${WITHOUT_SCOPE}", scope="${API_SCOPE}"`;
  return new ApiError('UNAUTHENTICATED', 'AUTH-SCOPE', WITHOUT_SCOPE, { challenge });
}

const A_MINUTE_MS = 60_000;

/** @throws ApiError 401; 429 ORG-LIMIT-REQUESTS */
async function callerFromHeader(db: Db, req: Request): Promise<Caller> {
  const header = req.get('authorization') ?? '';
  if (!SCHEME.test(header)) throw unauthenticated();
  const token = BEARER.exec(header)?.[1];
  const caller = token === undefined ? undefined : await callerOfToken(db, token);
  if (!caller) throw invalidToken();
  nameCaller({ userId: caller.userId, clientId: caller.clientId });
  await countRequest(db, caller);
  return caller;
}

/**
 * Counts the request for the caller's organization if that has a limit. An IAM_OWNER is not counted, who could not
 * take the limit back otherwise, nor are people without a role, who act for themselves, nor is the console: a page makes
 * several requests, and shows what the limit is. Only the console has tokens of its client.
 */
async function countRequest(db: Db, { orgId, mostRequests: limit, ...caller }: TokenCaller): Promise<void> {
  if (limit === null || caller.isIamOwner || caller.clientId === CONSOLE_CLIENT) return;
  if (!caller.isMachine && caller.orgRoles.size === 0) return;
  const message = `Your organization may make ${limit} requests a minute. Try again later.`;
  const id = 'ORG-LIMIT-REQUESTS';
  await countWithin(db, ORG_COUNTS.requests(orgId), { limit, windowMs: A_MINUTE_MS, message, id });
}

// `offset 0` keeps the planner from reversing the join: a planner that expects few users reads all of them first, and
// keeps that plan when they become many.
const CALLER = {
  name: 'caller_of_token',
  text: `select u.id, u.org_id, u.kind = 'machine' as is_machine, t.for_api, t.client_id, t.signed_in_at, t.grant_id, t.session_uid,
      coalesce(i.roles, '{}') as instance_roles,
      coalesce((select jsonb_object_agg(m.org_id, m.roles) from org_members m
        where m.user_id = u.id and org_is_active(m.org_id)), '{}') as org_roles,
      (select most from org_limits l where l.org_id = u.org_id and l.name = 'requestsPerMinute') as most_requests
    from (
      select user_id, true as for_api, null as client_id, null::float8 as signed_in_at,
        null as grant_id, null as session_uid from personal_access_tokens
      where token_hash = $1 and (expires_at is null or expires_at > now())
      union all
      select user_id, coalesce($3 = any(string_to_array(scope, ' ')), false), client_id,
        (payload -> 'extra' ->> 'auth_time')::float8, encode(grant_hash, 'hex'), session_uid
      from oauth_models m
      where id_hash = $2 and kind = 'AccessToken' and expires_at > now()
        and (session_uid is null or exists (select from oauth_models s
          where s.session_uid = m.session_uid and s.kind = 'Session' and s.user_id = m.user_id and s.expires_at > now()))
    ) t
    cross join lateral (select id, org_id, kind from users
      where id = t.user_id and state = 'active' and org_is_active(org_id) offset 0) u
    left join instance_members i on i.user_id = u.id`,
};

interface CallerRow extends Pick<Users, 'id' | 'org_id'> {
  is_machine: boolean;
  most_requests: OrgLimits['most'] | null;
  client_id: OauthModels['client_id'];
  /** Issued for the API. */
  for_api: boolean;
  instance_roles: InstanceMembers['roles'];
  org_roles: Record<string, OrgMembers['roles']>;
  signed_in_at: number | null;
  grant_id: string | null;
  session_uid: OauthModels['session_uid'];
}

interface TokenCaller extends Caller {
  isMachine: boolean;
  /** Of the organization, in a minute; null: not limited. */
  mostRequests: number | null;
}

/**
 * The caller of a bearer token, if it is valid.
 * @throws ApiError 401 for a valid token that was not issued for the API
 */
export async function callerOfToken(db: Db, token: string): Promise<TokenCaller | undefined> {
  const values = [tokenHash(token), modelKey('AccessToken', token), API_SCOPE];
  const { rows } = await db.query<CallerRow>({ ...CALLER, values });
  const row = rows[0];
  if (row?.for_api === false) throw insufficientScope();
  return (
    row && {
      userId: row.id,
      orgId: row.org_id,
      clientId: row.client_id ?? undefined,
      isIamOwner: row.instance_roles.includes('IAM_OWNER'),
      orgRoles: new Map(Object.entries(row.org_roles)),
      signedInAt: row.signed_in_at ?? undefined,
      isMachine: row.is_machine,
      mostRequests: row.most_requests,
      login: row.grant_id === null ? undefined : { application: row.grant_id, browser: row.session_uid ?? undefined },
    }
  );
}
