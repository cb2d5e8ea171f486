/** Files without users are an error in every command: a wrong file, a wrong --from, an export that was cut off. */

import type { Summary } from '../../sources/summary.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import { printable } from '../terminal/output.ts';

/**
 * Returns when every file of users has users, or records that were skipped for a reason that the summary states.
 * @param files of users, as named on the command line
 * @throws Failure (usage)
 */
export function requireUsersInFiles(summary: Summary, files: readonly string[]): void {
  if (summary.users === 0) throw noUser(files.length === 1 ? shown(files[0]) : 'these files');
  const empty = files.find(
    (name) => !summary.files.some(({ file, users, skipped }) => file === name && users + skipped > 0),
  );
  if (empty !== undefined) throw noUser(shown(empty));
}

function shown(file = ''): string {
  return printable(file);
}

function noUser(where: string): Failure {
  return new Failure(`There are no users in ${where}.`, {
    exitCode: EXIT.usage,
    advice: 'Check --from and --format, and that the file contains the users.',
  });
}
