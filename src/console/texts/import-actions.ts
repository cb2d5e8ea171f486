/** The texts of actions on an import. */
import type { Answer } from '../../contract/client.ts';
import * as de from './de/import-actions.ts';
import { localized } from './language.ts';

/** A number with its noun. */
const counted = (noun: string) => (count: number) =>
  count === 1 ? `1 ${noun}` : `${count.toLocaleString('en')} ${noun}s`;
const users = counted('user');
const are = (count: number) => (count === 1 ? 'is' : 'are');
const mails = counted('mail');
const were = (count: number) => (count === 1 ? 'was' : 'were');

/** Failed users, by what `_retry` does with them. */
export interface FailedUsers {
  /** Sent again, as their entries were corrected. */
  corrected: number;
  /** Sent again, as they are valid: they failed when they were written. */
  refused: number;
  /** Not sent again. */
  invalid: number;
}

/** Actions on an import: the button, what it will do in numbers, and what it has done. */
const englishActions = {
  back: 'Back to the import',
  timeout: 'Time limit from now',
  timeoutHint: 'Such as 30m or 1h30m. Leave it empty to use the time that was left.',
  timeoutNeeded: 'Such as 30m or 1h30m. The old limit has passed, so a new one is needed.',
  confirm: (id: string) => `Type ${id} to confirm`,
  notConfirmed: (id: string) => `Type the number of the import: ${id}.`,
  unavailable: 'This is not possible in the current state of the import.',
  pause: {
    button: 'Pause',
    title: 'Pause this import?',
    does: (done: number, open: number) => [
      `${users(done)} ${are(done)} done and ${done === 1 ? 'stays' : 'stay'} as they are.`,
      `${users(open)} ${open === 1 ? 'waits' : 'wait'} until you resume. The time limit stands still meanwhile.`,
    ],
    done: 'The import is paused. No user is written until you resume it.',
  },
  cancel: {
    // "Cancel" alone could be read as the way back.
    button: 'Cancel import',
    title: 'Cancel this import?',
    does: (done: number, open: number) => [
      `${users(done)} ${are(done)} done and ${done === 1 ? 'stays' : 'stay'} as they are. Undo removes them.`,
      `${users(open)} will not be imported, unless you resume.`,
    ],
    done: 'The import is cancelled. No more users are written.',
  },
  resume: {
    button: 'Resume',
    title: 'Resume this import?',
    does: (open: number) => [`${users(open)} ${are(open)} still to be imported.`],
    done: 'The import runs again.',
    ended: 'The import ran again, and has ended.',
  },
  retry: {
    button: 'Send failed users again',
    title: 'Send the failed users again?',
    does: ({ corrected, refused, invalid }: FailedUsers, open: number) => [
      ...(corrected > 0 ? [`${users(corrected)} that ${were(corrected)} corrected ${are(corrected)} sent again.`] : []),
      ...(refused > 0
        ? [
            `${users(refused)} that failed when ${refused === 1 ? 'it was' : 'they were'} written ${are(refused)} sent again.`,
          ]
        : []),
      ...(open > 0 ? [`${users(open)} that ${are(open)} still open ${are(open)} processed too.`] : []),
      ...(invalid > 0
        ? [`${users(invalid)} that ${are(invalid)} invalid ${invalid === 1 ? 'stays' : 'stay'} failed until corrected.`]
        : []),
    ],
    nobody: 'Nobody can be sent again before somebody is corrected.',
    done: 'The failed users are sent again.',
    ended: 'The failed users were sent again, and the import has ended.',
  },
  send_mails: {
    button: 'Send mails',
    title: 'Send the held mails?',
    does: (held: number) => [
      `${mails(held)} ${are(held)} sent to users who still need ${held === 1 ? 'it' : 'them'}. This cannot be taken back.`,
    ],
    done: 'The mails are on their way.',
  },
  sign_in_mails: {
    button: 'Mail users who have not signed in',
    title: 'Send a mail to those who have not signed in?',
    does: (n: number) => [
      n === 0
        ? 'Nobody would get a mail now.'
        : `${users(n)} ${n === 1 ? 'gets' : 'get'} a mail that says how to sign in. Users who sign in before it is sent get none.`,
    ],
    others: 'No mail goes to the others:',
    url: 'Where they sign in',
    urlHint: 'The address of your application, which the mail links to. It must be allowed for the organization.',
    done: 'The mails are being written. You see here how many were sent. Who got one within the last 24 hours gets no second one.',
    /** @param n mails that were written, of all times that somebody asked */
    ended: (n: number) =>
      `The mails are written: ${mails(n)} in all. Who got one within the last 24 hours gets no second one.`,
    stopped:
      'Not all mails were written: whoever asked lost the right to do so, or the import ran again or was undone.',
  },
  undo: {
    button: 'Undo',
    title: 'Undo this import?',
    does: (removed: number, kept: number, { sent, unsent }: { sent: number; unsent: number }) => [
      `${users(removed)} ${are(removed)} deleted. Their ids are free in their organization only.`,
      ...(sent > 0
        ? [
            `${mails(sent)} went out already. ${sent === 1 ? 'It stays in its mailbox, and its link leads' : 'They stay in their mailboxes, and their links lead'} nowhere once the user is deleted.`,
          ]
        : []),
      ...(unsent > 0
        ? [`${mails(unsent)} that ${are(unsent)} not sent yet ${are(unsent)} not sent to users who are deleted.`]
        : []),
      kept > 0 ? `${users(kept)} ${are(kept)} kept:` : 'No user is kept.',
    ],
    done: 'The undo runs. You see here which users are removed and which are kept.',
    ended: (removed: number) => `The undo has ended: ${users(removed)} ${removed === 1 ? 'was' : 'were'} removed.`,
  },
};

/** Why a user gets no mail that tells how to sign in. */
const englishUnmailed: Record<Answer<'previewSignInMails'>['reasons'][number]['reason'], string> = {
  SIGNED_IN: 'have signed in',
  DELETED: 'were deleted',
  INACTIVE: 'are inactive or locked',
  NO_ADDRESS: 'have no email address',
  LEFT_OUT: 'are left out of mail codes, and have no password',
  MAIL_WAITS: 'have a mail that is still to be sent',
  MAILED_LATELY: 'got such a mail within the last 24 hours',
  MAIL_REFUSED: 'have an address that refused the last mail',
};

export const ACTIONS = localized(englishActions, de.ACTIONS);
export const UNMAILED = localized(englishUnmailed, de.UNMAILED);
