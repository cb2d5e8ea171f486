/**
 * A token that a person types or a program pipes in.
 *
 * Guarantee: it is not shown while it is typed, and appears neither in the process list nor in a shell's history.
 */
import { askSecret } from '../terminal/ask-secret.ts';
import { EXIT, Failure } from '../terminal/failure.ts';
import { Interrupted } from '../terminal/interrupt.ts';
import type { Output } from '../terminal/output.ts';

/** RFC 6750 section 2.1, up to the length that the service accepts. */
const TOKEN = /^[\x21-\x7e]{1,4096}$/;
const MOST_BYTES = 10_000;

/** @throws Failure when the input is not a token */
export async function readTypedToken(out: Output): Promise<string> {
  const text = (
    out.input.isTTY
      ? await askSecret(out, 'Token (not shown): ', new Interrupted('Login cancelled.'))
      : await pipedText(out.input)
  ).trim();
  if (TOKEN.test(text)) return text;
  throw new Failure(text === '' ? 'The token is empty.' : 'The token must be one word of printable ASCII characters.', {
    exitCode: EXIT.usage,
    advice: 'Type it, or pipe it in: muster login --token < file',
  });
}

async function pipedText(input: NodeJS.ReadStream): Promise<string> {
  let text = '';
  for await (const chunk of input.setEncoding('utf8')) {
    text += chunk as string;
    if (text.length > MOST_BYTES) break;
  }
  return text;
}
