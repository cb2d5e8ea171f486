/** Asks for a password, key or token on the terminal, without showing what is typed. */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import type { Interrupted } from './interrupt.ts';
import type { Output } from './output.ts';

/**
 * Returns what was typed; empty when the input ended.
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
