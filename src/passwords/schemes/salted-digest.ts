/**
 * One digest of salt and password, as many systems export it: in `$salted-sha256-prefix$salt$hash` the salt precedes
 * the password, in `-suffix` it follows. With `r=N$` before the salt, the digest is digested N-1 more times.
 *
 * Salt and hash are standard base64, padded or not; the salt may be empty. md5-salted.ts handles another form for MD5.
 */
import { hash } from 'node:crypto';
import {
  DIGESTS,
  decodeBase64,
  defineScheme,
  joined,
  numberProblem,
  type Scheme,
  type Secret,
  sameBytes,
  wholeNumber,
} from '../scheme.ts';
import { digestWork } from '../work.ts';

const MOST_ROUNDS = 1_000_000;

type Order = 'prefix' | 'suffix';

interface Parts {
  rounds: number;
  salt: Buffer;
  digest: Buffer;
}

function parse(body: string, length: number): Parts | string {
  const fields = body.split('$');
  const named = fields[0]?.startsWith('r=') ? fields.shift() : undefined;
  const rounds = named === undefined ? 1 : wholeNumber(named.slice('r='.length));
  const problem = numberProblem('rounds r', rounds, 1, MOST_ROUNDS);
  if (problem !== undefined) return problem;
  const [saltText, digestText, ...more] = fields;
  if (saltText === undefined || digestText === undefined || more.length > 0) return 'the fields are not salt and hash';
  const salt = decodeBase64(saltText);
  if (salt === undefined) return 'the salt is not base64';
  const digest = decodeBase64(digestText);
  if (digest === undefined) return 'the hash is not base64';
  return digest.length === length ? { rounds, salt, digest } : `the hash is not ${length} bytes`;
}

function derive(algorithm: string, order: Order, { rounds, salt }: Parts, password: Secret): Buffer {
  const text = order === 'prefix' ? joined(salt, password) : joined(password, salt);
  let digest = hash(algorithm, text, 'buffer');
  for (let round = 1; round < rounds; round++) digest = hash(algorithm, digest, 'buffer');
  return digest;
}

function saltedDigest(algorithm: string, length: number, order: Order): Scheme {
  const name = `salted-${algorithm}-${order}`;
  const prefix = `$${name}$`;
  return defineScheme({
    name,
    matches: (encoded) => encoded.startsWith(prefix),
    parse: (encoded) => parse(encoded.slice(prefix.length), length),
    work: ({ rounds }) => digestWork(rounds),
    verify: (parts, password) => sameBytes(derive(algorithm, order, parts, password), parts.digest),
  });
}

export const saltedDigestSchemes = DIGESTS.flatMap(({ algorithm, length }) => [
  saltedDigest(algorithm, length, 'prefix'),
  saltedDigest(algorithm, length, 'suffix'),
]);
