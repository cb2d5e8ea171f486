/** Asks for confirmation before something that cannot be undone. */
import { createInterface } from 'node:readline/promises';
import { EXIT, Failure } from './failure.ts';
import { Interrupted } from './interrupt.ts';
import type { Output } from './output.ts';

/**
 * Returns when the person answers yes.
 * @param question such as `Undo import 17?`
 * @throws Failure when the answer is no, or there is no terminal to ask on
 */
export async function confirm(out: Output, question: string): Promise<void> {
  if (!out.live || !out.input.isTTY) {
    throw new Failure('This needs confirmation, and there is no terminal to ask on.', {
      exitCode: EXIT.usage,
      advice: 'Confirm it on the command line with --yes.',
    });
  }
  const answer = await ask(out, `${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure('Nothing was done.');
}

async function ask(out: Output, question: string): Promise<string> {
  const lines = createInterface({ input: out.input, output: out.screen });
  try {
    return await new Promise((resolve, reject) => {
      lines.on('SIGINT', () => reject(new Interrupted('Nothing was done.')));
      lines.on('close', () => resolve(''));
      lines.question(question).then(resolve, reject);
    });
  } finally {
    lines.close();
  }
}
