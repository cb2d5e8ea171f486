/**
 * Codes by mail and by text message as a second factor: for users who have this factor, a verified address or number,
 * and, for text messages, a gateway. A code is sent only after the first factor was proved.
 *
 * Guarantee: a code is right once, for the sign-in or session that it was sent for; see messages/mail/sign-in-codes.ts.
 * Beyond the limits nothing is sent, and the code that was sent last stays right. A factor that cannot be used now is
 * still demanded: no code of it is right.
 * On crash: nothing was sent, and the user can ask again.
 */
import { findUser, stateNow } from '../../directory/users/store.ts';
import { ANYBODY, useCode } from '../../messages/mail/codes.ts';
import { findSignInCode, mailSignInCode, shareSignInCode, textSignInCode } from '../../messages/mail/sign-in-codes.ts';
import { takeTextOfOrg } from '../../messages/mail/text-cap.ts';
import type { Config } from '../../platform/config.ts';
import { takeWithin } from '../../platform/db/counts.ts';
import { appendEvent } from '../../platform/db/events.ts';
import { type Db, type Pool, prepared, transaction } from '../../platform/db/pool.ts';
import type { Secrets } from '../../platform/encryption.ts';

/** The kinds, as sessions name them. */
export type SentKind = 'otpEmail' | 'otpSms';

/** What their codes are stored as. */
export const FACTOR_PURPOSES = { otpEmail: 'factor_mail', otpSms: 'factor_text' } as const;

/** Whether a factor of this kind is one whose codes are sent. */
export function isSent(kind: string): kind is SentKind {
  return Object.hasOwn(FACTOR_PURPOSES, kind);
}

const HOUR_MS = 60 * 60_000;
/** Codes of each kind that a user gets in an hour. */
const MOST = { otpEmail: 10, otpSms: 5 } as const;

export interface SentDeps {
  pool: Pool;
  config: Pick<Config, 'SMS_URL' | 'SMS_PER_DAY'>;
}

/** What somebody asks for who has proved the first factor. */
export interface FactorAsk {
  userId: string;
  kind: SentKind;
  /** See `holderOf`. */
  holder: Buffer;
}

/** Sends the code to the user, if the factor can be used and the limits allow it. */
export async function sendFactorCode({ pool, config }: SentDeps, { userId, kind, holder }: FactorAsk): Promise<void> {
  await transaction(pool, async (db) => {
    const user = await findUser(db, userId, 'for update');
    if (!user || stateNow(user) !== 'active' || !(await usableKinds(db, config, userId)).has(kind)) return;
    const isAllowed =
      (await takeWithin(db, `second factors of ${userId} by ${kind}`, MOST[kind], HOUR_MS)) &&
      (kind === 'otpEmail' || (await takeTextOfOrg(db, config, { orgId: user.orgId })));
    if (!isAllowed) return shareSignInCode(db, { userId, holder, purpose: FACTOR_PURPOSES[kind] });
    await appendEvent(db, {
      aggregateType: 'user',
      aggregateId: user.id,
      resourceOwner: user.orgId,
      type: 'user.human.signin.code.added',
      editor: ANYBODY,
    });
    if (kind === 'otpSms') await textSignInCode(db, { userId, holder, purpose: FACTOR_PURPOSES.otpSms });
    else await mailSignInCode(db, { userId, holder, purpose: FACTOR_PURPOSES.otpEmail });
  });
}

/** Which of these factors the user has and can use now. */
export async function usableKinds(
  db: Db,
  { SMS_URL }: Pick<Config, 'SMS_URL'>,
  userId: string,
): Promise<ReadonlySet<SentKind>> {
  const { rows } = await db.query<Record<SentKind, boolean>>(
    prepared(
      `select f.otp_email and u.email is not null and u.email_verified as "otpEmail",
         f.otp_sms and u.phone is not null and u.phone_verified as "otpSms"
       from user_factors f join users u on u.id = f.user_id where f.user_id = $1`,
      [userId],
    ),
  );
  const { otpEmail = false, otpSms = false } = rows[0] ?? {};
  return new Set<SentKind>([
    ...(otpEmail ? (['otpEmail'] as const) : []),
    ...(otpSms && SMS_URL !== undefined ? (['otpSms'] as const) : []),
  ]);
}

/** Whether the code is right, and then used up. @param entered as the user typed it */
export async function useFactorCode(
  { pool, secrets, config }: { pool: Pool; secrets: Secrets; config: Pick<Config, 'SMS_URL'> },
  { userId, kind, holder }: FactorAsk,
  entered: string,
): Promise<boolean> {
  const code = { userId, holder, entered, purpose: FACTOR_PURPOSES[kind] };
  const found = await findSignInCode({ db: pool, secrets }, code);
  if (!found || !(await usableKinds(pool, config, userId)).has(kind)) return false;
  return useCode(pool, found);
}
