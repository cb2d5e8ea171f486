import * as crypto from 'node:crypto';
import {
  decodeBase64,
  defineScheme,
  encodeBase64,
  numberProblem,
  type Scheme,
  SHORTEST_DIGEST,
  sameBytes,
  wholeNumber,
} from '../scheme.ts';
import { argon2Work } from '../work.ts';

/**
 * argon2i, argon2id and argon2d (RFC 9106) in the PHC string format: `$argon2id$v=19$m=KiB,t=passes,p=lanes$salt$hash`.
 *
 * Hashes of version 16, or made with a secret or associated data, cannot be verified and are rejected.
 */
// The command line, which verifies nothing, also runs on a Node.js without argon2Sync.

type Variant = 'argon2i' | 'argon2id' | 'argon2d';

/** `m` in KiB, `t` passes, `p` lanes. */
export interface Argon2Cost {
  m: number;
  t: number;
  p: number;
}

const LARGEST_MEMORY = 512 * 1024;
const SHORTEST_SALT = 8;

/** What is out of bounds, or undefined. */
export function argon2CostProblem({ m, t, p }: Argon2Cost): string | undefined {
  return (
    numberProblem('parallelism p', p, 1, 16) ??
    numberProblem('passes t', t, 1, 10) ??
    numberProblem('memory m (KiB)', m, 8 * p, LARGEST_MEMORY)
  );
}

/** The cost that a hash states, or undefined; the numbers may be NaN. */
export function argon2Cost(encoded: string): Argon2Cost | undefined {
  const found = /^m=([^,$]*),t=([^,$]*),p=([^,$]*)$/.exec(encoded.split('$')[3] ?? '');
  if (found === null) return undefined;
  return { m: wholeNumber(found[1]), t: wholeNumber(found[2]), p: wholeNumber(found[3]) };
}

function parse(encoded: string): { cost: Argon2Cost; salt: Buffer; digest: Buffer } | string {
  const fields = encoded.split('$');
  const [, , version = '', , saltText = '', digestText = ''] = fields;
  if (version !== 'v=19') return /^v=\d{1,3}$/.test(version) ? 'only version v=19 is supported' : 'v=19 is missing';
  const cost = argon2Cost(encoded);
  if (cost === undefined) return 'the parameters are not m=…,t=…,p=…';
  const problem = argon2CostProblem(cost);
  if (problem !== undefined) return problem;
  if (fields.length !== 6) return 'the fields are not version, parameters, salt and hash';
  const salt = decodeBase64(saltText);
  if (salt === undefined) return 'the salt is not base64';
  if (salt.length < SHORTEST_SALT) return `the salt is shorter than ${SHORTEST_SALT} bytes`;
  const digest = decodeBase64(digestText);
  if (digest === undefined) return 'the hash is not base64';
  if (digest.length < SHORTEST_DIGEST) return `the hash is shorter than ${SHORTEST_DIGEST} bytes`;
  return { cost, salt, digest };
}

/** The bare digest. */
export function deriveArgon2(
  variant: Variant,
  password: string,
  salt: Buffer,
  { m, t, p }: Argon2Cost,
  bytes: number,
): Buffer {
  const message = Buffer.from(password);
  return crypto.argon2Sync(variant, { message, nonce: salt, memory: m, passes: t, parallelism: p, tagLength: bytes });
}

/** A new argon2id hash with a digest of 32 bytes. Takes tens of milliseconds. */
export function makeArgon2id(password: string, salt: Buffer, cost: Argon2Cost): string {
  const digest = deriveArgon2('argon2id', password, salt, cost, 32);
  const { m, t, p } = cost;
  return `$argon2id$v=19$m=${m},t=${t},p=${p}$${encodeBase64(salt)}$${encodeBase64(digest)}`;
}

function argon2(variant: Variant): Scheme {
  return defineScheme({
    name: variant,
    matches: (encoded) => encoded.startsWith(`$${variant}$`),
    parse,
    work: ({ cost }) => argon2Work(cost),
    verify: ({ cost, salt, digest }, password) =>
      sameBytes(deriveArgon2(variant, password, salt, cost, digest.length), digest),
  });
}

export const argon2Schemes = [argon2('argon2id'), argon2('argon2i'), argon2('argon2d')];
