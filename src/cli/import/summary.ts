/**
 * The summary of an import for people: first what will happen, then the problems. It is counted while the users are
 * sent, and shown before the last bytes leave, so that a file that must not be imported is dropped by the service as an
 * incomplete upload.
 */
import type { Conversion, Outcome } from '../../sources/convert.ts';
import { HASH_NOT_USED } from '../../sources/hashes.ts';
import { type Group, openCounter, type SourceLocation, type Summary } from '../../sources/summary.ts';
import { number } from '../follow/progress.ts';
import { missingLines } from '../follow/sign-in.ts';
import { wrongUsage } from '../terminal/failure.ts';
import { type Output, printable } from '../terminal/output.ts';
import type { Chosen } from './choose.ts';
import type { RunOptions } from './options.ts';
import { requireUsersInFiles } from './read.ts';

const SHOWN_ORGS = 10;
const UNREACHABLE = 'of them have no password; `muster users reset-password USER --code` lets them set one';
/** Nobody can tell 32 hexadecimal digits apart. */
const MD5_OR_NT = ', if they are MD5; NT hashes of Windows look the same, and never verify';

/** The end of the names of schemes whose hashes are tried as those of passwords and as those of digests. */
const OF_EITHER = /\(.*\bdigest\)$/;
const EITHER = [
  'digest: nothing tells whether the password was hashed, or an MD5, SHA-1, SHA-256 or SHA-512 of it. All are tried.',
  "If it was the password, --hash-format 'crypt(password)' says so, and a wrong one takes a fifth of the time.",
];

/** The options that change what the summary says. */
export interface Given {
  mails: 'auto' | 'none';
  withoutEmail: boolean;
  passwordSource?: string | undefined;
  /** A dry run tells what the export does not contain after its result. */
  dryRun?: boolean;
}

/** @param given the options of `muster import`; the usual ones for a conversion */
export function summaryLines(summary: Summary, given: Given = { mails: 'auto', withoutEmail: false }): string[] {
  return [
    `${number(summary.users)} user${summary.users === 1 ? '' : 's'}${statesOf(summary)}`,
    ...orgLines(summary),
    ...idLines(summary),
    ...passwordLines(summary, given),
    ...groupLines('Password hashes that are not used', summary.notes.filter(isHash)),
    ...withoutEmailLines(summary, given),
    ...nameLines(summary),
    ...mailLines(summary, given.mails),
    ...groupLines(
      'Changed or dropped by the conversion',
      summary.notes.filter((note) => !isHash(note)),
    ),
    ...groupLines('Skipped', summary.skipped),
    ...groupLines('Cannot be read', summary.broken),
    ...(summary.unusedHashes > 0
      ? [`  ${number(summary.unusedHashes)} password hashes match no user in these files and are skipped.`]
      : []),
    ...(given.dryRun ? [] : missingLines(summary.missing)),
  ];
}

function isHash({ id }: Group): boolean {
  return id === HASH_NOT_USED;
}

function statesOf({ inactive, locked }: Summary): string {
  const parts = [
    ...(inactive > 0 ? [`${number(inactive)} inactive`] : []),
    ...(locked > 0 ? [`${number(locked)} locked`] : []),
  ];
  return parts.length === 0 ? '' : `, including ${parts.join(' and ')}`;
}

function orgLines({ orgs }: Summary): string[] {
  const shown = orgs
    .slice(0, SHOWN_ORGS)
    .map(({ orgId, users }) => `    ${number(users).padStart(11)}  ${printable(orgId)}`);
  const more = orgs.length - shown.length;
  return ['  Organizations', ...shown, ...(more > 0 ? [`    and ${number(more)} more`] : [])];
}

/** Ids are unique in the whole service, whatever the organization. */
function idLines({ numericIds }: Summary): string[] {
  if (numericIds === 0) return [];
  const ids = `${number(numericIds)} user id${numericIds === 1 ? ' is a number' : 's are numbers'}`;
  return [`  ${ids} below 1,000,000,000; another system may use the same: --id-prefix shop- keeps them apart`];
}

function passwordLines({ hashes, plainPasswords, withoutPassword }: Summary, given: Given): string[] {
  const lines = hashes.map(({ scheme, verifiable, count, problem, examples }) => {
    const fate = verifiable
      ? `will verify${scheme === 'md5-plain' ? MD5_OR_NT : ''}`
      : `will NOT verify, so these users will fail: ${problem} (${places(examples)})`;
    return `    ${number(count).padStart(11)}  ${printable(scheme)}: ${fate}`;
  });
  if (plainPasswords > 0) lines.push(`    ${number(plainPasswords).padStart(11)}  plain: will be hashed`);
  const without = given.passwordSource === undefined ? 'none' : 'verified at the password source, at the first sign-in';
  if (withoutPassword > 0) lines.push(`    ${number(withoutPassword).padStart(11)}  ${without}`);
  if (hashes.some(({ scheme }) => OF_EITHER.test(scheme))) lines.push(...EITHER.map((line) => `    ${line}`));
  return lines.length === 0 ? [] : ['  Passwords', ...lines];
}

function withoutEmailLines({ withoutEmail, withoutName, unreachable }: Summary, given: Given): string[] {
  if (!withoutEmail) return [];
  if (!given.withoutEmail) {
    return groupLines('Will fail, as every user needs an email address; --without-email imports them', [withoutEmail]);
  }
  return [
    ...groupLines('Log in with their user name, and get no mail', [withoutEmail]),
    ...(unreachable > 0 ? [`    ${number(unreachable).padStart(11)}  ${UNREACHABLE}`] : []),
    ...groupLines('Will fail, as a user without an email address needs a user name', withoutName ? [withoutName] : []),
  ];
}

/** A verified address signs in as the user name does; users of systems with sign-in by address notice the others. */
function nameLines({ typeUserName: n }: Summary): string[] {
  if (n === 0) return [];
  const whose = n === 1 ? 'user whose address is' : 'users whose addresses are';
  return [
    `  ${number(n)} ${whose} not verified must type the user name to sign in, and not the address, until it is verified`,
  ];
}

function mailLines({ mails }: Summary, given: 'auto' | 'none'): string[] {
  const { verification, initialisation } = mails;
  if (verification + initialisation === 0) return ['  Mails: none'];
  return [
    given === 'none'
      ? '  Mails that are held back (--mails none); `muster send-mails IMPORT` sends them'
      : '  Mails that will be sent',
    `    ${number(verification).padStart(11)}  to verify an address`,
    `    ${number(initialisation).padStart(11)}  to set a password`,
  ];
}

/** A title, and a line for each group with its count, message and first places; nothing without groups. */
export function groupLines(title: string, groups: readonly Group[]): string[] {
  if (groups.length === 0) return [];
  return [`  ${title}`, ...groups.map((group) => `    ${number(group.count).padStart(11)}  ${text(group)}`)];
}

function text({ message, examples }: Group): string {
  return `${printable(message)} (${places(examples)})`;
}

/** `users.json line 4, 17; more.json line 2` */
export function places(examples: readonly SourceLocation[]): string {
  const files = [...new Set(examples.map(({ file }) => file))];
  const parts = files.map((file) => {
    const lines = examples.filter((place) => place.file === file).map(({ line }) => line);
    return `${printable(file)} line ${lines.join(', ')}`;
  });
  return parts.join('; ');
}

/** What an upload tells about the records that it sends; a new one for each attempt. */
export interface Pass {
  /** @throws to end the upload */
  see(outcome: Outcome): void;
  /** Every record was seen, and not everything was sent. @throws to end the upload */
  end(): void;
}

/** A record that stops the import, so the rest need not be sent; the summary names all of them. */
export class Unsendable extends Error {}

/**
 * One pass over the files while their users are sent.
 * @param decide called with the summary, once it was shown; throws if the users must not be imported
 */
export function openPass(
  out: Output,
  job: { conversion: Conversion; chosen: Chosen; options: RunOptions; shown: { summary?: Summary }; onEnd: () => void },
  decide: (summary: Summary) => void,
): Pass {
  const { conversion, chosen, options, shown, onEnd } = job;
  const counter = openCounter({ atSource: options.passwordSource !== undefined, source: chosen.source });
  return {
    see(outcome) {
      counter.add(outcome);
      const isBroken = outcome.problem !== undefined && !options.skipBroken;
      if (isBroken || outcome.entry?.orgId === '') throw new Unsendable();
    },
    end() {
      if (shown.summary) return; // an earlier attempt has decided
      onEnd();
      const summary = counter.summary(conversion.unusedHashes());
      showSummary(out, summary, options);
      requireUsers(summary, options, chosen);
      decide(summary);
      shown.summary = summary;
    },
  };
}

/** Prints the summary on standard error. */
export function showSummary(out: Output, summary: Summary, options: RunOptions): void {
  const { mails = 'auto', withoutEmail, passwordSource, dryRun } = options;
  for (const line of summaryLines(summary, { mails, withoutEmail, passwordSource, dryRun })) out.note(line);
}

/** @throws Failure (usage) when a file has no users, a record cannot be read, or users have no organization */
export function requireUsers(summary: Summary, { skipBroken }: RunOptions, { files }: Chosen): void {
  const broken = summary.broken.reduce((sum, { count }) => sum + count, 0);
  if (broken > 0 && !skipBroken) {
    throw wrongUsage(
      `${broken} record${broken === 1 ? '' : 's'} cannot be read, so nothing was imported.`,
      'Correct them at the places named above, or skip them with --skip-broken.',
    );
  }
  const names = files.filter(({ isHashes }) => !isHashes).map(({ file }) => file.name);
  requireUsersInFiles(summary, names);
  if (summary.orgs.some(({ orgId }) => orgId === '')) {
    throw wrongUsage(
      'The files do not say which organization the users belong to.',
      'Specify it with --org; `muster orgs list` shows the existing ones.',
    );
  }
}
