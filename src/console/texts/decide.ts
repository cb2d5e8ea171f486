/** The texts of the step Decide that answer what a careful manager asks before the start. */
import * as de from './de/decide.ts';
import { localized } from './language.ts';

/** `1 user is`, `2 users are`: the words that follow a number. */
const users = (n: number, count: string) => (n === 1 ? '1 user' : `${count} users`);
const each = (n: number, one: string, many: string) => (n === 1 ? one : many);

/** The clauses of the sentence on top. Each gets a number and the number as it is written. */
const englishVerdict = {
  title: 'Result of the check',
  all: (n: number, count: string) => (n === 1 ? 'The user can be imported' : `All ${count} users can be imported`),
  some: (count: string, total: string) => `${count} of ${total} users can be imported`,
  nobody: (total: number, count: string) =>
    total === 1 ? 'The user cannot be imported' : `None of ${count} users can be imported`,
  allSkipped: (n: number, count: string) =>
    n === 1 ? 'Nobody is imported: the user is skipped' : `Nobody is imported: all ${count} users are skipped`,
  known: (n: number, count: string) =>
    `${count} ${each(n, 'signs in with the old password', 'sign in with their old password')}`,
  PROVIDER: (n: number, count: string) =>
    `${count} ${each(n, 'signs in at the same provider as before', 'sign in at the same provider as before')}`,
  PASSKEY: (n: number, count: string) => `${count} ${each(n, 'signs in with a passkey', 'sign in with a passkey')}`,
  MAIL_CODE: (n: number, count: string) => `${count} ${each(n, 'signs in', 'sign in')} with a code by mail`,
  SMS_CODE: (n: number, count: string) => `${count} ${each(n, 'signs in', 'sign in')} with a code by text message`,
  INIT_MAIL: (n: number, count: string) => `${count} ${each(n, 'gets', 'get')} a mail to choose a password`,
  /** Before `MAIL_CODE` or `INIT_MAIL`, without its number. */
  used: (count: string, provider: string) => `${count} used ${provider} and`,
  anotherProvider: 'another provider',
  blocked: (n: number, count: string) => `${count} ${each(n, 'is', 'are')} blocked`,
  held: (n: number, count: string) => `${count} ${each(n, 'needs', 'need')} a mail of this import to choose a password`,
  unreachable: (count: string) => `${count} cannot be reached`,
  shut: (count: string) => `${count} cannot sign in`,
  skipped: (n: number, count: string) => `${count} ${each(n, 'is', 'are')} skipped`,
  fail: (n: number, count: string) => `${count} ${each(n, 'fails', 'fail')}`,
  corrected: (n: number, count: string) => `${count} ${each(n, 'was', 'were')} corrected since`,
  unchecked: (n: number, count: string) => `${count} ${each(n, 'was', 'were')} not checked`,
};

const englishOutlook = {
  organization: 'Where they go',
  existing: 'Users who already exist',
  existingRule: {
    fail: 'They stay as they are: their rows in the files fail, and are listed.',
    skip: 'They are skipped and stay as they are.',
    update: 'They are updated with the fields of the files.',
  },
  existingNone: 'None of the users exists yet.',
  existingFail: (n: number, count: string) => `${users(n, count)} ${each(n, 'fails', 'fail')}, as the user exists.`,
  existingSkip: (n: number, count: string) =>
    `${users(n, count)} ${each(n, 'exists', 'exist')} and ${each(n, 'is', 'are')} skipped.`,
  existingUpdate: (n: number, count: string) =>
    `${users(n, count)} ${each(n, 'exists', 'exist')} and ${each(n, 'is', 'are')} changed. An undo does not change them back.`,
  existingSame: (n: number, count: string) =>
    `${users(n, count)} ${each(n, 'exists', 'exist')} and ${each(n, 'has', 'have')} nothing to change: ${each(n, 'it is', 'they are')} skipped.`,
  change: 'Change the rule',
  blocked: 'Blocked and left out',
  inactive: (n: number, count: string) =>
    `${users(n, count)} ${each(n, 'is', 'are')} inactive, and ${each(n, 'stays', 'stay')} so after the import: an administrator can activate them.`,
  locked: (n: number, count: string) =>
    `${users(n, count)} ${each(n, 'is', 'are')} locked, and ${each(n, 'stays', 'stay')} so after the import: an administrator can unlock them.`,
  leftOut: (n: number, count: string, why: string) =>
    `${count} ${each(n, 'record is', 'records are')} left out: ${why}`,
  noneBlocked: 'No user is inactive or locked, and no record is left out.',
  takes: 'How long it takes',
  takesBetween: (least: string, most: string) => `Between ${least} and ${most}`,
  takesSeconds: 'A few seconds',
  speed: (rate: string) =>
    `The check read ${rate} users per second. One worker writes about a quarter of that; more workers write faster.`,
  plain: (n: number, count: string) =>
    `${users(n, count)} ${each(n, 'has', 'have')} a plain password, which is hashed first: that takes longer.`,
  undo: 'What can be undone',
  canUndo: (n: number, count: string, time: string) =>
    `For ${time} after its end, an undo removes the ${each(n, 'user', `${count} users`)} that this import creates, as long as they have not signed in and nothing of them was changed.`,
  cannotUndo: 'An undo cannot take back:',
  cannotMails: (n: number, count: string) =>
    `${count} ${each(n, 'mail', 'mails')}, once ${each(n, 'it is', 'they are')} sent`,
  cannotUpdates: (n: number, count: string) => `${count} existing ${each(n, 'user', 'users')} that this import changes`,
  cannotSignedIn: 'users who have signed in since: they stay',
  files: 'The files and this draft end with the start: the files are erased.',
  days: (days: number, count: string) => (days === 1 ? '1 day' : `${count} days`),
  recommended: 'Best remedy',
  otherRemedies: 'Other remedies',
};

const englishMailing = {
  codes: (n: number, count: string) =>
    `${count} to sign in: ${each(n, 'the user gets', 'they get')} a code by mail whenever ${each(n, 'the user signs', 'they sign')} in`,
  noServer:
    'No mail server is set, so these mails reach nobody: they are kept as files on the server. Set SMTP_URL before you send them.',
  noSpf: (domain: string) =>
    `${domain} has no SPF record, so many mail programs treat these mails as spam. Add one in the DNS of ${domain} before you send them.`,
  unknownSpf: (domain: string) => `DNS did not say in time whether ${domain} has an SPF record.`,
  from: 'Sender',
  valid: 'Links work for',
  preview: 'Preview:',
  users: (language: string, n: number, count: string) => `${language}, ${users(n, count)}`,
  asHtml: 'As mail programs show it',
  asText: 'The same mail as text',
  organization: 'Mails of the organization',
  ofOrganization: (name: string, n: number, count: string) => `${name}: ${count} ${each(n, 'mail', 'mails')}`,
  more: (n: number, count: string) =>
    `${count} more ${each(n, 'organization has', 'organizations have')} fewer mails. Type the id to see them.`,
  organizationId: 'ID of another organization',
  show: 'Show its mails',
  notInImport: 'The import has no organization with this id.',
};

const englishTry = {
  title: 'Try one password',
  hint: 'The password of one user is compared with the hash in the files, as a sign-in would do it, also with the pepper. Nothing is stored, and nobody is signed in.',
  name: 'User name, email address or id in the files',
  password: 'Password of this user',
  button: 'Try it',
  both: 'Type a name and a password.',
  results: {
    FITS: 'the password fits.',
    DOES_NOT_FIT: 'the password does not fit.',
    NO_HASH: 'the entry has no password.',
    AT_SOURCE: 'a password source verifies the password at the first sign-in.',
    INVALID_ENTRY: 'this user fails, so nothing was compared.',
    NO_USER: 'there is no such user in the files.',
  },
  looks: {
    FITS: 'done',
    DOES_NOT_FIT: 'bad',
    NO_HASH: 'warn',
    AT_SOURCE: 'warn',
    INVALID_ENTRY: 'warn',
    NO_USER: 'warn',
  },
} as const;

/** The same file was imported before. */
const englishAgain = {
  title: 'The same file again?',
  was: 'was imported as',
  import: (importId: string) => `import ${importId}`,
  on: 'on',
  users,
  none: 'None of its users exists where this import goes: all are new users.',
  elsewhere: (n: number, count: string) =>
    `${users(n, count)} ${each(n, 'has the id', 'have the ids')} of ${each(n, 'a user', 'users')} in another organization, so ${each(n, 'it fails', 'they fail')} whatever you choose here.`,
  what: 'What happens with users who already exist:',
  rules: { skip: 'Skip them', update: 'Update them', fail: 'Import anyway: users who exist fail' },
  chosen: (rule: string) => `Chosen: ${rule}`,
};

export const VERDICT = localized(englishVerdict, de.VERDICT);
export const OUTLOOK = localized(englishOutlook, de.OUTLOOK);
export const MAILING = localized(englishMailing, de.MAILING);
export const TRY = localized(englishTry, { ...de.TRY, looks: englishTry.looks });
export const AGAIN = localized(englishAgain, de.AGAIN);
