/**
 * The ways in which a user can sign in by themselves: a password that they know, an account at a provider, a passkey, and
 * codes by mail and text message where the organization allows them.
 *
 * Guarantee: nobody removes their own last way in. Users whom somebody else changes are not asked: an administrator can
 * give them another way.
 */
import { KNOWS_PASSWORD } from '../passwords/forms.ts';
import type { Config } from '../platform/config.ts';
import type { Db } from '../platform/db/pool.ts';
import { oneRow } from '../platform/db/rows.ts';
import { ApiError, type IdOf } from '../platform/errors.ts';
import { type RelyingPartyConfig, relyingParty } from '../platform/relying-party.ts';
import { IS_HELD_TWICE, JOIN_PROVIDER } from './link-accounts.ts';
import { MAIL_CODE_USE, PASSKEYS_ALLOWED, SMS_CODE_USE } from './policies.ts';

/** The settings that decide about ways in. */
export type WaysInConfig = RelyingPartyConfig & Pick<Config, 'SMS_URL'>;

/** The error for somebody who would keep themselves out. */
export interface LastWay {
  id: IdOf<'FAILED_PRECONDITION'>;
  message: string;
}

const LAST_WAY: LastWay = {
  id: 'LAST-WAY-IN',
  message: 'No way to sign in would be left. Set a password first, or add another way.',
};

const BY_PASSWORD = KNOWS_PASSWORD;
const BY_MAIL = `(u.email_verified and not u.without_mail_codes and ${MAIL_CODE_USE} <> 'off')`;

/** An organization's own provider may sign in members only within the rights of who set it, so it does not count for them. */
const BY_LINK = `exists (
  select from user_idp_links l ${JOIN_PROVIDER} join idps p on p.id = n.idp_id
  where l.user_id = u.id and n.is_enabled and not ${IS_HELD_TWICE} and (p.org_id is null or not exists (
    select from instance_members m where m.user_id = u.id union all
    select from org_members m where m.user_id = u.id)))`;

const BY_PASSKEY = `(exists (select from user_passkeys k where k.user_id = u.id and k.passwordless and k.rp_id = $2)
  and ${PASSKEYS_ALLOWED})`;

/**
 * SQL over `users u`: the user may sign in with codes to their number, where there is a gateway. A number that two users
 * of an organization have proves neither.
 */
export const BY_SMS = `(u.phone_verified and phone_key(u.phone) is not null and not u.without_mail_codes
  and (${SMS_CODE_USE} = 'all' or (${SMS_CODE_USE} = 'withoutPassword' and not ${BY_PASSWORD}))
  and not exists (select from users v where phone_key(v.phone) = phone_key(u.phone) and v.org_id = u.org_id
    and v.phone_verified and v.id <> u.id))`;

/**
 * What proves somebody first proves them no second time, so codes of one kind are no way in for whom they are the only
 * second factor. @param other the second factor of codes of the other kind, if they can be sent
 */
const completedBy = (other: string) => `(not has_second_factor(u.id)
  or exists (select from user_totp t where t.user_id = u.id and t.confirmed_at is not null)
  or exists (select from user_passkeys k where k.user_id = u.id and not k.passwordless)
  or exists (select from user_factors f where f.user_id = u.id and ${other}))`;

const WAYS = [
  BY_PASSWORD,
  BY_LINK,
  BY_PASSKEY,
  `(${BY_MAIL} and ${completedBy('f.otp_sms and u.phone_verified and $3::boolean')})`,
  `($3::boolean and ${BY_SMS} and ${completedBy('f.otp_email and u.email_verified')})`,
];

/**
 * Call it in the transaction of the change, after it.
 * @throws ApiError 400 LAST-WAY-IN, or another id, if the user has no way to sign in left
 */
export async function requireWayIn(
  db: Db,
  user: { id: string },
  config: WaysInConfig,
  refusal: LastWay = LAST_WAY,
): Promise<void> {
  const { rows } = await db.query<{ has: boolean }>(`select ${WAYS.join(' or ')} as has from users u where u.id = $1`, [
    user.id,
    relyingParty(config)?.rpId ?? null,
    config.SMS_URL !== undefined,
  ]);
  if (!oneRow(rows).has) throw new ApiError('FAILED_PRECONDITION', refusal.id, refusal.message);
}
