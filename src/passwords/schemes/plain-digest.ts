/**
 * A bare digest of the password in hexadecimal digits of either case: MD5 (32), SHA-1 (40), SHA-256 (64) or SHA-512
 * (128). It has no identifier and is recognized by its length. RFC 1321, FIPS 180-4.
 */
import { hash } from 'node:crypto';
import { decodeHex, defineScheme, type Scheme, sameBytes } from '../scheme.ts';

/** The LM hash of seven characters that are missing, as in every password of up to seven characters. */
const LM_HALF = 'aad3b435b51404ee';
/** What is wrong with an LM hash. */
export const IS_LM = 'this is an LM hash of Windows, which cannot be verified';

/** Whether it is the LM hash of a short password, or of none; LM hashes of longer passwords look like MD5. */
export function isLm(digits: string): boolean {
  return digits.length === 32 && digits.toLowerCase().endsWith(LM_HALF);
}

function plainDigest(algorithm: string, digits: number): Scheme {
  return defineScheme({
    name: `${algorithm}-plain`,
    matches: (encoded) => encoded.length === digits && decodeHex(encoded) !== undefined,
    parse(encoded) {
      if (isLm(encoded)) return IS_LM;
      return { digest: Buffer.from(encoded, 'hex') };
    },
    verify: ({ digest }, password) => sameBytes(hash(algorithm, password, 'buffer'), digest),
  });
}

export const plainDigestSchemes = [
  plainDigest('md5', 32),
  plainDigest('sha1', 40),
  plainDigest('sha256', 64),
  plainDigest('sha512', 128),
];
