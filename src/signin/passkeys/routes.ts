/**
 * Routes for users' passkeys.
 *
 * Guarantee: nobody adds a passkey for somebody else, whatever their role, as it would sign them in as that user. People
 * who add or remove their own prove that the account is theirs (login/owner-proof.ts); who has a second factor adds one
 * only after a recent sign-in, as a password alone must not outdo the factor; who lost one in a move sends the
 * password and a code from their mailbox. A link to add one goes to the user's mailbox, and to nobody else.
 */
import { Router } from 'express';
import { passkeyOperations } from '../../contract/passkeys.ts';
import { permissionDenied } from '../../contract/permissions.ts';
import { type Asked, type Finder, serve } from '../../contract/serve.ts';
import { changeableUser } from '../../directory/finders.ts';
import { requireAllowedTemplate } from '../../directory/users/routes.ts';
import { accessForChange, type Reached, type User } from '../../directory/users/store.ts';
import type { Config } from '../../platform/config.ts';
import { changedAnswer, details } from '../../platform/db/events.ts';
import { type Db, type Pool, transaction } from '../../platform/db/pool.ts';
import { ApiError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { relyingParty } from '../../platform/relying-party.ts';
import { requireHuman } from '../credentials/change.ts';
import { requireNoLostFactor } from '../factors/lost.ts';
import { originOfCall } from '../login/origin.ts';
import { requireSignInProof } from '../login/owner-proof.ts';
import { passkeysOf } from '../webauthn/store.ts';
import { mailPasskeyLink } from './link.ts';
import {
  addPasskey,
  creationOptions,
  dropPasskey,
  namePasskey,
  requireParty,
  verifyRegistration,
} from './registration.ts';
import type { PasskeyDeps } from './sign-in.ts';

export type PasskeyRouteDeps = PasskeyDeps & { config: Pick<Config, 'CODE_TTL_MS'> };

/** Routes of passkeys. */
export function passkeyRoutes(deps: PasskeyRouteDeps): Router {
  const { pool, config } = deps;
  const router = Router();
  const user = changeableUser(pool);
  const self = onlySelf(user);
  serve(router, passkeyOperations.registerPasskey, self, (asked) => begin(deps, asked));
  serve(router, passkeyOperations.createPasskeyRegistrationLink, user, async (asked) => {
    const { body, target } = asked;
    const urlTemplate = body.sendLink?.urlTemplate;
    await requireAllowedTemplate({ pool, config }, target.user.orgId, 'sendLink.urlTemplate', urlTemplate);
    return changed(pool, asked, async (db, user, editor) =>
      changedAnswer(await mailPasskeyLink({ db, config }, user, { editor, urlTemplate }), user.orgId),
    );
  });
  serve(router, passkeyOperations.listPasskeys, user, async ({ target }) => {
    const rpId = relyingParty(config)?.rpId;
    const found = await passkeysOf(pool, target.user.id);
    return { details: { totalResult: String(found.length) }, result: found.map((one) => view(one, rpId)) };
  });
  serve(router, passkeyOperations.verifyPasskeyRegistration, self, async (asked) => {
    const { user } = asked.target;
    requireHuman(user, 'USER-NOT-HUMAN');
    const { passkeyId: id } = asked.params;
    const { publicKeyCredential: answer, passkeyName: name } = asked.body;
    const made = await verifyRegistration(deps, { answer, of: holderOf(user.id, id), userId: user.id });
    return changed(pool, asked, async (db, user) =>
      changedAnswer(await addPasskey(db, user, { id, name, made }), user.orgId),
    );
  });
  serve(router, passkeyOperations.namePasskey, self, async (asked) => {
    const { passkeyId } = asked.params;
    return changed(pool, asked, async (db, user) =>
      changedAnswer(await namePasskey(db, user, passkeyId, asked.body.passkeyName), user.orgId),
    );
  });
  serve(router, passkeyOperations.removePasskey, user, async (asked) => {
    await prove(deps, asked, asked.body.currentPassword);
    return changed(pool, asked, async (db, user, editor) =>
      changedAnswer(await dropPasskey({ db, config }, user, { id: asked.params.passkeyId, editor }), user.orgId),
    );
  });
  return router;
}

interface OfUser extends Asked {
  target: Reached;
}

async function begin(deps: PasskeyRouteDeps, asked: Proving) {
  const { user } = asked.target;
  requireHuman(user, 'USER-NOT-HUMAN');
  const hasFactor = await hasSecondFactor(deps.pool, user.id);
  await prove(deps, asked, hasFactor ? undefined : asked.body.currentPassword);
  requireDomain(deps, asked.body.domain);
  const { currentPassword, mailedCode } = asked.body;
  if (!hasFactor)
    await requireNoLostFactor(deps, user.id, { mailedCode, givesPassword: currentPassword !== undefined });
  const passkeyId = newId();
  const { sequence, changedAt, orgId: resourceOwner } = user;
  return {
    details: details({ sequence, changedAt, resourceOwner }),
    passkeyId,
    publicKeyCredentialCreationOptions: await creationOptions(deps, user, holderOf(user.id, passkeyId)),
  };
}

/**
 * The user of the path, for themselves alone, whatever the role of others: an administrator with a passkey of somebody
 * else would be that user.
 */
function onlySelf(user: Finder<'user', Reached>): Finder<'user', Reached> {
  return {
    of: 'user',
    async find(asked) {
      const reached = await user.find(asked);
      if (asked.caller.userId !== reached.user.id) throw permissionDenied();
      return reached;
    },
  };
}

/** @param domain of the page that will ask the browser @throws ApiError 400 PASSKEY-UNAVAILABLE */
function requireDomain(deps: PasskeyDeps, domain: string | undefined): void {
  const { rpId } = requireParty(deps);
  if (domain === undefined || domain === rpId || domain.endsWith(`.${rpId}`)) return;
  const message = `Passkeys of this service belong to ${rpId}: a page of another domain cannot add one.`;
  throw new ApiError('FAILED_PRECONDITION', 'PASSKEY-UNAVAILABLE', message);
}

function holderOf(userId: string, passkeyId: string) {
  return { purpose: 'add', holder: `user ${userId} ${passkeyId}` } as const;
}

async function hasSecondFactor(db: Db, userId: string): Promise<boolean> {
  const { rows } = await db.query<{ has: boolean }>('select has_second_factor($1) as has', [userId]);
  return rows[0]?.has === true;
}

interface Proving extends OfUser {
  body: { currentPassword?: string | undefined; mailedCode?: string | undefined; domain?: string | undefined };
  countTry(): Promise<void>;
}

/** @throws ApiError as `requireSignInProof` */
async function prove(deps: PasskeyDeps, asked: Proving, password: string | undefined): Promise<void> {
  const { caller, target, body, countTry, req, res } = asked;
  if (body.currentPassword !== undefined) await countTry();
  await requireSignInProof(deps, caller, target.user, originOfCall(req, res), password);
}

/** Runs a change of the user with their row locked, if the caller still may. */
function changed<T>(
  pool: Pool,
  { caller, operation, target }: OfUser,
  change: (db: Db, user: User, editor: string) => Promise<T>,
): Promise<T> {
  return transaction(pool, async (db) => {
    const { user } = await accessForChange(db, caller, operation, target.user.id, 'for update');
    return change(db, user, caller.userId);
  });
}

type Stored = Awaited<ReturnType<typeof passkeysOf>>[number];

function view({ id, name, passwordless, rpId, backedUp, createdAt, lastUsedAt }: Stored, ours: string | undefined) {
  return {
    id,
    name,
    state: 'AUTH_FACTOR_STATE_READY' as const,
    isSecondFactorOnly: !passwordless,
    rpId,
    isUsable: rpId === ours,
    ...(backedUp === null ? {} : { backedUp }),
    creationDate: createdAt.toISOString(),
    lastUseDate: lastUsedAt?.toISOString() ?? null,
  };
}
