/** Questions on the terminal: a confirmation, and text that is not shown while it is typed. */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { Failure, Interrupted, wrongUsage } from './failure.ts';
import type { Output } from './output.ts';

/**
 * Asks before something that cannot be undone. Returns when the person answers yes.
 * @param question such as `Undo import 17?`
 * @throws Failure when the answer is no, or there is no terminal to ask on
 */
export async function confirm(out: Output, question: string): Promise<void> {
  if (!out.live || !out.input.isTTY) {
    throw wrongUsage(
      'This needs confirmation, and there is no terminal to ask on.',
      'Confirm it on the command line with --yes.',
    );
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

const MOST_BYTES = 10_000;

/**
 * A password or token that a person types or a program pipes in: never an argument, which other programs can read.
 * @param question such as `Token (not shown): `
 * @throws `left` on Ctrl-C
 */
export async function readSecret(out: Output, question: string, left: Interrupted): Promise<string> {
  if (out.input.isTTY) return askSecret(out, question, left);
  let text = '';
  for await (const chunk of out.input.setEncoding('utf8')) {
    text += chunk as string;
    if (text.length > MOST_BYTES) break;
  }
  return text;
}

/**
 * Asks for a password, key or token. Returns what was typed; empty when the input ended.
 * @param question such as `Token (not shown): `
 * @throws `left` on Ctrl-C
 */
export async function askSecret(out: Output, question: string, left: Interrupted): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  // Created before the question is shown: the terminal echoes what is typed until this sets raw mode.
  const lines = createInterface({ input: out.input, output: nowhere, terminal: true });
  out.screen.write(question);
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.on('SIGINT', () => reject(left));
      lines.on('close', () => resolve(''));
      lines.question('').then(resolve, reject);
    });
  } finally {
    lines.close();
    out.screen.write('\n');
  }
}
