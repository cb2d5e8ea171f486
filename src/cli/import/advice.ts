/** What to do after an import or a dry run: the command that imports for real, and how to leave existing users alone. */

import type { Group } from '../../sources/summary.ts';
import type { RunOptions } from './run-options.ts';

const EXISTS = /^USER-(?:ID|NAME)-TAKEN$/;

/** @param failures why users failed @param draftId whose users a dry run has checked */
export function adviceLines(options: RunOptions, failures: readonly Group[], draftId?: string): string[] {
  const isTaken = options.onExisting === 'fail' && failures.some(({ id }) => EXISTS.test(id));
  return [
    ...(isTaken
      ? ['Users that already exist stay as they are with --on-existing skip, and take over the export with update.']
      : []),
    ...(options.dryRun ? startLines(options, failures, draftId) : []),
  ];
}

function startLines(options: RunOptions, failures: readonly Group[], draftId: string | undefined): string[] {
  if (draftId === undefined) return ['To import these users, run:', `  ${realCommand(options)}`];
  return [
    'To import these users, which the service keeps as a draft for a day, run:',
    `  ${startCommand(options, draftId)}`,
    ...(failures.length > 0 ? [`To correct those that fail before: muster causes ${draftId}`] : []),
    `To drop them: muster discard ${draftId}`,
  ];
}

function startCommand({ timeout, onExisting, mails, webhook }: RunOptions, draftId: string): string {
  const given = optionWords([
    ['timeout', timeout],
    ['on-existing', onExisting === 'fail' ? undefined : onExisting],
    ['mails', mails],
    ['webhook', webhook],
  ]);
  return ['muster', 'start', draftId, ...given, '--watch'].map(quoted).join(' ');
}

function optionWords(valued: readonly [name: string, value: string | undefined][]): string[] {
  return valued.flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
}

/** The same command without `--dry-run`. */
function realCommand(options: RunOptions): string {
  const { files, hashes = [], map = [] } = options;
  const valued: [name: string, value: string | undefined][] = [
    ['from', options.from],
    ['org', options.org],
    ['timeout', options.timeout],
    ['hash-config', options.hashConfig],
    ['id-prefix', options.idPrefix],
    ['format', options.format],
    ['encoding', options.encoding],
    ['on-existing', options.onExisting === 'fail' ? undefined : options.onExisting],
    ['mails', options.mails],
    ['webhook', options.webhook],
    ...hashes.map((value): [string, string] => ['hashes', value]),
    ...map.map((value): [string, string] => ['map', value]),
  ];
  const given = optionWords(valued);
  const flags = [
    ...(options.strict ? ['--strict'] : []),
    ...(options.withoutEmail ? ['--without-email'] : []),
    ...(options.skipBroken ? ['--skip-broken'] : []),
    ...(options.trustFrom ? ['--trust-from'] : []),
  ];
  return ['muster', 'import', ...files, ...given, ...flags, '--watch'].map(quoted).join(' ');
}

/** As a shell needs it. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
