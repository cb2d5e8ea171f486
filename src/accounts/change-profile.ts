/** Changes a human's user name and profile, in the caller's transaction with the user's row locked. */
import type { AppendedEvent } from '../db/events.ts';
import type { Db } from '../db/pool.ts';
import { displayNameOf, GENDERS, nameKey } from '../fields/fields.ts';
import { nameClash, type User } from '../users/store.ts';
import { changeUser } from './credentials.ts';
import type { HumanChange } from './human-schema.ts';

/**
 * Does nothing if the name is exactly the same.
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
 * Absent fields keep their values; an empty display name becomes given and family name. Does nothing if all values are
 * unchanged.
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
