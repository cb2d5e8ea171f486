/** The texts about how the users of an import sign in. */
import { CAUSES, CHANGES, type Way, type WayGroup } from '../../contract/sign-in.ts';
import * as de from './de/sign-ins.ts';
import { localized } from './language.ts';

const englishSignIns = {
  before: 'Who will be able to sign in',
  after: 'How they sign in',
  users: 'Users',
  how: 'How',
  why: 'Why',
  remedies: 'What you can do',
  groups: {
    known: 'As before',
    other: 'In another way',
    none: 'Cannot sign in',
  } satisfies Record<WayGroup, string>,
  ways: {
    PASSWORD: 'Their password',
    PASSWORD_SOURCE: 'Their password, at a password source',
    PROVIDER: 'An external provider',
    PASSKEY: 'A passkey',
    MAIL_CODE: 'A code by email',
    SMS_CODE: 'A code by text message',
    INIT_MAIL: 'A password that they choose by email',
    NONE: 'Not at all',
  } satisfies Record<Way, string>,
  since: 'Who has signed in since',
  signedIn: 'Have signed in',
  notYet: 'Have not yet',
  mailsTitle: 'Mails to those who have not',
  mailed: 'Written',
  mailsSent: 'Sent',
  mailsFailed: 'Failed',
  asked: 'Last asked for',
  stopped: 'ended early: whoever asked lost the right to do so, or the import ran again or was undone',
  day: 'Day (UTC)',
  curve: (signedIn: string, all: string, from: string, to: string) =>
    `${signedIn} of ${all} users have signed in, from ${from} to ${to} (UTC).`,
  /** Below the pointer. */
  onDay: (day: string, users: string, all: string) => `${day} UTC · ${users} for the first time · ${all} so far`,
  has: 'Has signed in',
  anyone: 'All users',
  way: 'Signs in with',
  anyWay: 'Any way',
  different: 'What is different for them',
  missing: 'What this export does not contain',
  passkeysHere: (n: number, count: string, domain: string) =>
    n === 1 ? `1 passkey for ${domain} will work.` : `${count} passkeys for ${domain} will work.`,
  /** @param host empty: several */
  passkeysElsewhere: (n: number, count: string, host: string) =>
    `${n === 1 ? '1 passkey' : `${count} passkeys`} for ${host === '' ? 'other hosts' : `another host (${host})`} will not work.`,
  unknownLinks: 'Providers that users have accounts at, and that are not set up',
  setUp: 'Set up this provider',
  preset: (type: string) => `Add a provider of the type ${type}.`,
  moreLinks: (names: string) => `And ${names} more names.`,
  passwordSource: 'Let a password source verify their password',
  policy: 'Change how users sign in',
  allowCodes: 'Allow users of company connections a code by email',
  mails: 'Send the emails of the import',
  sendMails: 'Send the held emails',
  columns: 'Say which column has the address',
  failWithout: (users: number, count: string) =>
    users === 1
      ? '1 user fails, as they have no email address.'
      : `${count} users fail, as they have no email address.`,
  withoutEmail: 'Import users without an email address',
};

export const SIGN_INS = localized(englishSignIns, de.SIGN_INS);
/** Why somebody does not sign in with the old password. */
export const WHY = localized<Readonly<Record<keyof typeof CAUSES, string>>>(CAUSES, de.WHY);
/** What is different from the other system. */
export const DIFFERENT = localized<Readonly<Record<keyof typeof CHANGES, string>>>(CHANGES, de.DIFFERENT);
