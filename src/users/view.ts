/** The user object of get and search: all documented scalars, also false and empty. */
import { type Details, details } from '../db/events.ts';
import { GENDERS } from '../fields/fields.ts';
import { loginNames } from './login-names.ts';
import type { User, UserState } from './store.ts';

export const ACCESS_TOKEN_TYPES = ['ACCESS_TOKEN_TYPE_BEARER', 'ACCESS_TOKEN_TYPE_JWT'] as const;

/** Turns `active` into `USER_STATE_ACTIVE`. */
function stateName(state: UserState): string {
  return `USER_STATE_${state.toUpperCase()}`;
}

export function userView(user: User): Record<string, unknown> {
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

function humanView(user: User): Record<string, unknown> {
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
  };
}

function machineView(user: User): Record<string, unknown> {
  return {
    name: user.machineName ?? '',
    description: user.machineDescription ?? '',
    hasSecret: user.hasSecret,
    accessTokenType: ACCESS_TOKEN_TYPES[user.accessTokenType] ?? 'ACCESS_TOKEN_TYPE_BEARER',
  };
}
