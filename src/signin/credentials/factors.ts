/**
 * Routes for all factors of a user together: their list, recovery codes, and the reset.
 *
 * Managers may make recovery codes for a user and then know them, which gives them no new power: they can also remove
 * the factors. Nobody can do so for a user with more rights than their own. People who change their own prove that the
 * account is theirs (login/owner-proof.ts).
 */
import { Router } from 'express';
import { factorOperations } from '../../contract/factors.ts';
import { serve } from '../../contract/serve.ts';
import { changeableUser } from '../../directory/finders.ts';
import { revokeLogins } from '../../directory/revocation.ts';
import { factorsOf, type SecondFactors, type StoredApp } from '../../directory/users/second-factors.ts';
import { changedAnswer } from '../../platform/db/events.ts';
import { ApiError } from '../../platform/errors.ts';
import { dropRecoveryCodes, makeRecoveryCodes } from '../factors/recovery.ts';
import { resetFactors } from '../factors/reset.ts';
import type { LoginDeps } from '../login/origin.ts';
import { changeFactors, proveOwner } from './totp.ts';

/** Routes of factors of all kinds. */
export function factorRoutes(deps: LoginDeps): Router {
  const { pool, secrets } = deps;
  const router = Router();
  const user = changeableUser(pool);
  serve(router, factorOperations.listFactors, user, async ({ target }) =>
    factorsView(await factorsOf(pool, target.user.id)),
  );
  serve(router, factorOperations.makeRecoveryCodes, user, async (asked) => {
    await proveOwner(deps, asked);
    return changeFactors(pool, asked, async (db, user, editor) => {
      const { event, codes } = await makeRecoveryCodes({ db, secrets }, user, editor);
      return { ...changedAnswer(event, user.orgId), recoveryCodes: codes };
    });
  });
  serve(router, factorOperations.removeRecoveryCodes, user, async (asked) => {
    await proveOwner(deps, asked);
    return changeFactors(pool, asked, async (db, user, editor) =>
      changedAnswer(await dropRecoveryCodes(db, user, editor), user.orgId),
    );
  });
  serve(router, factorOperations.resetFactors, user, async (asked) => {
    await proveOwner(deps, asked);
    return changeFactors(pool, asked, async (db, user, editor) => {
      const event = await resetFactors(db, user, editor);
      if (!event) throw nothingToReset();
      if (asked.body.endSessions) await revokeLogins(db, user.id);
      return changedAnswer(event, user.orgId);
    });
  });
  return router;
}

function factorsView({ totps, otpEmail, otpSms, securityKeys, passkeys, recoveryLeft, lostAt }: SecondFactors) {
  const READY = 'AUTH_FACTOR_STATE_READY' as const;
  return {
    result: [
      ...totps.map(appView),
      ...(otpEmail ? [{ state: READY, otpEmail: {} }] : []),
      ...(otpSms ? [{ state: READY, otpSms: {} }] : []),
    ],
    securityKeys,
    passkeys,
    recoveryCodesLeft: recoveryLeft,
    ...(lostAt ? { lostSince: lostAt.toISOString() } : {}),
  };
}

function appView({ id, name, createdAt, confirmedAt, lastUsedAt }: StoredApp) {
  return {
    state: confirmedAt ? ('AUTH_FACTOR_STATE_READY' as const) : ('AUTH_FACTOR_STATE_NOT_READY' as const),
    otp: {
      id,
      name,
      creationDate: createdAt.toISOString(),
      ...(lastUsedAt ? { lastUseDate: lastUsedAt.toISOString() } : {}),
    },
  };
}

function nothingToReset(): ApiError {
  return new ApiError('NOT_FOUND', 'FACTORS-NOT-FOUND', 'The user has no factors besides the password.');
}
