/**
 * A key pair for a machine user, and the file that is handed out once.
 * Guarantee: the private half is in what is returned and nowhere else.
 */
import { generateKeyPair, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import type { JWK } from 'jose';

/** RFC 7518 section 3.3: RS256 needs 2048 bits or more. */
const MODULUS_BITS = 2048;
/** What clients of the ecosystem read as "does not expire". */
const NEVER = new Date('9999-12-31T23:59:59Z');

const generate = promisify(generateKeyPair);

export interface KeyPair {
  publicJwk: JWK;
  privateKey: KeyObject;
}

/** Makes an RSA key pair in a thread of libuv: some hundred milliseconds that do not hold the event loop up. */
export async function makeKeyPair(keyId: string): Promise<KeyPair> {
  const { publicKey, privateKey } = await generate('rsa', { modulusLength: MODULUS_BITS });
  const jwk = publicKey.export({ format: 'jwk' }) as JWK;
  return { publicJwk: { ...jwk, kid: keyId, alg: 'RS256', use: 'sig' }, privateKey };
}

/**
 * `keyDetails` of contract section 3: base64 of `{type, keyId, key, expirationDate, userId}`, the private key as PEM of
 * PKCS #1 ("RSA PRIVATE KEY", RFC 8017 appendix A.1.2), which is what published clients read.
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

/** RFC 3339; without the fraction where it is zero. */
function timestamp(date: Date): string {
  return date.toISOString().replace('.000Z', 'Z');
}
