/** The texts around a sign-in. */
import * as de from './de/sign-in.ts';
import { localized } from './language.ts';

const englishSignIn = {
  outTitle: 'Signed out',
  out: { heading: 'You are signed out', message: 'You can close this page.' },
  failedTitle: 'Sign-in not completed',
  failed: {
    heading: 'The sign-in was not completed',
    message: 'It took too long, was cancelled, or began in another browser. Nothing has changed.',
  },
  again: 'Sign in again',
};

export const SIGN_IN = localized(englishSignIn, de.SIGN_IN);
