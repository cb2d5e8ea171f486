/** Reads known-answers.txt, the hashes that other programs made. */
import { readFileSync } from 'node:fs';
import { workOf } from '../../src/passwords/registry.ts';

export interface KnownAnswer {
  scheme: string;
  origin: string;
  password: string;
  encoded: string;
}

export const KNOWN_ANSWERS: readonly KnownAnswer[] = readFileSync(
  new URL('./known-answers.txt', import.meta.url),
  'utf8',
)
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [scheme = '', origin = '', password = '', encoded = ''] = line.split(' | ');
    return { scheme, origin, password: JSON.parse(password), encoded };
  });

/** The known answer of each scheme that takes the least work, without the empty password, which cannot log in. */
export function oneOfEach(): KnownAnswer[] {
  const answers = KNOWN_ANSWERS.filter((answer) => answer.password !== '');
  const cheapestLast = answers.toSorted((a, b) => workOf(b.encoded) - workOf(a.encoded));
  return [...new Map(cheapestLast.map((answer) => [answer.scheme, answer])).values()];
}
