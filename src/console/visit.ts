/** A request of a person who is signed in: who it is, and the API in their name. */
import type { Request, Response } from 'express';
import type { Caller } from '../access/caller.ts';
import { type OperationId, PERMISSIONS } from '../access/permissions.ts';
import type { Db } from '../db/pool.ts';
import { ApiError } from '../errors.ts';
import { requestIdOf } from '../http/request-id.ts';
import { callerOfToken } from '../identity/authenticate.ts';
import { nameCaller } from '../request-context.ts';
import { type Api, openApi } from './api.ts';
import type { Channel } from './channel.ts';
import type { Cookies } from './sign-in/cookies.ts';
import { findSession, type Tokens } from './sign-in/session-store.ts';

export interface Visit {
  caller: Caller;
  tokens: Tokens;
  api: Api;
  /** What the person typed before their session ended, by the names of the fields; empty otherwise. */
  kept: Readonly<Record<string, string>>;
}

/** The visit that `requireVisit` stored. */
export function visitOf(res: Response): Visit {
  return res.locals.visit as Visit;
}

/** The visit of this request; undefined without a session, or when its token is no longer valid. */
export async function findVisit(
  deps: { pool: Db; api: Channel; cookies: Cookies },
  req: Request,
  res: Response,
): Promise<Visit | undefined> {
  const cookie = deps.cookies.read(req, 'console');
  const tokens = cookie === undefined ? undefined : await findSession(deps.pool, cookie);
  const caller = tokens && (await callerOfToken(deps.pool, tokens.accessToken));
  if (!tokens || !caller) return undefined;
  nameCaller({ userId: caller.userId, clientId: caller.clientId });
  return { caller, tokens, api: openApi(deps.api, tokens.accessToken, req, requestIdOf(res)), kept: {} };
}

/** Whether the person may do it to something: on any organization, or on the instance. */
export function mayAnywhere(caller: Caller, operation: OperationId): boolean {
  if (caller.isIamOwner) return true;
  const sufficient: readonly string[] = PERMISSIONS[operation].roles;
  return [...caller.orgRoles.values()].some((roles) => roles.some((role) => sufficient.includes(role)));
}

/** For a request without a session that is still valid. */
export function sessionEnded(): ApiError {
  return new ApiError('UNAUTHENTICATED', 'CONSOLE-SESSION', 'Your session has ended. Sign in again.');
}
