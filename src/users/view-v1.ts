/**
 * The user object of the paths `/management/v1` and `/auth/v1`, as ZITADEL publishes it: the same values as those of
 * `/v2beta` (view.ts) under older names.
 */
import { type Details, details } from '../db/events.ts';
import type { User } from './store.ts';
import { userView } from './view.ts';

interface UserViewV1 extends Record<string, unknown> {
  id: string;
  details: Details;
}

interface HumanView {
  profile: { givenName: string; familyName: string } & Record<string, unknown>;
  email: { email: string; isVerified: boolean };
  phone?: { phone: string; isVerified: boolean };
}

export function userViewV1(user: User): UserViewV1 {
  const { userId: _, username: userName, human, machine, ...names } = userView(user);
  return {
    id: user.id,
    details: details({ ...user, resourceOwner: user.orgId }),
    ...names,
    userName,
    ...(human === undefined ? { machine } : { human: humanViewV1(human as HumanView) }),
  };
}

function humanViewV1({ profile, email, phone }: HumanView): Record<string, unknown> {
  const { givenName: firstName, familyName: lastName, ...others } = profile;
  return {
    profile: { firstName, lastName, ...others },
    email: { email: email.email, isEmailVerified: email.isVerified },
    ...(phone ? { phone: { phone: phone.phone, isPhoneVerified: phone.isVerified } } : {}),
  };
}
