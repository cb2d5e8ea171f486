/** Every text of the console, by screen, so that they can be read, corrected and translated in one place. */

export const FRAME = {
  product: 'Muster',
  skip: 'Skip to content',
  navigation: 'Main',
  signOut: 'Sign out',
  imports: 'Imports',
  users: 'Users',
};

export const SIGN_IN = {
  outTitle: 'Signed out',
  out: { heading: 'You are signed out', message: 'You can close this page.' },
  failedTitle: 'Sign-in not completed',
  failed: {
    heading: 'The sign-in was not completed',
    message: 'It took too long, was cancelled, or began in another browser. Nothing has changed.',
  },
  again: 'Sign in again',
};

export const USERS = {
  title: 'Users',
  text: 'Search',
  by: 'By',
  anyKind: 'Anything',
  kinds: { name: 'Beginning of user name', login: 'Login name', email: 'Email address', id: 'User id' },
  /** After "3 users". */
  matching: {
    name: 'whose user name begins with this text',
    login: 'with this login name',
    email: 'with this email address',
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
  loginName: 'Login name',
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
  none: 'Login names, email addresses and ids must match in full. Of a user name, the beginning is enough.',
  showAll: 'Show all users',
};

/** By state, without `USER_STATE_`. */
export const USER_STATES: Readonly<Record<string, { name: string; look: string }>> = {
  ACTIVE: { name: 'Active', look: 'good' },
  INITIAL: { name: 'Not activated', look: 'warn' },
  LOCKED: { name: 'Locked', look: 'bad' },
  INACTIVE: { name: 'Deactivated', look: 'still' },
};

export const USER = {
  human: 'Person',
  machine: 'Machine user',
  actions: 'Actions',
  account: 'Account',
  names: 'Login names',
  id: 'User id',
  userName: 'User name',
  givenName: 'Given name',
  familyName: 'Family name',
  nickName: 'Nickname',
  language: 'Language',
  description: 'Description',
  phone: 'Phone',
  verified: 'verified',
  password: 'Password',
  hasPassword: 'Set',
  noPassword: 'None yet',
  mustChange: 'Must be changed at the next sign-in',
  lastLogin: 'Last sign-in',
  never: 'Never',
  created: 'Created',
  import: 'Created by',
  importNumber: (id: string) => `Import ${id}`,
  notImported: 'Not by an import',
  links: 'Linked accounts',
  noLinks: 'None.',
  metadata: 'Metadata keys',
  noMetadata: 'None.',
};

const STOPPED = 'All sessions of the user end now, and their tokens no longer work.';
const firstPassword = 'The user has no password, so they still need the link of a mail to choose one.';

/** Actions on a user: the button, what it will do, and what it has done. */
export const USER_ACTIONS = {
  unlock: {
    button: 'Unlock',
    title: (name: string) => `Unlock ${name}`,
    effects: (hasPassword: boolean) => ['The user can sign in again.', ...(hasPassword ? [] : [firstPassword])],
    done: 'The user is unlocked.',
  },
  reactivate: {
    button: 'Reactivate',
    title: (name: string) => `Reactivate ${name}`,
    effects: (hasPassword: boolean) => ['The user can sign in again.', ...(hasPassword ? [] : [firstPassword])],
    done: 'The user is active again.',
  },
  resend: {
    button: 'Resend mail',
    title: (name: string) => `Send the mail to ${name} again`,
    effects: (address: string, isInitial: boolean) => [
      isInitial
        ? `A mail goes to ${address}. Its link confirms the address and lets the user choose their first password.`
        : `A mail goes to ${address}. Its link confirms the address.`,
      'Links of earlier mails of this kind no longer work.',
    ],
    done: 'The mail is on its way.',
  },
  reset: {
    button: 'Reset password',
    title: (name: string) => `Reset the password of ${name}`,
    effects: (address: string, mail: 'first' | 'verify' | 'new') => [
      {
        first: `A mail goes to ${address}. Its link lets the user choose their first password.`,
        verify: `A mail goes to ${address}. Its link confirms the address, which is needed before a password can be reset.`,
        new: `A mail goes to ${address}. Its link lets the user choose a new password.`,
      }[mail],
      'Nothing else changes: a password that the user has works until they choose another.',
    ],
    done: 'The mail is on its way.',
  },
  lock: {
    button: 'Lock',
    title: (name: string) => `Lock ${name}`,
    effects: () => [STOPPED, 'They cannot sign in until somebody unlocks them.', 'Their data stays.'],
    done: 'The user is locked.',
  },
  deactivate: {
    button: 'Deactivate',
    title: (name: string) => `Deactivate ${name}`,
    effects: () => [STOPPED, 'They cannot sign in until somebody reactivates them.', 'Their data stays.'],
    done: 'The user is deactivated.',
  },
  delete: {
    button: 'Delete',
    title: (name: string) => `Delete ${name}`,
    effects: () => [
      STOPPED,
      'The user is removed with their password, roles, links and metadata. This cannot be taken back.',
      'The user id and the user name become free for others.',
    ],
    done: 'The user is deleted.',
  },
};

export const USER_CONFIRM = {
  back: 'Back, change nothing',
  type: (userName: string) => `Type the user name to confirm: ${userName}`,
  wrong: 'This is not the user name.',
  self: 'This is your own account: you will be signed out at once.',
};

export const ERRORS = {
  400: { heading: 'This request cannot be carried out', message: 'Please check your input and try again.' },
  401: { heading: 'Your session has ended', message: 'Sign in again to continue where you were.' },
  403: { heading: 'You do not have access to this', message: 'It does not exist, or your role does not include it.' },
  404: { heading: 'Not found', message: 'It does not exist or no longer exists.' },
  409: { heading: 'It has changed in the meantime', message: 'Reload the page and try again.' },
  429: { heading: 'Too many requests', message: 'Please wait a moment, then try again.' },
  500: { heading: 'Something went wrong', message: 'This is an error on our side. Please try again later.' },
  503: {
    heading: 'Please try again in a moment',
    message: 'The service is not available right now. Your data is safe, and imports continue by themselves.',
  },
  form: 'The form was not accepted: it did not come from this console. Reload the page and try again.',
  inputKept: 'Your input is kept: you find it in the form again.',
  inputLost: 'Your input is too long to be kept. Go back in your browser after you have signed in.',
  signIn: 'Sign in again',
  back: 'Back to the console',
  retry: 'Try again',
  reference: 'Reference',
};

export const NO_ROLE = {
  title: 'No access',
  heading: 'You have no role in the console yet',
  signedInAs: (name: string) => `You are signed in as ${name}.`,
  ask: (organization: string) =>
    `To manage users and imports, ask an owner of ${organization}, or the administrator of this service, for the role ORG_OWNER. They need your user id:`,
};
