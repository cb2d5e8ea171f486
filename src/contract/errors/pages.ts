/** Errors of the log-in pages and the console. People see a page instead; the log names these ids. */
import type { KnownError } from '../../platform/errors.ts';

export const PAGE_ERRORS = {
  'PAGE-ORIGIN': {
    status: 'PERMISSION_DENIED',
    meaning: 'The form comes from another site.',
    remedy: 'Open the page of this service, and send the form from there.',
  },
  'PAGE-TOKEN': {
    status: 'PERMISSION_DENIED',
    meaning: 'The form does not belong to this sign-in.',
    remedy: 'Begin the sign-in again in the application.',
  },
  'PAGE-STEP': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The form has an unknown step.',
    remedy: 'Begin the sign-in again in the application.',
  },
  'PAGE-ASSET': {
    status: 'NOT_FOUND',
    meaning: 'The file does not exist in this version of the service.',
    remedy: 'Reload the page.',
  },
  'CONSOLE-ASSET': {
    status: 'NOT_FOUND',
    meaning: 'The file does not exist in this version of the console.',
    remedy: 'Reload the page.',
  },
  'CONSOLE-FIX': {
    status: 'FAILED_PRECONDITION',
    meaning: 'Users with this cause have no field that can be edited one by one.',
    remedy: 'Choose a remedy for all of them, or correct the source and import them again.',
  },
  'CONSOLE-LOGIN': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The form names no sign-in.',
    remedy: 'Go back to the list of sign-ins, and choose one.',
  },
  'CONSOLE-MAIL': { status: 'NOT_FOUND', meaning: 'The mail does not exist.', remedy: 'Go back to the mailbox.' },
  'CONSOLE-MAILBOX': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'Too many lists of mails are being read.',
    remedy: 'Reload the page in a few seconds.',
  },
  'CONSOLE-MAILBOX-OFF': {
    status: 'PERMISSION_DENIED',
    meaning: 'The service sends mails, so the console has no mailbox.',
    remedy: 'Check the mailbox of the recipient.',
  },
  'CONSOLE-MAPPING': {
    status: 'INVALID_ARGUMENT',
    meaning: 'The columns are not mapped as an import needs them.',
    remedy: 'Map the columns that the message names.',
  },
  'CONSOLE-OPTIONS': {
    status: 'INVALID_ARGUMENT',
    meaning: 'An option of the new import is invalid.',
    remedy: 'Correct the option that the message names.',
  },
  'CONSOLE-PATH': { status: 'NOT_FOUND', meaning: 'The page does not exist.', remedy: 'Check the address.' },
  'CONSOLE-SESSION': {
    status: 'UNAUTHENTICATED',
    meaning: 'The session of the console has ended.',
    remedy: 'Sign in again.',
  },
  'CONSOLE-STREAMS': {
    status: 'RESOURCE_EXHAUSTED',
    meaning: 'Too many live pages are open.',
    remedy: 'Close pages of the console that you do not need.',
  },
} as const satisfies Record<string, KnownError>;
