/** Users as the API answers them, and how they are named. */

export interface User {
  userId: string;
  /** `USER_STATE_ACTIVE` */
  state: string;
  username: string;
  loginNames: string[];
  preferredLoginName: string;
  human?: Human;
  machine?: { name: string; description: string; hasSecret: boolean; accessTokenType: string };
}

interface Human {
  profile: Record<'givenName' | 'familyName' | 'nickName' | 'displayName' | 'preferredLanguage' | 'gender', string>;
  email: Contact & { email: string };
  phone?: Contact & { phone: string };
  passwordChangeRequired: boolean;
}

interface Contact {
  isVerified: boolean;
}

export interface UserDetails {
  changeDate: string;
  /** The organization. */
  resourceOwner: string;
}

export interface UserAnswer {
  details: UserDetails;
  user: User;
}

export interface Page<T> {
  details: { totalResult: string; totalIsEstimate?: true };
  result: T[];
  nextPageToken?: string;
}

export type FoundUser = User & { details: UserDetails };

/** The name of a person, or the user name of a user who has none. */
export function nameOf({ human, machine, username }: User): string {
  return human?.profile.displayName || machine?.name || username;
}

export function userPath(userId: string): string {
  return `/users/${encodeURIComponent(userId)}`;
}

export function apiPath(userId: string): string {
  return `/v2beta/users/${encodeURIComponent(userId)}`;
}
