/**
 * The fixtures of the proof that predictions are right: for each source an export with one user of every kind that its
 * format can express, and how each of them signs in afterwards. A folder of test/fixtures/ways is one source.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Cause, Change, Way } from '../../src/contract/sign-in.ts';
import type { Parameters } from '../support/totp.ts';

export interface WaysCase {
  /** The value for `--from`. */
  source: string;
  /** Paths of the files, in the order of the command line. */
  files: string[];
  /** Other command-line options. */
  args: string[];
  users: WaysUser[];
}

/** A user of the export, and their sign-in where the organization has codes by mail for users without a password. */
export interface WaysUser {
  /** What kind of user this is, for people. */
  who: string;
  /** The user name; absent: the address. */
  name?: string;
  address?: string;
  /** The password that the user knows. Absent: none. */
  password?: string;
  /** The secret of a second factor that comes along, in base32. */
  totp?: string;
  totpParameters?: Parameters;
  /** A recovery code that comes along, and is given in place of the app's. */
  recoveryCode?: string;
  /** The number, besides a password: a code by text message is the second factor. */
  phone?: string;
  /** The name of a passkey that comes along; see test/support/passkeys.ts. */
  passkey?: string;
  /** Besides the predicted way, a code by mail signs in. */
  codeToo?: boolean;
  /** They have to set up a second factor at the first sign-in. */
  setsUpFactor?: boolean;
  way: Way;
  cause?: Cause;
  changes: Change[];
}

const FOLDER = fileURLToPath(new URL('../fixtures/ways/', import.meta.url));

export function waysCases(): WaysCase[] {
  const folders = readdirSync(FOLDER, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.map(({ name }) => waysCase(name)).sort((a, b) => (a.source < b.source ? -1 : 1));
}

export function waysCase(source: string): WaysCase {
  const folder = `${FOLDER}${source}`;
  const { files, args = [], users } = JSON.parse(readFileSync(`${folder}/case.json`, 'utf8'));
  return {
    source,
    files: files.map((file: string) => `${folder}/${file}`),
    args: args.map((arg: string) => arg.replaceAll('{dir}', folder)),
    users: users.map((user: WaysUser) => ({ ...user, changes: user.changes ?? [] })),
  };
}

export const nameOf = ({ name, address }: WaysUser): string => name ?? (address as string);

/** How the user signs in where the organization has no codes by mail. */
export function withoutCodes(user: WaysUser): WaysUser {
  if (user.way !== 'MAIL_CODE') return { ...user, codeToo: false };
  return { ...user, way: user.cause === 'UNKNOWN_PASSWORD' ? 'PASSWORD' : 'INIT_MAIL' };
}

/** How the user signs in where the organization has no codes by text message. */
export function withoutTexts(user: WaysUser): WaysUser {
  return user.way === 'SMS_CODE' ? { ...user, way: 'NONE', cause: 'NO_ADDRESS', changes: ['SMS_OFF'] } : user;
}

/** The number that the user signs in with: their name, where they had nothing else. */
export function numberOf(user: WaysUser): string | undefined {
  return /^\+\d+$/.test(nameOf(user)) ? nameOf(user) : undefined;
}

/** Where the organization has no codes by mail, and the import holds its mails back. */
export function heldBack(given: WaysUser): WaysUser {
  const user = withoutCodes(given);
  const changes = user.changes.filter((change) => change !== 'GETS_MAIL');
  return user.way === 'INIT_MAIL' ? { ...user, way: 'NONE', cause: 'MAILS_HELD', changes } : { ...user, changes };
}

/** Where the import leaves users of company connections out of mail codes. */
export function leftOut(user: WaysUser): WaysUser {
  if (user.way !== 'MAIL_CODE' || !user.changes.includes('ENTERPRISE_LINK_UNUSED')) return user;
  if (user.cause === 'UNKNOWN_PASSWORD') return { ...user, way: 'PASSWORD' };
  const changes = user.changes.filter((change) => change !== 'GETS_MAIL');
  return { ...user, way: 'NONE', cause: 'ONLY_ENTERPRISE', changes };
}

/** Where the organization demands a second factor. */
export function reEnrolled(user: WaysUser): WaysUser {
  const changes = user.changes.map((change) => (change === 'SECOND_FACTOR_LOST' ? 'SECOND_FACTOR_RE_ENROL' : change));
  const setsUpFactor = user.totp === undefined && user.phone === undefined && user.way !== 'NONE';
  return { ...user, changes, setsUpFactor };
}

/** The password of users whose password is at a source. */
export const AT_SOURCE = 'horse at the source';

/** Where a password source verifies the password of users who bring none. */
export function withSource(user: WaysUser): WaysUser {
  const cause = user.cause ?? '';
  const isWithout = ['NO_PASSWORD', 'PROVIDER_NOT_SET_UP', 'NO_ADDRESS'].includes(cause);
  if (!isWithout) return user;
  const hasLink = cause === 'PROVIDER_NOT_SET_UP' && !user.changes.includes('ENTERPRISE_LINK_UNUSED');
  const isUnverified = user.who.includes('not verified');
  const rest = user.changes.filter((change) => change !== 'GETS_MAIL');
  const changes: WaysUser['changes'] = isUnverified ? ['TYPES_USER_NAME', 'GETS_MAIL', ...rest] : rest;
  if (hasLink) changes.push('LINK_UNUSED');
  return { ...user, password: AT_SOURCE, way: 'PASSWORD_SOURCE', cause: 'PASSWORD_AT_SOURCE', changes };
}
