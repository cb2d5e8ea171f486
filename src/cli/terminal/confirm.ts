/** Asks before something that cannot be taken back. */
import { createInterface } from 'node:readline/promises';
import { EXIT, Failure } from './failure.ts';
import { Interrupted } from './interrupt.ts';
import type { Output } from './output.ts';

/**
 * Returns when the person says yes.
 * @param question such as `Undo import 17?`
 * @throws Failure when it is no, or nobody is there to be asked
 */
export async function confirm(out: Output, question: string): Promise<void> {
  if (!out.live || !process.stdin.isTTY) {
    throw new Failure('There is no terminal to ask for leave.', {
      exitCode: EXIT.usage,
      advice: 'Say it on the command line: --yes',
    });
  }
  const answer = await ask(out, `${question} [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure('Nothing was done.');
}

async function ask(out: Output, question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: out.screen });
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
