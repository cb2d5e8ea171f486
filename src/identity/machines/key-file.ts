/**
 * Generates a key pair for a machine user, and the key file that is returned once.
 * Guarantee: the private key is in the returned value and nowhere else.
 */
import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { JWK } from 'jose';

/** As strong as 128 bits (NIST SP 800-57 part 1); RFC 7518 section 3.3 asks for 2048 or more. */
const MODULUS_BITS = 3072;
/** The value that clients of the ecosystem read as "does not expire". */
const NEVER = new Date('9999-12-31T23:59:59Z');

const generate = promisify(generateKeyPair);

export interface KeyPair {
  publicJwk: JWK;
  privateKey: KeyObject;
}

/** Generates an RSA key pair in a libuv thread: this takes a few hundred milliseconds and blocks nothing else. */
export async function makeKeyPair(keyId: string): Promise<KeyPair> {
  const { publicKey, privateKey } = await generate('rsa', { modulusLength: MODULUS_BITS });
  const jwk = publicKey.export({ format: 'jwk' }) as JWK;
  return { publicJwk: { ...jwk, kid: keyId, alg: 'RS256', use: 'sig' }, privateKey };
}

/**
 * `keyDetails`: base64 of `{type, keyId, key, expirationDate, userId}`, the private key as PEM of
 * PKCS #1 ("RSA PRIVATE KEY", RFC 8017 appendix A.1.2), the format that published clients read.
 */
export function keyDetails(of: {
  keyId: string;
  userId: string;
  privateKey: KeyObject;
  expiresAt: Date | null;
}): string {
  const file = {
    type: 'serviceaccount',
    keyId: of.keyId,
    key: of.privateKey.export({ type: 'pkcs1', format: 'pem' }),
    expirationDate: timestamp(of.expiresAt ?? NEVER),
    userId: of.userId,
  };
  return Buffer.from(JSON.stringify(file)).toString('base64');
}

/** RFC 3339, without the fraction if it is zero. */
function timestamp(date: Date): string {
  return date.toISOString().replace('.000Z', 'Z');
}
