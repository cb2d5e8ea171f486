/** Prints the outcome of the import. */
import type { ImportResult } from '../src/cli/follow/result.ts';

const MAX_SHOWN = 12;

export function report(result: ImportResult, mailsWent: string): void {
  const { counts, mails } = result;
  console.log(`Report of import ${result.importId}: ${result.state}`);
  console.log(`  ${counts.total} users in the file`);
  console.log(`  ${counts.succeeded} imported, ${Math.round(result.usersPerSecond)} a second`);
  console.log(`  ${counts.failed} failed, each for its own reason:`);
  for (const error of result.errors.slice(0, MAX_SHOWN))
    console.log(`    ${error.id || '(no userId)'}: ${error.message}`);
  if (counts.failed > MAX_SHOWN) console.log(`    … and ${counts.failed - MAX_SHOWN} more`);
  console.log(
    `  ${mails.sent} mails sent, ${mailsWent}: only to users without a verified address or without a password`,
  );
  if (mails.failed > 0) console.log(`  ${mails.failed} mails failed`);
}
