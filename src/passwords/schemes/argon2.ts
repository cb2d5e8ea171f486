import * as crypto from 'node:crypto';
import {
  decodeBase64,
  defineScheme,
  encodeBase64,
  joined,
  numberProblem,
  type Scheme,
  type Secret,
  SHORTEST_DIGEST,
  sameBytes,
  wholeNumber,
} from '../scheme.ts';
import { argon2Work } from '../work.ts';

/**
 * argon2i, argon2id and argon2d (RFC 9106) in the PHC string format: `$argon2id$v=19$m=KiB,t=passes,p=lanes$salt$hash`,
 * with the parameters in any order and base64 in either alphabet. github.com/P-H-C/phc-string-format
 *
 * `data` is the associated data; some programs write it and do not use it, so the hash is tried with and without it. A
 * `keyid` names a secret. A hash with a secret cannot be verified; programs without one write `keyid` too, so it is
 * ignored. Version 16 is rejected.
 */
// The command line, which verifies nothing, also runs on a Node.js without argon2Sync.

type Variant = 'argon2i' | 'argon2id' | 'argon2d';

/** `m` in KiB, `t` passes, `p` lanes. */
export interface Argon2Cost {
  m: number;
  t: number;
  p: number;
}

interface Parts {
  cost: Argon2Cost;
  data: Buffer | undefined;
  salt: Buffer;
  digest: Buffer;
}

const LARGEST_MEMORY = 512 * 1024;
/** The work bounds them more closely, except with very little memory. */
const MOST_PASSES = 100_000;
const MOST_LANES = 255;
const SHORTEST_SALT = 8;
/** Long enough for a salt of 64 bytes and a hash of 128. */
const LONGEST_TEXT = 400;

/** What is out of bounds, or undefined. */
export function argon2CostProblem({ m, t, p }: Argon2Cost): string | undefined {
  return (
    numberProblem('parallelism p', p, 1, MOST_LANES) ??
    numberProblem('passes t', t, 1, MOST_PASSES) ??
    numberProblem('memory m (KiB)', m, 8 * p, LARGEST_MEMORY)
  );
}

/** The cost that a hash states, or undefined; the numbers may be NaN. */
export function argon2Cost(encoded: string): Argon2Cost | undefined {
  return parametersOf(encoded)?.cost;
}

const NAMES = ['m', 't', 'p', 'keyid', 'data'];

function parametersOf(encoded: string): { cost: Argon2Cost; data: string | undefined } | undefined {
  const pairs = (encoded.split('$')[3] ?? '').split(',').map((pair): [string, string] => {
    const at = pair.indexOf('=');
    return [pair.slice(0, at), pair.slice(at + 1)];
  });
  const given = new Map(pairs);
  if (given.size < pairs.length || pairs.some(([name]) => !NAMES.includes(name))) return undefined;
  const [m, t, p] = ['m', 't', 'p'].map((name) => given.get(name));
  if (m === undefined || t === undefined || p === undefined) return undefined;
  return { cost: { m: wholeNumber(m), t: wholeNumber(t), p: wholeNumber(p) }, data: given.get('data') };
}

/** Base64 in the standard alphabet, or the one for URLs. */
function bytesOf(text: string): Buffer | undefined {
  return decodeBase64(text.replaceAll('-', '+').replaceAll('_', '/'));
}

function parse(encoded: string): Parts | string {
  const fields = encoded.split('$');
  const [, , version = '', , saltText = '', digestText = ''] = fields;
  if (version !== 'v=19') return /^v=\d{1,3}$/.test(version) ? 'only version v=19 is supported' : 'v=19 is missing';
  const parameters = parametersOf(encoded);
  if (parameters === undefined) return 'the parameters are not m=…,t=…,p=…';
  const { cost } = parameters;
  const problem = argon2CostProblem(cost);
  if (problem !== undefined) return problem;
  const data = parameters.data === undefined ? undefined : bytesOf(parameters.data);
  if (data === undefined && parameters.data !== undefined) return 'data is not base64';
  if (fields.length !== 6) return 'the fields are not version, parameters, salt and hash';
  const salt = bytesOf(saltText);
  if (salt === undefined) return 'the salt is not base64';
  if (salt.length < SHORTEST_SALT) return `the salt is shorter than ${SHORTEST_SALT} bytes`;
  const digest = bytesOf(digestText);
  if (digest === undefined) return 'the hash is not base64';
  if (digest.length < SHORTEST_DIGEST) return `the hash is shorter than ${SHORTEST_DIGEST} bytes`;
  return { cost, data, salt, digest };
}

/** The bare digest. */
export function deriveArgon2(
  variant: Variant,
  password: Secret,
  salt: Buffer,
  { m, t, p }: Argon2Cost,
  bytes: number,
  data?: Buffer,
): Buffer {
  const message = joined(password);
  const cost = { memory: m, passes: t, parallelism: p };
  const associatedData = data && { associatedData: data };
  return crypto.argon2Sync(variant, { message, nonce: salt, ...cost, tagLength: bytes, ...associatedData });
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
    work: ({ cost, data }) => (data === undefined ? 1 : 2) * argon2Work(cost),
    longest: LONGEST_TEXT,
    verify: ({ cost, data, salt, digest }, password) =>
      (data === undefined ? [undefined] : [data, undefined]).some((used) =>
        sameBytes(deriveArgon2(variant, password, salt, cost, digest.length, used), digest),
      ),
  });
}

export const argon2Schemes = [argon2('argon2id'), argon2('argon2i'), argon2('argon2d')];
