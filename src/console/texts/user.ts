/** The texts of the page of a user and of the actions on them. */
import * as de from './de/user.ts';
import { localized } from './language.ts';

const englishUser = {
  human: 'Person',
  machine: 'Machine user',
  actions: 'Actions',
  account: 'Account',
  names: 'Login names',
  fullName: 'where the organization is not known',
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
  perhapsPassword: 'Set, but the user may not know it',
  noPassword: 'None yet',
  mustChange: 'Must be changed at the next sign-in',
  mailCodes: 'Codes by email',
  leftOut: 'Left out: no code signs them in, and “Forgot password?” sends them nothing',
  lastLogin: 'Last sign-in',
  never: 'Never',
  created: 'Created',
  import: 'Created by',
  importNumber: (id: string) => `Import ${id}`,
  notImported: 'Not by an import',
  links: 'Linked accounts',
  noLinks: 'None.',
  heldTwice: 'Another user has this account too, so neither signs in with it.',
  noProvider: 'Its provider is not set up, so nobody signs in with it.',
  removeLink: 'Remove',
  metadata: 'Metadata keys',
  noMetadata: 'None.',
  tokens: 'Tokens',
  keys: 'Keys',
};

/** Changing the fields of a person. */
const englishUserEdit = {
  open: 'Edit',
  title: (name: string) => `Edit ${name}`,
  fields: {
    givenName: 'Given name',
    familyName: 'Family name',
    nickName: 'Nickname',
    displayName: 'Display name',
    preferredLanguage: 'Language',
    email: 'Email address',
    phone: 'Phone number',
  },
  hints: {
    displayName: 'If it is empty, it is the given name and the family name.',
    preferredLanguage: 'A language tag, such as en, de or pt-BR.',
    email: 'A new address gets a mail to confirm it. The old address gets a mail that says so, if it is verified.',
    phone: 'With the code of the country, such as +41 79 123 45 67. An empty field removes the number.',
  },
  verified: {
    email: 'A new address is theirs: it counts as verified, and gets no mail to confirm it',
    phone: 'A new number is theirs: it counts as verified, and gets no text message',
  },
  button: 'Save',
  done: 'The changes are saved.',
};

const STOPPED = 'All sessions of the user end now, and their tokens no longer work.';

const firstPassword = 'The user has no password, so they still need the link of a mail to choose one.';

/** Removing a link. */
const englishUserUnlink = {
  title: (provider: string) => `Remove the link to ${provider}`,
  effects: (provider: string, account: string) => [
    `The account ${account} at ${provider} no longer signs in as this user.`,
    'Sessions that are open stay open.',
    'The user gets an email that says so, if they have an address.',
  ],
  button: 'Remove',
  done: 'The link is removed.',
};

/** Actions on a user: the button, what it will do, and what it has done. */
const englishUserActions = {
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
  'reset-factors': {
    button: 'Reset second factors',
    title: (name: string) => `Reset the second factors of ${name}`,
    effects: () => [
      'Authenticator apps, codes by email and text message, security keys, passkeys and recovery codes are removed.',
      'From then on the password alone is enough, until the user sets up a new factor. First make sure that it is really them who asks.',
      'The user gets an email that says so, if they have an address.',
    ],
    done: 'The second factors are reset.',
  },
  'allow-codes': {
    button: 'Allow mail codes',
    title: (name: string) => `Allow ${name} codes by email`,
    effects: () => [
      'The user may sign in with a code by email, if the login policy of the organization allows it.',
      '“Forgot password?” works for them again.',
    ],
    done: 'The user may use codes by email, as the login policy says.',
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
      'The user name becomes free for others, the user id in this organization only.',
    ],
    done: 'The user is deleted.',
  },
};

const englishUserConfirm = {
  back: 'Back, change nothing',
  type: (userName: string) => `Type the user name to confirm: ${userName}`,
  wrong: 'This is not the user name.',
  self: 'This is your own account: you will be signed out at once.',
};

export const USER = localized(englishUser, de.USER);
export const USER_EDIT = localized(englishUserEdit, de.USER_EDIT);
export const USER_UNLINK = localized(englishUserUnlink, de.USER_UNLINK);
export const USER_ACTIONS = localized(englishUserActions, de.USER_ACTIONS);
export const USER_CONFIRM = localized(englishUserConfirm, de.USER_CONFIRM);
