/** Reads known-answers.txt, the hashes that other programs made. */
import { readFileSync } from 'node:fs';

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

/** One known answer of each scheme, without the empty password, which cannot be used to log in. */
export function oneOfEach(): KnownAnswer[] {
  const answers = KNOWN_ANSWERS.filter((answer) => answer.password !== '');
  return [...new Map(answers.map((answer) => [answer.scheme, answer])).values()];
}
