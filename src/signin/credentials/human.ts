/**
 * Changes a human user: any of user name, profile, email address, phone number and password, all or nothing.
 *
 * Guarantee: absent fields keep their values, and an unchanged value causes no event and no email, so a call can be
 * repeated safely.
 *
 * On crash: before the commit nothing has changed.
 */

import { Router } from 'express';
import type { EmailInput, PhoneInput } from '../../contract/credentials.ts';
import { type HumanChange, humanOperations } from '../../contract/humans.ts';
import { type Caller, permissionDenied } from '../../contract/permissions.ts';
import { serve } from '../../contract/serve.ts';
import { changeableUser } from '../../directory/finders.ts';
import type { ContactDeps, HumanDeps } from '../../directory/users/create.ts';
import { userDetails } from '../../directory/users/read.ts';
import { requireAllowedTemplate } from '../../directory/users/routes.ts';
import {
  accessForChange,
  findUser,
  nameClash,
  type Relation,
  type User,
  userNotFound,
} from '../../directory/users/store.ts';
import { type AppendedEvent, type Details, details } from '../../platform/db/events.ts';
import { type Db, transaction } from '../../platform/db/pool.ts';
import { displayNameOf, GENDERS, nameKey } from '../../platform/fields.ts';
import { badFields } from '../../platform/http/parse.ts';
import { requireNoLostFactor } from '../factors/lost.ts';
import { type LoginDeps, type Origin, originOfCall } from '../login/origin.ts';
import { requireOwnerProof } from '../login/owner-proof.ts';
import { changeUser, requireHuman, requireVouching } from './change.ts';
import { changeEmail, changePhone } from './contacts.ts';
import { type PasswordWriter, preparePassword } from './password.ts';
import { preparePasswordByCode } from './verification.ts';

export type ChangeDeps = HumanDeps & LoginDeps;

export interface ChangedHuman {
  details: Details;
  /** Set if the request asked to return the codes. */
  emailCode?: string | undefined;
  phoneCode?: string | undefined;
}

/** The route that changes a human user. */
export function humanChangeRoutes(deps: ChangeDeps): Router {
  const router = Router();
  serve(router, humanOperations.updateHumanUser, changeableUser(deps.pool), async (asked) => {
    const { caller, target, body, countTry, req, res } = asked;
    const { user, relation } = target;
    if (isTry(relation, body)) await countTry();
    requireAllowed(relation, user, body);
    await requireAllowedTemplate(deps, user.orgId, 'email.sendCode.urlTemplate', body.email?.sendCode?.urlTemplate);
    const origin = originOfCall(req, res);
    const { currentPassword, mailedCode, password } = body;
    if (needsProof(user, relation, body)) {
      await requireOwnerProof(deps, caller, user, origin, currentPassword, mailedCode);
    } else if (user.id === caller.userId && password?.currentPassword !== undefined) {
      await requireNoLostFactor(deps, user.id, { mailedCode, givesPassword: true });
    }
    return changeHuman(deps, caller, { userId: user.id, relation, origin }, body);
  });
  return router;
}

/** Whether it tries a password or a code, or sends something to an address that no manager has confirmed. */
function isTry(relation: Relation, { email, phone, password, currentPassword }: HumanChange): boolean {
  if (relation === 'self') return Boolean(email ?? phone ?? password);
  if (currentPassword !== undefined) return true;
  return password?.currentPassword !== undefined || password?.verificationCode !== undefined;
}

/** `changeHuman` itself checks a password or a code that comes with a new password. */
function needsProof(user: User, relation: Relation, { email, phone, password }: HumanChange): boolean {
  if (password?.currentPassword !== undefined) return false;
  const setsOwn = relation === 'manager' && password !== undefined && password.verificationCode === undefined;
  return setsOwn || isNewEmail(user, email) || isNewPhone(user, phone);
}

/**
 * Changes the user.
 * @param relation of the caller before the body was read; checked again with the user's row locked
 * @throws ApiError 400 USER-NOT-HUMAN, USER-INVALID, PASSWORD-POLICY, PASSWORD-CURRENT, CODE-INVALID; 403, 404; 409 if
 *   the name is taken
 */
export async function changeHuman(
  deps: ChangeDeps,
  caller: Caller,
  { userId, relation, origin }: { userId: string; relation: Relation; origin: Origin },
  body: HumanChange,
): Promise<ChangedHuman> {
  const writePassword = await prepareWriter(deps, caller, { userId, relation, origin }, body);
  return transaction(deps.pool, async (db) => {
    const { user, relation } = await accessForChange(db, caller, 'updateHumanUser', userId, 'for update');
    requireHuman(user, 'USER-NOT-HUMAN');
    requireAllowed(relation, user, body);
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

/** Whether the input changes the address or asks for a code. */
export function isNewEmail(user: User, input: EmailInput | undefined): input is EmailInput {
  return input !== undefined && !(input.email === user.email && asksNothing(input, user.emailVerified));
}

/** Whether the input changes the number or asks for a code. */
export function isNewPhone(user: User, input: PhoneInput | undefined): input is PhoneInput {
  return input !== undefined && !(input.phone === user.phone && asksNothing(input, user.phoneVerified));
}

function asksNothing(
  { isVerified, sendCode, returnCode }: { isVerified?: boolean | undefined; sendCode?: unknown; returnCode?: unknown },
  wasVerified: boolean,
): boolean {
  return sendCode === undefined && returnCode === undefined && (isVerified ?? wasVerified) === wasVerified;
}

function detailsAfter(user: User, last: AppendedEvent | undefined): Details {
  if (!last) return userDetails(user);
  return details({ sequence: last.sequence, changedAt: last.createdAt, resourceOwner: user.orgId });
}

/** @throws ApiError 403 for what users may not do to themselves */
export function requireAllowed(relation: Relation, user: User, { username, email, phone }: HumanChange): void {
  if (relation === 'manager') return;
  if (username !== undefined && username !== user.userName) throw permissionDenied();
  if (email) requireVouching(relation, email);
  if (phone) requireVouching(relation, phone);
}

/** Users must prove that they may change the password; their managers need not. */
async function prepareWriter(
  deps: ChangeDeps,
  caller: Caller,
  { userId, relation, origin }: { userId: string; relation: Relation; origin: Origin },
  { password: change, username, email }: HumanChange,
): Promise<PasswordWriter | undefined> {
  if (!change) return undefined;
  const { password, hashedPassword, currentPassword, verificationCode: code } = change;
  const names = [username, email?.email].filter((name) => name !== undefined);
  const next = password ? { ...password, field: 'password.password', names } : hashedPassword;
  if (!next) throw required('password.password');
  const editor = caller.userId;
  if (relation === 'self' && hashedPassword) throw permissionDenied();
  if (code !== undefined) return preparePasswordByCode(deps, { userId, code, editor, origin }, next);
  if (relation === 'self' && currentPassword === undefined) throw required('password.currentPassword');
  const current = currentPassword === undefined ? undefined : { password: currentPassword, ...origin };
  return preparePassword(deps, { userId, editor, current }, next);
}

function required(field: string) {
  return badFields('USER-INVALID', [{ field, description: 'is required' }]);
}

/**
 * Changes the user name; does nothing if it is exactly the same.
 * @throws ApiError 409 when another user of the organization has the name; the transaction is then aborted
 */
export async function changeUserName(
  db: Db,
  user: User,
  userName: string | undefined,
  editor: string,
): Promise<AppendedEvent | undefined> {
  if (userName === undefined || userName === user.userName) return undefined;
  const event = { type: 'user.username.changed', editor };
  try {
    return await changeUser(db, user, event, 'user_name = $4, user_name_key = $5', [userName, nameKey(userName)]);
  } catch (error) {
    throw nameClash(error);
  }
}

/**
 * Changes the profile. Absent fields keep their values; an empty display name becomes given and family name. Does
 * nothing if all values are unchanged.
 */
export async function changeProfile(
  db: Db,
  user: User,
  change: HumanChange['profile'],
  editor: string,
): Promise<AppendedEvent | undefined> {
  const givenName = change?.givenName ?? user.givenName;
  const familyName = change?.familyName ?? user.familyName;
  const after = [
    givenName,
    familyName,
    change?.nickName ?? user.nickName,
    (change?.displayName ?? user.displayName) || displayNameOf(givenName ?? '', familyName ?? ''),
    change?.preferredLanguage ?? user.preferredLanguage,
    change?.gender === undefined ? user.gender : GENDERS.indexOf(change.gender),
  ];
  const { nickName, displayName, preferredLanguage, gender } = user;
  const before = [user.givenName, user.familyName, nickName, displayName, preferredLanguage, gender];
  if (after.every((value, i) => value === before[i])) return undefined;
  const event = { type: 'user.human.profile.changed', editor };
  return changeUser(
    db,
    user,
    event,
    'given_name = $4, family_name = $5, nick_name = $6, display_name = $7, preferred_language = $8, gender = $9',
    after,
  );
}
