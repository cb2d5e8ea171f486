/** The texts of the search of users. */
import * as de from './de/users.ts';
import { localized, named } from './language.ts';

const englishUsers = {
  title: 'Users',
  text: 'Search',
  by: 'By',
  anyKind: 'Anything',
  kinds: {
    person: 'Name',
    name: 'Beginning of user name',
    login: 'Login name',
    email: 'Email address',
    phone: 'Phone number',
    id: 'User id',
  },
  /** After "3 users". */
  matching: {
    person: 'whose name has these words',
    name: 'whose user name begins with this text',
    login: 'with this login name',
    email: 'with this email address',
    phone: 'with this phone number',
    id: 'with this id',
  },
  beginning: (text: string) => `Show users whose user name begins with “${text}”`,
  state: 'State',
  anyState: 'Any state',
  organization: 'Organization',
  anyOrganization: 'All organizations',
  search: 'Search',
  caption: 'Users, in the order of their user names',
  name: 'Name',
  userName: 'User name',
  email: 'Email',
  changed: 'Changed',
  unverified: 'not verified',
  found: (count: string, isOne: boolean) => `${count} ${isOne ? 'user' : 'users'}`,
  about: (count: string) => `about ${count}`,
  next: 'Next users',
  first: 'First users',
  emptyHeading: 'No users yet',
  empty: 'Users appear here when an import or the API has created them.',
  noneHeading: 'No user matches',
  none: 'Login names, email addresses, phone numbers and ids must match in full. Of a user name the beginning is enough, and of a name the beginning of a word.',
  showAll: 'Show all users',
};

/** By state, without `USER_STATE_`. */
const englishUserStates: Readonly<Record<string, { name: string; look: string }>> = {
  ACTIVE: { name: 'Active', look: 'good' },
  INITIAL: { name: 'Not activated', look: 'warn' },
  LOCKED: { name: 'Locked', look: 'bad' },
  INACTIVE: { name: 'Deactivated', look: 'still' },
};

export const USERS = localized(englishUsers, de.USERS);
export const USER_STATES = localized(englishUserStates, named(englishUserStates, de.USER_STATES));
