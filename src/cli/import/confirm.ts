/**
 * Asks before what cannot be undone or was not stated explicitly: many mails, a guess.
 *
 * Without a terminal to ask on, many mails are sent only with `--mails auto` or `--yes`.
 */

import { STDIN } from '../../sources/read/file.ts';
import type { Summary } from '../../sources/summary.ts';
import { number } from '../imports/progress.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';

/** Up to this many mails are sent without asking: a test run, a small team. */
const FEW_MAILS = 100;

export interface Plan {
  options: { files: readonly string[]; mails?: 'auto' | 'none' | undefined; yes: boolean; dryRun: boolean };
  isGuess: boolean;
}

/** Whether there may be a question, depending on what the files hold, and a person to answer it. */
export function mayAsk(out: Output, { options, isGuess }: Plan): boolean {
  if (options.yes || options.dryRun || (options.mails !== undefined && !isGuess)) return false;
  // Standard input may carry the users, so no answer can come from there.
  return out.live && out.input.isTTY === true && !out.json && !options.files.includes(STDIN);
}

/** What to ask before the import starts; undefined if nothing. */
export function questionFor(summary: Summary, { options, isGuess }: Plan): string | undefined {
  const mails = unstatedMails(summary, options);
  const questions = [
    ...(mails > 0 ? [`${number(mails)} mails will be sent (--mails none holds them back).`] : []),
    ...(isGuess ? ['The system that the files come from is a guess.'] : []),
  ];
  return options.yes || questions.length === 0 ? undefined : `${questions.join(' ')} Continue?`;
}

/**
 * Returns when the import may start without a question. A guess was shown, and a script could have named the source;
 * many mails need an explicit option.
 * @throws Failure
 */
export function requireStated(summary: Summary, { options }: Plan): void {
  const mails = unstatedMails(summary, options);
  if (options.yes || options.dryRun || mails === 0) return;
  throw new Failure(`${number(mails)} mails would be sent, and there is no terminal to ask on; nothing was imported.`, {
    exitCode: EXIT.usage,
    advice: 'Use --mails auto to send them, or --mails none to hold them for `muster send-mails`.',
  });
}

function unstatedMails({ mails }: Summary, options: Plan['options']): number {
  const due = mails.verification + mails.initialisation;
  return options.mails === undefined && due > FEW_MAILS ? due : 0;
}
