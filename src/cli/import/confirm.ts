/**
 * Asks before what cannot be undone or was not stated explicitly: many mails, a guess.
 *
 * Without a terminal to ask on, many mails are sent only with `--mails auto` or `--yes`.
 */

import type { Summary } from '../../sources/summary.ts';
import { number } from '../imports/progress.ts';
import { confirm } from '../terminal/confirm.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import type { Output } from '../terminal/output.ts';

/** Up to this many mails are sent without asking: a test run, a small team. */
const FEW_MAILS = 100;

export interface Plan {
  summary: Summary;
  options: { mails?: 'auto' | 'none' | undefined; yes: boolean; dryRun: boolean };
  isGuess: boolean;
  /** Standard input carries the users, so no answer can come from there. */
  readsStdin: boolean;
}

/** Returns when the import may start. @throws Failure */
export async function confirmStart(out: Output, { summary, options, isGuess, readsStdin }: Plan): Promise<void> {
  if (options.yes || options.dryRun) return;
  const due = summary.mails.verification + summary.mails.initialisation;
  const mails = options.mails === undefined && due > FEW_MAILS ? due : 0;
  if (mails === 0 && !isGuess) return;
  const canAsk = out.live && out.input.isTTY === true && !readsStdin && !out.json;
  if (canAsk) {
    const questions = [
      ...(mails > 0 ? [`${number(mails)} mails will be sent (--mails none holds them back).`] : []),
      ...(isGuess ? ['The system that the files come from is a guess.'] : []),
    ];
    return confirm(out, `${questions.join(' ')} Continue?`);
  }
  // A guess was shown, and a script could have named the source; many mails need an explicit option.
  if (mails === 0) return;
  throw new Failure(`${number(mails)} mails would be sent, and there is no terminal to ask on; nothing was sent.`, {
    exitCode: EXIT.usage,
    advice: 'Use --mails auto to send them, or --mails none to hold them for `muster send-mails`.',
  });
}
