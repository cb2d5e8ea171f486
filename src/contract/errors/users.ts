/** Errors of users, their credentials, second factors and sessions, and of machine users. */
import type { KnownError } from '../../platform/errors.ts';
import { invalid } from './invalid.ts';

const MANAGER = 'Let a manager of the organization change the state of the user first.';
const HUMAN = 'Choose a human user. Machine users have tokens, keys and secrets.';
const MACHINE = 'Choose a machine user. Human users sign in with a password.';

export const USER_ERRORS = {
  'USER-INVALID': invalid('user'),
  'USER-SEARCH': invalid('search'),
  'USER-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user does not exist.',
    remedy: 'Search the users for the id of the user.',
  },
  'USER-ID-TAKEN': {
    stored: 'user',
    status: 'ALREADY_EXISTS',
    meaning: 'Another user has this id, or a user of another organization had it.',
    remedy: 'Choose another id, or leave it out.',
  },
  'USER-NAME-TAKEN': {
    stored: 'user',
    status: 'ALREADY_EXISTS',
    meaning: 'Another user of the organization has this user name.',
    remedy: 'Choose another user name.',
  },
  'USER-NOT-HUMAN': { status: 'FAILED_PRECONDITION', meaning: 'The user is not a human user.', remedy: HUMAN },
  'USER-STATE-ACTIVE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The user is active, which does not allow this action.',
    remedy: 'Read the state of the user. The message names the state that is needed.',
  },
  'USER-STATE-INACTIVE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The user is deactivated, which does not allow this action.',
    remedy: 'Reactivate the user first, if the message says so.',
  },
  'USER-STATE-LOCKED': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The user is locked, which does not allow this action.',
    remedy: 'Unlock the user first, if the message says so.',
  },
  'USER-STATE-INITIAL': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The user has not set a password yet, which does not allow this action.',
    remedy: 'Let the user set a password first.',
  },
  'EMAIL-INVALID': invalid('body'),
  'EMAIL-VERIFY': invalid('body'),
  'EMAIL-NONE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The user has no email address.',
    remedy: 'Set an email address first.',
  },
  'EMAIL-VERIFIED': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The email address is already verified.',
    remedy: 'Nothing is to be done.',
  },
  'EMAIL-NOT-HUMAN': { status: 'FAILED_PRECONDITION', meaning: 'The user is not a human user.', remedy: HUMAN },
  'PHONE-INVALID': invalid('body'),
  'PHONE-VERIFY': invalid('body'),
  'PHONE-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user has no phone number.',
    remedy: 'Set a phone number first.',
  },
  'PHONE-VERIFIED': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The phone number is already verified.',
    remedy: 'Nothing is to be done.',
  },
  'PHONE-NOT-HUMAN': { status: 'FAILED_PRECONDITION', meaning: 'The user is not a human user.', remedy: HUMAN },
  'CODE-INVALID': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The code is wrong, already used or expired.',
    remedy: 'Request a new code.',
  },
  'MAIL-LIMIT': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'The user has had too many emails and text messages in a day.',
    remedy: 'Wait for the number of seconds in `Retry-After`, or use the last code that was sent.',
  },
  'PASSWORD-INVALID': invalid('body'),
  'PASSWORD-POLICY': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The new password breaks rules of the organization.',
    remedy: 'Choose a password that follows the rules that the error names.',
  },
  'PASSWORD-CURRENT': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The current password is wrong.',
    remedy: 'Send the password of the user, or let the user sign in again.',
  },
  'PASSWORD-NOT-HUMAN': { status: 'FAILED_PRECONDITION', meaning: 'The user is not a human user.', remedy: HUMAN },
  'PASSWORD-RESET-INVALID': invalid('body'),
  'PASSWORD-RESET-INACTIVE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The user is deactivated.',
    remedy: 'Reactivate the user first.',
  },
  'URL-TEMPLATE-NOT-ALLOWED': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The URL template leads to an origin that the organization does not allow.',
    remedy: 'Add the origin to the allowed URLs of the organization, or use a URL that is on the list.',
  },
  'TOTP-INVALID': invalid('body'),
  'TOTP-VERIFY': invalid('body'),
  'TOTP-CODE': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The one-time code is wrong.',
    remedy: 'Send the code that the authenticator app shows now, and check the clock of the device.',
  },
  'TOTP-ACTIVE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The user already has an active second factor.',
    remedy: 'Remove the second factor first.',
  },
  'TOTP-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user has no second factor.',
    remedy: 'Add a second factor first.',
  },
  'TOTP-NOT-HUMAN': { status: 'FAILED_PRECONDITION', meaning: 'The user is not a human user.', remedy: HUMAN },
  'MACHINE-INVALID': invalid('machine user'),
  'PAT-INVALID': invalid('token'),
  'PAT-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user has no such token.',
    remedy: 'List the tokens of the user for its id.',
  },
  'PAT-NOT-A-MACHINE': { status: 'FAILED_PRECONDITION', meaning: 'The user is not a machine user.', remedy: MACHINE },
  'KEY-INVALID': invalid('key'),
  'KEY-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user has no such key.',
    remedy: 'List the keys of the user for its id.',
  },
  'KEY-NOT-A-MACHINE': { status: 'FAILED_PRECONDITION', meaning: 'The user is not a machine user.', remedy: MACHINE },
  'SECRET-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user has no secret.',
    remedy: 'Nothing is to be done.',
  },
  'SECRET-NOT-A-MACHINE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The user is not a machine user.',
    remedy: MACHINE,
  },
  'SESSION-INVALID': invalid('body'),
  'SESSION-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The session does not exist, or not any more.',
    remedy: 'Create a new session.',
  },
  'SESSION-CREDENTIALS': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The user or the password is wrong.',
    remedy: 'Check both. The response does not reveal which one is wrong.',
  },
  'SESSION-USER-INACTIVE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The password is right, and the user is deactivated.',
    remedy: MANAGER,
  },
  'SESSION-USER-LOCKED': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The password is right, and the user is locked.',
    remedy: MANAGER,
  },
  'SESSION-USER-INITIAL': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The password is right, and the user has not finished the initialisation.',
    remedy: 'Let the user open the link of the initialisation mail, or set a password for the user.',
  },
  'SESSION-PASSWORD-EXPIRED': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The password is right, and has expired.',
    remedy: 'Let the user set a new password.',
  },
  'SESSION-TOTP-REQUIRED': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The password is right, and the one-time code of the second factor is missing.',
    remedy: 'Send the code that the authenticator app shows in `checks.totp`.',
  },
  'SESSION-TOTP': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The password is right, and the one-time code is wrong.',
    remedy: 'Send the code that the authenticator app shows now, and check the clock of the device.',
  },
  'SESSION-TOKEN': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The session token is not the one of the session.',
    remedy: 'Send the token of the last answer for this session, or none.',
  },
  'SESSION-OTP-EMAIL': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The code by mail is wrong, used, expired or replaced by a newer one, or another session asked for it.',
    remedy:
      'Send the newest code in the session that asked for it, or ask for another one: five wrong ones end a code.',
  },
  'SESSION-OTP-EMAIL-UNAVAILABLE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The user cannot sign in with a code by mail, by their address, their state or the login policy.',
    remedy: 'Let the user sign in in another way, or let an ORG_OWNER allow codes with `mailCode` of the login policy.',
  },
  'SESSION-MFA-SETUP-REQUIRED': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The password is right, the login policy requires a second factor, and the user has none.',
    remedy: 'Let the user sign in on the log-in pages once, which set up a second factor.',
  },
  'SESSION-FAILURES': {
    status: 'RESOURCE_EXHAUSTED',
    meaning:
      'There were too many failed attempts to log in as this user. Nothing is checked, not even a right password.',
    remedy: 'Wait for the number of seconds in `Retry-After`, or let a manager unlock the user.',
  },
  'SESSION-ATTEMPTS': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'Too many attempts to log in as this user are being checked.',
    remedy: 'Wait for the number of seconds in `Retry-After`, then try again.',
  },
  'LOGIN-INVALID': invalid('body'),
  'LOGIN-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user has no such login.',
    remedy: 'List the logins of the user for its id.',
  },
} as const satisfies Record<string, KnownError>;
