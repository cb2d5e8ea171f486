/**
 * Routes that make codes by mail or by text message a second factor of a user, or no longer one. People who do so for
 * themselves prove that the account is theirs (login/owner-proof.ts); nobody does for a user with more rights.
 */
import { Router } from 'express';
import { sentFactorOperations as operations } from '../../contract/sent-factors.ts';
import { type Asked, serve } from '../../contract/serve.ts';
import { changeableUser } from '../../directory/finders.ts';
import { revokeLogins } from '../../directory/revocation.ts';
import { endLostFactor, hasSecondFactor } from '../../directory/users/second-factors.ts';
import { accessForChange, type Reached, type User } from '../../directory/users/store.ts';
import { requireWayIn, type WaysInConfig } from '../../directory/ways-in.ts';
import { sendNotice } from '../../messages/mail/outbox.ts';
import type { Config } from '../../platform/config.ts';
import { type AppendedEvent, changedAnswer } from '../../platform/db/events.ts';
import { type Db, transaction } from '../../platform/db/pool.ts';
import { ApiError } from '../../platform/errors.ts';
import type { SentKind } from '../factors/sent-codes.ts';
import { factorEvent } from '../factors/totp.ts';
import { type LoginDeps, originOfCall } from '../login/origin.ts';
import { requireOwnerProof } from '../login/owner-proof.ts';

interface OfFactor extends Asked {
  target: Reached;
  body: { currentPassword?: string | undefined; mailedCode?: string | undefined; endSessions?: boolean | undefined };
  countTry(): Promise<void>;
}

/** Routes of codes as a second factor. */
export function sentFactorRoutes(deps: LoginDeps): Router {
  const router = Router();
  const user = changeableUser(deps.pool);
  serve(router, operations.addOtpSms, user, (asked) => change(deps, asked, 'otpSms', true));
  serve(router, operations.addOtpEmail, user, (asked) => change(deps, asked, 'otpEmail', true));
  serve(router, operations.removeOtpSms, user, (asked) => change(deps, asked, 'otpSms', false));
  serve(router, operations.removeOtpEmail, user, (asked) => change(deps, asked, 'otpEmail', false));
  return router;
}

const COLUMNS = { otpEmail: 'otp_email', otpSms: 'otp_sms' } as const;
const EVENTS = { otpEmail: 'otp.email', otpSms: 'otp.sms' } as const;

async function change(deps: LoginDeps, asked: OfFactor, kind: SentKind, isOn: boolean) {
  const { caller, operation, target, body, req, res } = asked;
  if (body.currentPassword !== undefined) await asked.countTry();
  await requireOwnerProof(deps, caller, target.user, originOfCall(req, res), body.currentPassword, body.mailedCode);
  return transaction(deps.pool, async (db) => {
    const { user } = await accessForChange(db, caller, operation, target.user.id, 'for update');
    const event = await switchSentFactor({ ...deps, db }, user, { kind, isOn, editor: caller.userId });
    if (body.endSessions) await revokeLogins(db, user.id);
    return changedAnswer(event, user.orgId);
  });
}

/**
 * Makes codes of this kind a second factor of the user, whose row is locked, or no longer one; a mail tells it. People
 * who do so for themselves need a way in that goes together with the factors that they then have.
 * @throws ApiError 400 OTP-UNAVAILABLE, OTP-EXISTS, LAST-WAY-IN; 404 OTP-NOT-FOUND
 */
export async function switchSentFactor(
  { db, config }: { db: Db; config: WaysInConfig },
  user: User,
  { kind, isOn, editor }: { kind: SentKind; isOn: boolean; editor: string },
): Promise<AppendedEvent> {
  if (isOn) await add(db, user, kind, canGet(user, config)[kind]);
  else await remove(db, user, kind);
  if (editor === user.id && (await hasSecondFactor(db, user.id))) await requireWayIn(db, user, config);
  const done = isOn ? 'added' : 'removed';
  await sendNotice(db, user, `factor_${done}`, editor);
  return factorEvent(db, user, `${EVENTS[kind]}.${done}`, editor);
}

/** Which codes the user can get: at a verified address, and at a verified number where there is a gateway. */
export function canGet(
  user: Pick<User, 'email' | 'emailVerified' | 'phone' | 'phoneVerified'>,
  { SMS_URL }: Pick<Config, 'SMS_URL'>,
): Record<SentKind, boolean> {
  return {
    otpEmail: user.email !== null && user.emailVerified,
    otpSms: SMS_URL !== undefined && user.phone !== null && user.phoneVerified,
  };
}

/** A factor that was lost before is lost no longer. @throws ApiError 400 OTP-UNAVAILABLE, OTP-EXISTS */
async function add(db: Db, user: User, kind: SentKind, isPossible: boolean): Promise<void> {
  if (user.kind !== 'human' || !isPossible) {
    const needed =
      kind === 'otpSms' ? 'a verified phone number, and the service a gateway' : 'a verified email address';
    throw new ApiError('FAILED_PRECONDITION', 'OTP-UNAVAILABLE', `The user must be a person with ${needed}.`);
  }
  const column = COLUMNS[kind];
  const { rowCount } = await db.query(
    `insert into user_factors as f (user_id, ${column}) values ($1, true)
     on conflict (user_id) do update set ${column} = true where not f.${column}`,
    [user.id],
  );
  if (!rowCount) throw new ApiError('FAILED_PRECONDITION', 'OTP-EXISTS', 'These codes are a second factor already.');
  await endLostFactor(db, user.id);
}

/** @throws ApiError 404 OTP-NOT-FOUND */
async function remove(db: Db, user: User, kind: SentKind): Promise<void> {
  const column = COLUMNS[kind];
  const text = `update user_factors set ${column} = false where user_id = $1 and ${column}`;
  if ((await db.query(text, [user.id])).rowCount) return;
  throw new ApiError('NOT_FOUND', 'OTP-NOT-FOUND', 'These codes are no second factor of the user.');
}
