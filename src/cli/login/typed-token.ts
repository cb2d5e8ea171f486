/**
 * A token that a person types or a program pipes in.
 *
 * Guarantee: it is not shown while it is typed, and stands neither in the list of processes nor in a shell's history.
 */
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { EXIT, Failure } from '../terminal/failure.ts';
import { Interrupted } from '../terminal/interrupt.ts';
import type { Output } from '../terminal/output.ts';

/** RFC 6750 section 2.1, as long as the service reads. */
const TOKEN = /^[\x21-\x7e]{1,4096}$/;
const MOST_BYTES = 10_000;

/** @throws Failure when what comes is no token */
export async function readTypedToken(out: Output): Promise<string> {
  const text = (process.stdin.isTTY ? await ask(out, 'Token (it is not shown): ') : await pipedText()).trim();
  if (TOKEN.test(text)) return text;
  throw new Failure(text === '' ? 'There was no token.' : 'That is no token: it is one word of printable characters.', {
    exitCode: EXIT.usage,
    advice: 'Type it, or pipe it in: muster login --token < file',
  });
}

async function ask(out: Output, question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  // Before the question: the terminal echoes what is typed until this sets it to raw mode.
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  out.screen.write(question);
  try {
    return await new Promise<string>((resolve, reject) => {
      lines.on('SIGINT', () => reject(new Interrupted('Nobody was logged in.')));
      lines.on('close', () => resolve(''));
      lines.question('').then(resolve, reject);
    });
  } finally {
    lines.close();
    out.screen.write('\n');
  }
}

async function pipedText(): Promise<string> {
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) {
    text += chunk as string;
    if (text.length > MOST_BYTES) break;
  }
  return text;
}
