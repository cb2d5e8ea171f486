/** scrypt (RFC 7914) as passlib writes it: `$scrypt$ln=log2(N),r=8,p=1$salt$hash`; salt and hash are base64. */
import { scryptSync } from 'node:crypto';
import {
  decodeBase64,
  defineScheme,
  joined,
  numberProblem,
  type Secret,
  SHORTEST_DIGEST,
  sameBytes,
  wholeNumber,
} from '../scheme.ts';
import { scryptWork } from '../work.ts';

const PREFIX = '$scrypt$';
const MIB = 2 ** 20;
const LARGEST = 256 * MIB;

/** `ln` is log2 of N. */
export interface ScryptCost {
  ln: number;
  r: number;
  p: number;
}

/** What is out of bounds, or undefined. @param name the hash format's name for `ln` */
export function scryptCostProblem({ ln, r, p }: ScryptCost, name = 'ln'): string | undefined {
  const problem =
    numberProblem(name, ln, 1, 20) ?? numberProblem('r', r, 1, LARGEST / 256) ?? numberProblem('p', p, 1, 16);
  if (problem !== undefined) return problem;
  // RFC 7914 section 2: N < 2^(128 r / 8).
  if (ln >= 16 * r) return `${name} ${ln} is out of bounds for r ${r} (1 to ${16 * r - 1})`;
  const memory = 128 * 2 ** ln * r;
  if (memory > LARGEST) return `memory 128·N·r of ${Math.ceil(memory / MIB)} MiB is out of bounds (256 MiB)`;
  // Matters only for tiny N: all lanes are in memory at the same time.
  if (128 * r * p > LARGEST) return 'memory 128·r·p is out of bounds (256 MiB)';
  return undefined;
}

/** The cost in a format that states N itself, or a text that says what is wrong with it. */
export function scryptCostOfN(
  n: string | undefined,
  r: string | undefined,
  p: string | undefined,
): ScryptCost | string {
  const N = wholeNumber(n);
  if (Number.isNaN(N)) return 'N must be a whole number';
  const ln = Math.log2(N);
  if (!Number.isInteger(ln)) return 'N is not a power of two';
  const cost = { ln, r: wholeNumber(r), p: wholeNumber(p) };
  return scryptCostProblem(cost, 'log2 of N') ?? cost;
}

export function deriveScrypt(password: Secret, salt: Buffer, { ln, r, p }: ScryptCost, bytes: number): Buffer {
  return scryptSync(joined(password), salt, bytes, { N: 2 ** ln, r, p, maxmem: 3 * LARGEST });
}

function parse(encoded: string): { cost: ScryptCost; salt: Buffer; digest: Buffer } | string {
  const [parameters = '', saltText, digestText, ...more] = encoded.slice(PREFIX.length).split('$');
  const found = /^ln=([^,]*),r=([^,]*),p=([^,]*)$/.exec(parameters);
  if (found === null) return 'the parameters are not ln=…,r=…,p=…';
  const cost = { ln: wholeNumber(found[1]), r: wholeNumber(found[2]), p: wholeNumber(found[3]) };
  const problem = scryptCostProblem(cost);
  if (problem !== undefined) return problem;
  if (saltText === undefined || digestText === undefined || more.length > 0) {
    return 'the fields are not parameters, salt and hash';
  }
  const salt = decodeBase64(saltText);
  if (salt === undefined) return 'the salt is not base64';
  const digest = decodeBase64(digestText);
  if (digest === undefined) return 'the hash is not base64';
  if (digest.length < SHORTEST_DIGEST) return `the hash is shorter than ${SHORTEST_DIGEST} bytes`;
  return { cost, salt, digest };
}

export const scryptScheme = defineScheme({
  name: 'scrypt',
  matches: (encoded) => encoded.startsWith(PREFIX),
  parse,
  work: ({ cost }) => scryptWork(cost),
  verify: ({ cost, salt, digest }, password) => sameBytes(deriveScrypt(password, salt, cost, digest.length), digest),
});
