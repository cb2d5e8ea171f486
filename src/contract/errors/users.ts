/** Errors of users, their credentials, second factors and sessions, and of machine users. */
import type { KnownError } from '../../platform/errors.ts';
import { invalid } from './invalid.ts';

const MANAGER = 'Manager: change the state of the user first.';
const HUMAN = 'Choose a human user. Machine users have tokens, keys and secrets.';
const MACHINE = 'Choose a machine user. Human users sign in with a password.';

export const USER_ERRORS = {
  'USER-INVALID': invalid('user'),
  'USER-SEARCH': invalid('search of users'),
  'USER-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user does not exist.',
    remedy: 'Search the users for the id of the user.',
  },
  'USER-ID-TAKEN': {
    stored: 'user',
    status: 'ALREADY_EXISTS',
    meaning:
      'Another user has this id, or a user of another organization had it, or a user with this id appears earlier in the same import.',
    remedy: 'Choose another id, or leave it out. In an import, choose `onExisting`, or correct the user with `_fix`.',
  },
  'USER-NAME-TAKEN': {
    stored: 'user',
    status: 'ALREADY_EXISTS',
    meaning:
      'Another user of the organization has this user name, or a user with this name appears earlier in the same import.',
    remedy:
      'Choose another user name. In an import, correct the user with `_fix` or PATCH the item, then retry the import.',
  },
  'PASSKEY-TAKEN': {
    stored: 'user',
    status: 'ALREADY_EXISTS',
    meaning:
      'Another user of the instance has a passkey with this credential id, or an earlier user of the same import has.',
    remedy: 'Remove the passkey from the other user, or leave it out: correct the user with `_fix` or PATCH the item.',
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
    remedy: 'Let the user open the link of the initialisation mail, or set a password for the user.',
  },
  'EMAIL-INVALID': invalid('new email address, or of the request for a code,'),
  'EMAIL-VERIFY': invalid('verification of an email address'),
  'MAIL-PREVIEW-INVALID': invalid('request for a mail'),
  'MAIL-NO-ADDRESS': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The caller has no verified email address. A sample goes to no other address.',
    remedy: 'Verify your email address, or look at the mail with `_preview`. Machine users have no address.',
  },
  'EMAIL-NONE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The user has no email address.',
    remedy: 'Set an email address first.',
  },
  'EMAIL-VERIFIED': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The email address is already verified.',
    remedy: 'No action needed.',
  },
  'EMAIL-NOT-HUMAN': { status: 'FAILED_PRECONDITION', meaning: 'The user is not a human user.', remedy: HUMAN },
  'PHONE-INVALID': invalid('new phone number, or of the request for a code,'),
  'PHONE-VERIFY': invalid('verification of a phone number'),
  'PHONE-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user has no phone number.',
    remedy: 'Set a phone number first.',
  },
  'PHONE-VERIFIED': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The phone number is already verified.',
    remedy: 'No action needed.',
  },
  'PHONE-NOT-HUMAN': { status: 'FAILED_PRECONDITION', meaning: 'The user is not a human user.', remedy: HUMAN },
  'CODE-INVALID': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The code is wrong, already used or expired.',
    remedy: 'Request a new code.',
  },
  'MAIL-LIMIT': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'The user has had as many emails and text messages in a day as the service allows.',
    remedy: 'Wait for the number of seconds in `Retry-After`, or use the last code that was sent.',
  },
  'PASSWORD-INVALID': invalid('new password'),
  'PASSWORD-POLICY': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The new password breaks rules of the organization.',
    remedy: 'Choose a password that follows the rules that the error names.',
  },
  'PASSWORD-CURRENT': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The current password is wrong.',
    remedy: 'Send the current password of the user, or let the user sign in again.',
  },
  'PASSWORD-NOT-HUMAN': { status: 'FAILED_PRECONDITION', meaning: 'The user is not a human user.', remedy: HUMAN },
  'PASSWORD-RESET-INVALID': invalid('request for a password reset'),
  'PASSWORD-RESET-INACTIVE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The user is deactivated.',
    remedy: 'Manager: reactivate the user first.',
  },
  'URL-TEMPLATE-NOT-ALLOWED': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The URL template leads to an origin that the organization does not allow.',
    remedy: 'Use a URL that the organization allows. Owner: add the origin to the allowed URLs.',
  },
  'TOTP-INVALID': invalid('request to add or remove a second factor'),
  'TOTP-VERIFY': invalid('verification of a second factor'),
  'TOTP-CODE': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The one-time code is wrong.',
    remedy: 'Send the code that the authenticator app shows now, and check the clock of the device.',
  },
  'TOTP-ACTIVE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'No authenticator app waits for its first code: it is active already.',
    remedy: 'Add another app first, or go on.',
  },
  'TOTP-LIMIT': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The user has ten authenticator apps, the most that are possible.',
    remedy: 'Remove an app first.',
  },
  'TOTP-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user has no such authenticator app.',
    remedy: 'Add an app first, or list the apps that there are.',
  },
  'RECOVERY-CODES-INVALID': invalid('request for recovery codes'),
  'RECOVERY-CODES-NO-FACTOR': {
    status: 'FAILED_PRECONDITION',
    meaning: 'Recovery codes stand in for a second factor, and the user has none.',
    remedy: 'Add a second factor first, such as an authenticator app.',
  },
  'RECOVERY-CODES-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user has no recovery codes.',
    remedy: 'Make recovery codes first.',
  },
  'FACTORS-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user has no factors besides the password.',
    remedy: 'Nothing has to be reset.',
  },
  'TOTP-NOT-HUMAN': { status: 'FAILED_PRECONDITION', meaning: 'The user is not a human user.', remedy: HUMAN },
  'IDP-LINK-INVALID': invalid('link to an account at an identity provider'),
  'IDP-LINK-HELD': {
    status: 'ALREADY_EXISTS',
    meaning: 'The user, or another user of the organization, has a link to this account already.',
    remedy: 'Remove the other link first. An account signs in one user of an organization.',
  },
  'IDP-LINK-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user has no link to this account.',
    remedy: 'List the links of the user for their names.',
  },
  'FACTOR-LOST': {
    status: 'FAILED_PRECONDITION',
    meaning:
      'The second factor of the user could not be imported, and the user has none since: the password alone does not change how they sign in.',
    remedy:
      'Send `currentPassword` and `mailedCode`, the code that was mailed to the verified address. Manager: help a user without a verified address.',
  },
  'USER-DELETE-SELF': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The login policy of the organization does not let users delete their own account.',
    remedy: 'Manager: delete the user. Owner: set `deleteAccount` of the login policy.',
  },
  'LAST-WAY-IN': {
    status: 'FAILED_PRECONDITION',
    meaning: 'No way to sign in would be left: it is the last one, or the second factor does not go together with it.',
    remedy: 'Set a password or add another way to sign in first. Manager: remove it for the user.',
  },
  'IDP-LINK-LAST-WAY': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The link is the last way in which the user signs in.',
    remedy: 'Set a password or link another account first. Manager: remove the link for the user.',
  },
  'MACHINE-INVALID': invalid('machine user'),
  'PAT-INVALID': invalid('personal access token'),
  'PAT-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user has no such token.',
    remedy: 'List the tokens of the user for their ids.',
  },
  'PAT-NOT-A-MACHINE': { status: 'FAILED_PRECONDITION', meaning: 'The user is not a machine user.', remedy: MACHINE },
  'KEY-INVALID': invalid('key of a machine user'),
  'KEY-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user has no such key.',
    remedy: 'List the keys of the user for their ids.',
  },
  'KEY-NOT-A-MACHINE': { status: 'FAILED_PRECONDITION', meaning: 'The user is not a machine user.', remedy: MACHINE },
  'SECRET-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user has no secret.',
    remedy: 'No action needed.',
  },
  'SECRET-NOT-A-MACHINE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The user is not a machine user.',
    remedy: MACHINE,
  },
  'PASSKEY-INVALID': invalid('request for a passkey'),
  'PASSKEY-LINK-INVALID': invalid('request for a link to add a passkey'),
  'PASSKEY-UNAVAILABLE': {
    status: 'FAILED_PRECONDITION',
    meaning: 'Browsers have no passkeys at the address of this service, or the named domain is another one.',
    remedy: 'Operator: set `BASE_URL` to an https address with a domain name, and `WEBAUTHN_RP_ID` if needed.',
  },
  'PASSKEY-NOT-ACCEPTED': {
    status: 'INVALID_ARGUMENT',
    meaning:
      'The new passkey was not accepted: the answer is wrong, was used before, took longer than five minutes, or is of another origin.',
    remedy: 'Begin again with `registerPasskey`, in a page of an origin that the service knows.',
  },
  'PASSKEY-MOST': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The user has as many passkeys as a user can have.',
    remedy: 'Remove a passkey that the user does not need any more.',
  },
  'PASSKEY-LINK-REFUSED': {
    status: 'FAILED_PRECONDITION',
    meaning:
      'A link is not enough for this user: they are locked, deactivated or left out of mail codes, have a second factor or lost one in a move, have a password and an address that is not verified, or the policy has passkeys off.',
    remedy: 'Let the user sign in and add a passkey in their account.',
  },
  'PASSKEY-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user has no passkey with this id.',
    remedy: 'List the passkeys of the user for their ids.',
  },
  'SESSION-INVALID': invalid('session'),
  'SESSION-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The session does not exist, or has ended.',
    remedy: 'Create a new session.',
  },
  'SESSION-CREDENTIALS': {
    status: 'INVALID_ARGUMENT',
    meaning:
      'The user or the password is wrong; or the account of an `idpIntent` is not linked to the user, or may not sign them in.',
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
    remedy: 'Let the user open the link of the initialisation mail. Manager: set a password for the user.',
  },
  'SESSION-PASSWORD-EXPIRED': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The password is right, and has expired.',
    remedy: 'Let the user set a new password.',
  },
  'SESSION-TOTP-REQUIRED': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The first factor is right, and the second factor is missing.',
    remedy: 'Send it too, such as the code that the authenticator app shows in `checks.totp`, or a recovery code.',
  },
  'SESSION-TOTP': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The first factor is right, and the second factor is wrong or was used before.',
    remedy: 'Send the code that the authenticator app shows now, and check the clock of the device.',
  },
  'SESSION-TOKEN': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The session token does not belong to the session, or is not its newest.',
    remedy: 'Send the token of the last answer for this session, or leave it out.',
  },
  'SESSION-OTP-EMAIL': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The code by mail is wrong, used, expired or replaced by a newer one, or another session asked for it.',
    remedy:
      'Send the newest code in the session that asked for it, or ask for another code: five wrong attempts end a code.',
  },
  'SESSION-OTP-EMAIL-UNAVAILABLE': {
    status: 'FAILED_PRECONDITION',
    meaning:
      'The user cannot sign in with a code by mail: the email address, the state of the user or the login policy does not allow it.',
    remedy: 'Let the user sign in in another way. Owner: allow codes with `mailCode` of the login policy.',
  },
  'SESSION-OTP-SMS': {
    status: 'INVALID_ARGUMENT',
    meaning:
      'The code by text message is wrong, used, expired or replaced by a newer one, or another session asked for it.',
    remedy:
      'Send the newest code in the session that asked for it, or ask for another code: five wrong attempts end a code.',
  },
  'SESSION-OTP-SMS-UNAVAILABLE': {
    status: 'FAILED_PRECONDITION',
    meaning:
      'The user cannot sign in with a code by text message: the number, the state of the user, the login policy or a missing gateway does not allow it.',
    remedy:
      'Let the user sign in in another way. Owner: allow codes with `smsCode` of the login policy. Operator: set SMS_URL.',
  },
  'SESSION-PASSKEY': {
    status: 'INVALID_ARGUMENT',
    meaning:
      'The passkey was not accepted: it is not known, the answer is wrong or too old, the count of its signatures did not grow, or the login policy allows no passkeys.',
    remedy: 'Ask for a new challenge and let the user try again, or sign in in another way.',
  },
  'SESSION-WEBAUTHN-UNAVAILABLE': {
    status: 'FAILED_PRECONDITION',
    meaning:
      'The user cannot sign in with a passkey: they have none for the domain of this service, or the login policy allows none.',
    remedy:
      'Let the user sign in in another way, and add a passkey in their account. Owner: see `passkeys` of the policy.',
  },
  'OTP-INVALID': invalid('request to add or remove codes as a second factor'),
  'OTP-UNAVAILABLE': {
    status: 'FAILED_PRECONDITION',
    meaning:
      'The codes would reach nobody: the user has no verified email address or phone number, is no person, or the service has no gateway for text messages.',
    remedy: 'Verify the address or the number first. Operator: set `SMS_URL`.',
  },
  'OTP-EXISTS': {
    status: 'FAILED_PRECONDITION',
    meaning: 'These codes are a second factor of the user already.',
    remedy: 'No action needed.',
  },
  'OTP-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'These codes are no second factor of the user.',
    remedy: 'No action needed.',
  },
  'SESSION-MFA-SETUP-REQUIRED': {
    status: 'FAILED_PRECONDITION',
    meaning: 'The password is right, the login policy requires a second factor, and the user has none.',
    remedy: 'Let the user sign in once on the log-in pages, which set up a second factor.',
  },
  'SESSION-FAILURES': {
    status: 'RESOURCE_EXHAUSTED',
    meaning:
      'There were too many failed attempts to sign in as this user. Nothing is checked, not even a right password.',
    remedy: 'Wait for the number of seconds in `Retry-After`, then try again. Manager: unlock the user.',
  },
  'SESSION-ATTEMPTS': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'Too many attempts to sign in as this user are being checked.',
    remedy: 'Wait for the number of seconds in `Retry-After`, then try again.',
  },
  'LOGIN-INVALID': invalid('request to end a login'),
  'LOGIN-NOT-FOUND': {
    status: 'NOT_FOUND',
    meaning: 'The user is not signed in with this login, or not any more.',
    remedy: 'List the logins of the user for their ids.',
  },
} as const satisfies Record<string, KnownError>;
