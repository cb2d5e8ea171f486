/**
 * yescrypt, crypt(3)'s default in Debian, Fedora and Ubuntu: `$y$j9T$salt$hash`. The three characters are the flavor,
 * N and r. Other parameters (p, t, a ROM) and flavors, which no crypt(3) writes, are rejected.
 * www.openwall.com/yescrypt; man crypt(5).
 */
import { createHmac, hash, pbkdf2Sync } from 'node:crypto';
import { defineScheme, numberProblem, sameText } from '../../scheme.ts';
import { yescryptWork } from '../../work.ts';
import { ALPHABET, encodeCrypt64 } from '../crypt/crypt3.ts';
import { smix } from './smix.ts';

const PREFIX = '$y$';
const LARGEST = 256 * 2 ** 20;
/** From here on, a first pass with N/64 protects against a weak password. */
const PREHASH_FROM = 2 ** 17;
const FORM = /^[./0-9A-Za-z]{42}[./0-9A-D]$/;
const LONGEST_SALT = 86;

interface Parts {
  n: number;
  r: number;
  salt: Buffer;
  digest: string;
}

/** crypt(3)'s base64 of bytes; undefined when the text is damaged. */
function decodeCrypt64(text: string): Buffer | undefined {
  const bytes: number[] = [];
  for (let i = 0; i < text.length; i += 4) {
    const digits = [...text.slice(i, i + 4)].map((digit) => ALPHABET.indexOf(digit));
    if (digits.includes(-1) || digits.length === 1) return undefined;
    const bits = digits.reduce((sum, digit, at) => sum | (digit << (6 * at)), 0);
    for (let at = 0; at < digits.length - 1; at++) bytes.push((bits >> (8 * at)) & 255);
    if (bits >> (8 * (digits.length - 1)) !== 0) return undefined;
  }
  return Buffer.from(bytes);
}

function parse(encoded: string): Parts | string {
  const [parameters = '', saltText, digest, ...more] = encoded.slice(PREFIX.length).split('$');
  const form = /^j([./0-9A-Za-j])([./0-9A-Za-j])$/.exec(parameters);
  if (form === null) return 'the parameters are not those of crypt(3): j, one character of N, one of r';
  const [log2, r] = [form[1], form[2]].map((digit) => ALPHABET.indexOf(digit as string) + 1) as [number, number];
  const problem = numberProblem('log2 of N', log2, 8, 18);
  if (problem !== undefined) return problem;
  const n = 2 ** log2;
  if (128 * n * r > LARGEST) return 'memory 128·N·r is out of bounds (256 MiB)';
  if (saltText === undefined || digest === undefined || more.length > 0) {
    return 'the fields are not parameters, salt and hash';
  }
  const salt = saltText.length > LONGEST_SALT ? undefined : decodeCrypt64(saltText);
  if (salt === undefined) return 'the salt is damaged or not in the alphabet of crypt(3)';
  if (!FORM.test(digest)) return 'the hash is cut off or not in the alphabet of crypt(3)';
  return { n, r, salt, digest };
}

const hmac = (key: string | Buffer, text: string | Buffer) => createHmac('sha256', key).update(text).digest();

/** One pass; the key of PBKDF2 changes between its two uses. */
function pass(name: string, password: Buffer, { n, r, salt }: Pick<Parts, 'n' | 'r' | 'salt'>): Buffer {
  const key = hmac(name, password);
  const block = pbkdf2Sync(key, salt, 1, 128 * r, 'sha256');
  const changed = smix(block, n, Buffer.from(block.subarray(0, 32)));
  return pbkdf2Sync(changed, block, 1, 32, 'sha256');
}

function digestOf(parts: Parts, password: string): string {
  let key: Buffer = Buffer.from(password);
  const { n, r } = parts;
  if (n >= 256 && n * r >= PREHASH_FROM) key = pass('yescrypt-prehash', key, { ...parts, n: n / 64 });
  const last = pass('yescrypt', key, parts);
  // As in SCRAM (RFC 5802), a server that leaks the hash leaks no key with which a client logs in.
  return encodeCrypt64(hash('sha256', hmac(last, 'Client Key'), 'buffer'));
}

export const yescryptScheme = defineScheme({
  name: 'yescrypt',
  matches: (encoded) => encoded.startsWith(PREFIX),
  parse,
  work: (parts) => yescryptWork(parts),
  verify: (parts, password) => sameText(digestOf(parts, password), parts.digest),
});
