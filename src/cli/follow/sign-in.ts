/** How the users of an import sign in, for people: what they know, something else, not at all; and what is different. */
import {
  CAUSES,
  type Cause,
  CHANGES,
  changesIn,
  groupSignIns,
  passkeySentence,
  type SignIn,
  type SignInCounts,
  WAYS,
  type Way,
  type WayGroup,
} from '../../contract/sign-in.ts';
import type { Summary } from '../../sources/summary.ts';
import { text } from '../options.ts';
import { printable } from '../terminal/output.ts';
import { number } from './progress.ts';

const GROUPS: Readonly<Record<WayGroup, string>> = {
  known: 'with what they know',
  other: 'with something else',
  none: 'not at all',
};

const HOW: Readonly<Record<Way, string>> = {
  PASSWORD: 'the password that they have',
  PASSWORD_SOURCE: 'the password that they have, which a password source verifies',
  PROVIDER: 'their account at an external provider',
  PASSKEY: 'a passkey',
  MAIL_CODE: 'a code by mail',
  SMS_CODE: 'a code by text message',
  INIT_MAIL: 'a password that they choose with a mail of the import',
  NONE: 'nothing',
};

/** `--sign-in` of lists of users. */
export const SIGN_IN = {
  ...text('only users who are predicted to sign in this way, such as MAIL_CODE'),
  choices: WAYS,
  coerce: (given: string | undefined) => given?.toUpperCase().replaceAll('-', '_') as Way | undefined,
} as const;

/**
 * The counts in the order in which people ask, each line with its number of users; nothing where no user is imported.
 * @param of.importId whose users `muster items` lists
 * @param of.isDone the users have been imported
 */
export function signInLines(counts: SignInCounts | undefined, of: { importId: string; isDone: boolean }): string[] {
  const groups = counts ? groupSignIns(counts) : [];
  if (!counts || groups.every(({ users }) => users === 0)) return [];
  const changes = changesIn(counts).map(([change, users]) => line(users, `${CHANGES[change]} (${change})`));
  const asked = groups.filter(({ name }) => name !== 'known').flatMap(({ ways }) => ways.map(([way]) => way));
  return [
    `  How they ${of.isDone ? 'sign' : 'will sign'} in`,
    ...groups.flatMap(({ name, users, ways, causes }) => [
      line(users, GROUPS[name]),
      ...(name === 'none' ? [] : ways.map(([way, n]) => line(n, `  ${HOW[way]} (${way})`))),
      ...causes.map(([cause, n]) => line(n, `  why: ${causeText(cause)}`)),
    ]),
    ...(changes.length > 0 ? ['  What is different for them', ...changes] : []),
    ...passkeyLines(counts),
    ...linkLines(counts),
    ...(asked.length > 0
      ? [`  To list them: ${asked.map((way) => `muster items ${of.importId} --sign-in ${way}`).join('; ')}`]
      : []),
  ];
}

/** How many passkeys come along, and how many of them work here. */
function passkeyLines({ passkeys }: SignInCounts): string[] {
  const sentence = passkeySentence(passkeys, number);
  return sentence === undefined ? [] : [`  ${printable(sentence)}`];
}

/** The links that lead to no provider yet, by the name of the other system, and what to add. */
function linkLines({ links = [], moreLinks = 0 }: SignInCounts): string[] {
  if (links.length === 0) return [];
  return [
    '  Providers that users have accounts at, and that are not set up (`muster idps`)',
    ...links.map(({ name, users, preset }) =>
      line(users, `${printable(name)}${preset ? `, for the type ${preset}` : ''}`),
    ),
    ...(moreLinks > 0 ? [`    ${' '.repeat(11)}  and ${number(moreLinks)} more`] : []),
  ];
}

/** What users of the system may have, and the export does not contain, each with what to do about it. */
export function missingLines(missing: Summary['missing'] | undefined = []): string[] {
  if (missing.length === 0) return [];
  const told = missing.flatMap(({ message, remedy }) => [`    ${printable(message)}`, `      → ${printable(remedy)}`]);
  return ['  What this export does not contain', ...told];
}

/** `MAIL_CODE (NO_PASSWORD)` */
export function signInText({ way, cause }: SignIn): string {
  return cause === undefined ? way : `${way} (${cause})`;
}

function causeText(cause: Cause): string {
  return `${CAUSES[cause]} (${cause})`;
}

function line(users: number, what: string): string {
  return `    ${number(users).padStart(11)}  ${what}`;
}
