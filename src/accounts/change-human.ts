/**
 * Changes a human user: any of user name, profile, email address, phone number and password, all or nothing.
 *
 * Guarantee: absent fields keep their values, and an unchanged value causes no event and no email, so a call can be
 * repeated safely.
 *
 * On crash: before the commit nothing has changed, except that a code in the request has lost one attempt.
 */

import { type Caller, permissionDenied } from '../access/caller.ts';
import { type AppendedEvent, type Details, details } from '../db/events.ts';
import { type Db, transaction } from '../db/pool.ts';
import { badFields } from '../http/parse-body.ts';
import type { LoginDeps, Origin } from '../identity/login/check.ts';
import { reachForChange, type Standing } from '../users/reach.ts';
import { findUser, type User, userNotFound } from '../users/store.ts';
import { userDetails } from '../users/view.ts';
import { type ContactDeps, changeEmail } from './change-email.ts';
import { changePhone } from './change-phone.ts';
import { changeProfile, changeUserName } from './change-profile.ts';
import type { EmailInput, PhoneInput } from './contact-schema.ts';
import type { HumanDeps } from './create-human.ts';
import { requireHuman, requireVouching } from './credentials.ts';
import type { HumanChange } from './human-schema.ts';
import { type PasswordWriter, preparePassword } from './set-password.ts';
import { preparePasswordByCode } from './verification.ts';

export type ChangeDeps = HumanDeps & LoginDeps;

export interface ChangedHuman {
  details: Details;
  /** Set if the request asked to return the codes. */
  emailCode?: string;
  phoneCode?: string;
}

/**
 * @param standing of the caller before the body was read; checked again with the user's row locked
 * @throws ApiError 400 USER-NOT-HUMAN, USER-INVALID, PASSWORD-POLICY, PASSWORD-CURRENT, CODE-INVALID; 403, 404; 409 if
 *   the name is taken
 */
export async function changeHuman(
  deps: ChangeDeps,
  caller: Caller,
  { userId, standing, origin }: { userId: string; standing: Standing; origin: Origin },
  body: HumanChange,
): Promise<ChangedHuman> {
  const writePassword = await prepareWriter(deps, caller, { userId, standing, origin }, body);
  return transaction(deps.pool, async (db) => {
    const { user, standing } = await reachForChange(db, caller, 'updateHumanUser', userId, 'for update');
    requireHuman(user, 'USER');
    requireAllowed(standing, user, body);
    return apply({ ...deps, db }, user, { ...body, writePassword }, caller.userId);
  });
}

/**
 * The name comes first: it may have to wait for an import that writes the same name, and the password locks the import
 * that created the user. The password comes next: a new address revokes the code that may come with it, and a first
 * password makes the user active.
 */
async function apply(
  deps: ContactDeps,
  before: User,
  change: HumanChange & { writePassword: PasswordWriter | undefined },
  editor: string,
): Promise<ChangedHuman> {
  const { db } = deps;
  const name = await changeUserName(db, before, change.username, editor);
  const password = await change.writePassword?.(db, before);
  const user = await reread(db, before, password ?? name);
  const profile = await changeProfile(db, user, change.profile, editor);
  const email = isNewEmail(user, change.email) ? await changeEmail(deps, user, change.email, editor) : undefined;
  const phone = isNewPhone(user, change.phone) ? await changePhone(deps, user, change.phone, editor) : undefined;
  const last = phone?.event ?? email?.event ?? profile ?? password ?? name;
  const codes = { emailCode: email?.verificationCode, phoneCode: phone?.verificationCode };
  return { details: detailsAfter(user, last), ...codes };
}

async function reread(db: Db, user: User, changed: AppendedEvent | undefined): Promise<User> {
  const now = changed ? await findUser(db, user.id) : user;
  if (!now) throw userNotFound();
  return now;
}

/** Whether the input changes anything. */
export function isNewEmail(user: User, input: EmailInput | undefined): input is EmailInput {
  return input !== undefined && !(input.email === user.email && asksNothing(input, user.emailVerified));
}

/** Whether the input changes anything. */
export function isNewPhone(user: User, input: PhoneInput | undefined): input is PhoneInput {
  return input !== undefined && !(input.phone === user.phone && asksNothing(input, user.phoneVerified));
}

function asksNothing(
  { isVerified, sendCode, returnCode }: { isVerified?: boolean; sendCode?: unknown; returnCode?: unknown },
  wasVerified: boolean,
): boolean {
  return sendCode === undefined && returnCode === undefined && (isVerified ?? wasVerified) === wasVerified;
}

function detailsAfter(user: User, last: AppendedEvent | undefined): Details {
  if (!last) return userDetails(user);
  return details({ sequence: last.sequence, changedAt: last.createdAt, resourceOwner: user.orgId });
}

/** @throws ApiError 403 for what users may not do to themselves */
export function requireAllowed(standing: Standing, user: User, { username, email, phone }: HumanChange): void {
  if (standing === 'manager') return;
  if (username !== undefined && username !== user.userName) throw permissionDenied();
  if (email) requireVouching(standing, email);
  if (phone) requireVouching(standing, phone);
}

/** Users must prove that they may change the password; their managers need not. */
async function prepareWriter(
  deps: ChangeDeps,
  caller: Caller,
  { userId, standing, origin }: { userId: string; standing: Standing; origin: Origin },
  { password: change, username, email }: HumanChange,
): Promise<PasswordWriter | undefined> {
  if (!change) return undefined;
  const { password, hashedPassword, currentPassword, verificationCode: code } = change;
  const names = [username, email?.email].filter((name) => name !== undefined);
  const next = password ? { ...password, field: 'password.password', names } : hashedPassword;
  if (!next) throw required('password.password');
  const editor = caller.userId;
  if (standing === 'self' && hashedPassword) throw permissionDenied();
  if (code !== undefined) return preparePasswordByCode(deps, { userId, code, editor }, next);
  if (standing === 'self' && currentPassword === undefined) throw required('password.currentPassword');
  const current = currentPassword === undefined ? undefined : { password: currentPassword, ...origin };
  return preparePassword(deps, { userId, editor, current }, next);
}

function required(field: string) {
  return badFields('USER-INVALID', [{ field, description: 'is required' }]);
}
