/**
 * The first time that a provider names a user who nobody has proved to be here: one without a password yet, or with an
 * address that is not verified.
 *
 * Somebody else may have begun something on such an account, hoping that its owner comes later ("pre-hijacked accounts",
 * USENIX Security 2022). So their sessions, codes, new addresses and numbers end now. What an import or a manager stored
 * stays: the password that came along, and a number that nobody changed here.
 */
import { revokeLogins } from '../../directory/revocation.ts';
import { stateNow, type User } from '../../directory/users/store.ts';
import { ADDRESS_CODES, PHONE_CODES, revokeCodes } from '../../messages/mail/codes.ts';
import { type Db, prepared } from '../../platform/db/pool.ts';
import { nameKey } from '../../platform/fields.ts';
import { changeUser } from '../credentials/change.ts';
import type { Identity } from './protocol.ts';
import type { Idp } from './store.ts';

const ALL_CODES = [...ADDRESS_CODES, ...PHONE_CODES] as const;

/** Makes an INITIAL user of an active organization, whose row is locked, active; verifies the address if the provider vouches for it. */
export async function claim(db: Db, user: User, { idp, identity }: { idp: Idp; identity: Identity }): Promise<void> {
  const verifies = !user.emailVerified && vouchesFor(idp, identity, user.email);
  await claimBy(db, user, { verifies, payload: { idpId: idp.id } });
}

/** As `claim`, for somebody who has proved otherwise that they are the user. @param by.verifies the address too */
export async function claimBy(
  db: Db,
  user: User,
  { verifies, payload }: { verifies: boolean; payload: Record<string, unknown> },
): Promise<void> {
  const state = stateNow(user);
  const isNew = state === 'initial';
  if (!isNew && (state !== 'active' || user.emailVerified)) return;
  const isFirst = isNew || !(await hasClaimed(db, user.id));
  if (!isFirst && !verifies) return;
  const set: string[] = [];
  if (isNew) set.push(`state = 'active'`);
  if (verifies) set.push('email_verified = true');
  if (isFirst) {
    set.push('claimed_at = $3');
    await revokeLogins(db, user.id);
    await revokeCodes(db, user.id, ALL_CODES);
    if (await hasForeignNumber(db, user)) set.push('phone = null');
  }
  const type = isNew ? 'user.human.initialised' : isFirst ? 'user.human.claimed' : 'user.human.email.verified';
  await changeUser(db, user, { type, editor: user.id, payload }, set.join(', '));
}

/** Whether the provider is trusted with addresses, has verified one, and it is this one. */
export function vouchesFor(
  { settings }: Idp,
  { email, emailVerified }: Identity,
  address: string | null | undefined,
): boolean {
  return settings.trustsAddresses && emailVerified && !!email && !!address && nameKey(email) === nameKey(address);
}

async function hasClaimed(db: Db, userId: string): Promise<boolean> {
  const text = 'select from users where id = $1 and claimed_at is not null';
  return (await db.query(prepared(text, [userId]))).rowCount === 1;
}

/** Whether the number was set here, and nobody has verified it. */
async function hasForeignNumber(db: Db, { id, phone, phoneVerified }: User): Promise<boolean> {
  if (phone === null || phoneVerified) return false;
  const text = `select from audit_events where user_id = $1 and type = 'user.human.phone.changed' limit 1`;
  return (await db.query(prepared(text, [id]))).rowCount === 1;
}
