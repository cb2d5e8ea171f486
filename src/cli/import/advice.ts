/** What to do after an import or a dry run: the command that imports for real, and how to leave existing users alone. */

import type { Group } from '../../sources/summary.ts';
import type { RunOptions } from './run-options.ts';

const EXISTS = /^USER-(?:ID|NAME)-TAKEN$/;

/** @param failures why users failed */
export function adviceLines(options: RunOptions, failures: readonly Group[]): string[] {
  const isTaken = options.onExisting === 'fail' && failures.some(({ id }) => EXISTS.test(id));
  return [
    ...(isTaken
      ? ['Users that already exist stay as they are with --on-existing skip, and take over the export with update.']
      : []),
    ...(options.dryRun ? ['To import these users, run:', `  ${realCommand(options)}`] : []),
  ];
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
  const given = valued.flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]));
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
