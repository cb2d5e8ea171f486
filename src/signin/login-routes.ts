/** Routes that list and end the logins of a user: sessions that programs opened, browsers and applications. */
import { Router } from 'express';
import type { Caller } from '../contract/permissions.ts';
import { type Asked, serve } from '../contract/serve.ts';
import { loginOperations } from '../contract/sessions.ts';
import { changeableUser } from '../directory/finders.ts';
import { revokeLogins } from '../directory/revocation.ts';
import { accessForChange, type Reached, type User } from '../directory/users/store.ts';
import type { Config } from '../platform/config.ts';
import { appendEvent, changedAnswer } from '../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../platform/db/pool.ts';
import { ApiError, invalidArgument } from '../platform/errors.ts';
import { type LoginDeps, originOfCall } from './login/origin.ts';
import { requireSignInProof } from './login/owner-proof.ts';
import { endLogin, endOtherLogins, isCurrent, type Login, type LoginType, listLogins } from './sessions.ts';

export type LoginsDeps = LoginDeps & { config: Pick<Config, 'SESSION_TTL_DAYS'> };

/** Routes that list and end the logins of a user. */
export function loginsRoutes(deps: LoginsDeps): Router {
  const { pool, config } = deps;
  const router = Router();
  const user = changeableUser(pool);
  serve(router, loginOperations.listLogins, user, async ({ caller, target }) => {
    const logins = await listLogins(pool, target.user.id, config.SESSION_TTL_DAYS);
    return { result: logins.map((login) => loginView(login, isCurrent(login, caller.login))) };
  });
  serve(router, loginOperations.endLogins, user, async (asked) => {
    await prove(deps, asked);
    return end(pool, asked, (db, user) => endAll(db, user, asked.caller, asked.body.keepCurrent));
  });
  serve(router, loginOperations.endLogin, user, async (asked) => {
    await prove(deps, asked);
    return end(pool, asked, (db, user) => endLogin(db, user.id, asked.params.loginId));
  });
  return router;
}

interface OfLogins extends Asked {
  target: Reached;
  body: { currentPassword?: string | undefined };
  countTry(): Promise<void>;
}

/** @throws ApiError as `requireSignInProof` */
async function prove(deps: LoginsDeps, { caller, target, body, countTry, req, res }: OfLogins): Promise<void> {
  if (body.currentPassword !== undefined) await countTry();
  await requireSignInProof(deps, caller, target.user, originOfCall(req, res), body.currentPassword);
}

async function endAll(db: Db, user: User, caller: Caller, keepCurrent: boolean): Promise<'all' | 'others'> {
  if (!keepCurrent) {
    await revokeLogins(db, user.id);
    return 'all';
  }
  if (!caller.login || caller.userId !== user.id) {
    const description = 'must be false unless users call this for themselves with the token of an application';
    throw invalidArgument('LOGIN-INVALID', 'The call has no login of the user.', [
      { field: 'keepCurrent', description },
    ]);
  }
  await endOtherLogins(db, user.id, caller.login);
  return 'others';
}

async function end(
  pool: Pool,
  { caller, operation, target }: OfLogins,
  work: (db: Db, user: User) => Promise<LoginType | 'all' | 'others' | undefined>,
) {
  return transaction(pool, async (db) => {
    const { user } = await accessForChange(db, caller, operation, target.user.id, 'for update');
    const ended = await work(db, user);
    if (ended === undefined) throw new ApiError('NOT_FOUND', 'LOGIN-NOT-FOUND', 'The user has no such login.');
    const event = await appendEvent(db, {
      aggregateType: 'user',
      aggregateId: user.id,
      resourceOwner: user.orgId,
      type: 'user.login.ended',
      editor: caller.userId,
      payload: { login: ended },
    });
    return changedAnswer(event, user.orgId);
  });
}

function loginView(login: Login, isCurrent: boolean) {
  const { type, id, clientId, clientName, address, userAgent, createdAt, lastUsedAt, expiresAt } = login;
  return {
    id,
    type: `LOGIN_TYPE_${type.toUpperCase() as Uppercase<LoginType>}` as const,
    isCurrent,
    ...(clientId === null ? {} : { clientId }),
    ...(clientName === null ? {} : { clientName }),
    ...(address === null ? {} : { address }),
    ...(userAgent === null ? {} : { userAgent }),
    creationDate: createdAt.toISOString(),
    ...(lastUsedAt === null ? {} : { lastUseDate: lastUsedAt.toISOString() }),
    expirationDate: expiresAt.toISOString(),
  };
}
