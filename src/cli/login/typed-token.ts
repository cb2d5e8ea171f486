/**
 * A token that a person types or a program pipes in.
 *
 * Guarantee: it is not shown while it is typed, and appears neither in the process list nor in a shell's history.
 */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { EXIT, Failure } from '../terminal/failure.ts';
import { Interrupted } from '../terminal/interrupt.ts';
import type { Output } from '../terminal/output.ts';

/** RFC 6750 section 2.1, up to the length that the service accepts. */
const TOKEN = /^[\x21-\x7e]{1,4096}$/;
const MOST_BYTES = 10_000;

/** @throws Failure when the input is not a token */
export async function readTypedToken(out: Output): Promise<string> {
  const text = (out.input.isTTY ? await ask(out, 'Token (not shown): ') : await pipedText(out.input)).trim();
  if (TOKEN.test(text)) return text;
  throw new Failure(text === '' ? 'The token is empty.' : 'The token must be one word of printable ASCII characters.', {
    exitCode: EXIT.usage,
    advice: 'Type it, or pipe it in: muster login --token < file',
  });
}

async function ask(out: Output, question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  // Created before the question is shown: the terminal echoes what is typed until this sets raw mode.
  const lines = createInterface({ input: out.input, output: nowhere, terminal: true });
  out.screen.write(question);
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.on('SIGINT', () => reject(new Interrupted('Login cancelled.')));
      lines.on('close', () => resolve(''));
      lines.question('').then(resolve, reject);
    });
  } finally {
    lines.close();
    out.screen.write('\n');
  }
}

async function pipedText(input: NodeJS.ReadStream): Promise<string> {
  let text = '';
  for await (const chunk of input.setEncoding('utf8')) {
    text += chunk as string;
    if (text.length > MOST_BYTES) break;
  }
  return text;
}
