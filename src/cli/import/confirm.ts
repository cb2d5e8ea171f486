/**
 * Asks before what cannot be taken back or was not said in so many words: a mass of mails, a guess.
 *
 * Where nobody can be asked, mails go out only when `--mails auto` or `--yes` was given.
 */

import { number } from '../imports/progress.ts';
import { confirm } from '../terminal/confirm.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';
import type { Summary } from './summary.ts';

/** So many mails may go out without being asked for: a test run, a small team. */
const FEW_MAILS = 100;

export interface Plan {
  summary: Summary;
  options: { mails?: 'auto' | 'none' | undefined; yes: boolean; dryRun: boolean };
  isGuess: boolean;
  /** Standard input holds the users, so no answer can come from there. */
  readsStdin: boolean;
}

/** Returns when the import may start. @throws Failure */
export async function confirmStart(out: Output, { summary, options, isGuess, readsStdin }: Plan): Promise<void> {
  if (options.yes || options.dryRun) return;
  const due = summary.mails.verification + summary.mails.initialisation;
  const mails = options.mails === undefined && due > FEW_MAILS ? due : 0;
  if (mails === 0 && !isGuess) return;
  const canAsk = out.live && process.stdin.isTTY === true && !readsStdin && !out.json;
  if (canAsk) {
    const questions = [
      ...(mails > 0 ? [`${number(mails)} mails will go out (--mails none keeps them back).`] : []),
      ...(isGuess ? ['Which system the files come from is a guess.'] : []),
    ];
    return confirm(out, `${questions.join(' ')} Go on?`);
  }
  // A guess was shown, and a script had its chance to name the source; mails are another matter.
  if (mails === 0) return;
  throw new Failure(`${number(mails)} mails would go out, and nobody can be asked here; nothing was sent.`, {
    exitCode: EXIT.usage,
    advice: 'Say --mails auto to send them, or --mails none to keep them for `muster send-mails`.',
  });
}
