/** The texts of the frame, of errors and of live updates. */
import * as de from './de/frame.ts';
import { localized } from './language.ts';

const englishFrame = {
  product: 'Muster',
  skip: 'Skip to content',
  navigation: 'Main',
  menu: 'Menu',
  signOut: 'Sign out',
  /** Before the name of the person, for screen readers. */
  account: 'Your account:',
  imports: 'Imports',
  users: 'Users',
  organizations: 'Organizations',
  clients: 'Clients',
  system: 'System',
  sentBefore: 'This form had been sent before, and was not carried out a second time. You see here how things are now.',
};

const englishOnce = {
  title: 'Copy it now',
  warning: 'This is shown only now. Copy it to a safe place before you leave this page.',
  done: 'I have copied it',
  copy: 'Copy',
  copied: 'Copied',
};

const englishErrors = {
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
  /** Before the time. */
  retryIn: (duration: string) => `You can try again in ${duration}, from`,
  reference: 'Reference',
};

const englishNoRole = {
  title: 'No access',
  heading: 'You have no role in the console yet',
  signedInAs: (name: string) => `You are signed in as ${name}.`,
  account: 'Your account',
  ask: (organization: string) =>
    `To manage users and imports, ask an owner of ${organization}, or the administrator of this service, for the role ORG_OWNER. They need your user id:`,
};

const englishLive = {
  on: 'Live',
  stale: 'Connection lost since {time}. Reconnecting…',
  ended: 'Your session has ended. Reload the page to sign in again.',
};

export const FRAME = localized(englishFrame, de.FRAME);
export const ONCE = localized(englishOnce, de.ONCE);
export const ERRORS = localized(englishErrors, de.ERRORS);
export const NO_ROLE = localized(englishNoRole, de.NO_ROLE);
export const LIVE = localized(englishLive, de.LIVE);
