/**
 * What is stored of a user as the API shows it: the user object of get and search, with all documented scalars, also
 * false and empty; and metadata, which programs store with users.
 */
import type { z } from 'zod';
import type { MetadataEntry } from '../../contract/humans.ts';
import { ACCESS_TOKEN_TYPES, type user as shownUser, stateName, type userV1 } from '../../contract/users.ts';
import { type Details, details } from '../../platform/db/events.ts';
import type { Db } from '../../platform/db/pool.ts';
import { GENDERS } from '../../platform/fields.ts';
import { loginNames, type User } from './store.ts';

/** The user object of `/v2beta`. */
export function userView(user: User): z.input<typeof shownUser> {
  const names = loginNames(user);
  const common = {
    userId: user.id,
    state: stateName(user.state),
    username: user.userName,
    loginNames: names,
    preferredLoginName: names[0],
  };
  return user.kind === 'human'
    ? { ...common, human: { ...common, ...humanView(user) } }
    : { ...common, machine: machineView(user) };
}

/** The details in get user and search: without `creationDate`. */
export function userDetails(user: User): Details {
  return details({ sequence: user.sequence, changedAt: user.changedAt, resourceOwner: user.orgId });
}

/**
 * The user object of `/management/v1` and `/auth/v1`, as ZITADEL publishes it: the values of `userView` under older
 * names.
 */
export function userViewV1(user: User): z.input<typeof userV1> {
  const { userId: _, username: userName, human, machine, ...names } = userView(user);
  return {
    id: user.id,
    details: details({ ...user, resourceOwner: user.orgId }),
    ...names,
    userName,
    ...(machine ? { machine } : {}),
    ...(human ? { human: humanViewV1(human) } : {}),
  };
}

/** Adds entries to a user who has no entries with these keys yet. */
export async function insertMetadata(db: Db, userId: string, entries: readonly MetadataEntry[]): Promise<void> {
  await db.query(
    `insert into user_metadata (user_id, key, value)
     select $1, key, decode(rpad(value, (length(value) + 3) / 4 * 4, '='), 'base64')
     from unnest($2::text[], $3::text[]) as entry (key, value)`,
    [userId, entries.map((e) => e.key), entries.map((e) => e.value)],
  );
}

/** Metadata by key; values as padded base64. */
export async function metadataOf(db: Db, userId: string): Promise<MetadataEntry[]> {
  const { rows } = await db.query<{ key: string; value: Buffer }>(
    'select key, value from metadata where user_id = $1 order by key',
    [userId],
  );
  return rows.map(({ key, value }) => ({ key, value: value.toString('base64') }));
}

function humanView(user: User) {
  return {
    profile: {
      givenName: user.givenName ?? '',
      familyName: user.familyName ?? '',
      nickName: user.nickName ?? '',
      displayName: user.displayName ?? '',
      preferredLanguage: user.preferredLanguage ?? '',
      gender: GENDERS[user.gender] ?? 'GENDER_UNSPECIFIED',
      avatarUrl: '',
    },
    email: { email: user.email ?? '', isVerified: user.emailVerified },
    ...(user.phone === null ? {} : { phone: { phone: user.phone, isVerified: user.phoneVerified } }),
    passwordChangeRequired: user.passwordChangeRequired,
    ...(user.withoutMailCodes ? { withoutMailCodes: true as const } : {}),
  };
}

function machineView(user: User) {
  return {
    name: user.machineName ?? '',
    description: user.machineDescription ?? '',
    hasSecret: user.hasSecret,
    accessTokenType: ACCESS_TOKEN_TYPES[user.accessTokenType] ?? 'ACCESS_TOKEN_TYPE_BEARER',
  };
}

type HumanView = NonNullable<z.input<typeof shownUser>['human']>;

function humanViewV1({ profile, email, phone }: HumanView) {
  const { givenName: firstName, familyName: lastName, ...others } = profile;
  return {
    profile: { firstName, lastName, ...others },
    email: { email: email.email, isEmailVerified: email.isVerified },
    ...(phone ? { phone: { phone: phone.phone, isPhoneVerified: phone.isVerified } } : {}),
  };
}
