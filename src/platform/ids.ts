/** Random ids and tokens. */
import { hash, randomBytes, randomFillSync } from 'node:crypto';

/**
 * A new id, ordered by time to the millisecond: a UUIDv7 (RFC 9562 section 5.7), so that new rows are inserted at the
 * end of their index.
 */
export function newId(now: number = Date.now()): string {
  const time = now.toString(16).padStart(12, '0');
  const random = randomHex(10);
  const variant = ((Number.parseInt(random[3] as string, 16) & 0x3) | 0x8).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-${variant}${random.slice(4, 7)}-${random.slice(7, 19)}`;
}

function randomHex(bytes: number): string {
  if (used + bytes > POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  used += bytes;
  return POOL.toString('hex', used - bytes, used);
}

/** Random bytes in stock, as each call of the generator costs more than the bytes. */
const POOL = Buffer.alloc(8 * 1024);
let used = POOL.length;

/** A new secret: 256 random bits, base64url, 43 characters. */
export function randomToken(): string {
  return randomBytes(32).toString('base64url');
}

/** The stored form of a token. SHA-256 is enough: a token is random, so it needs no slow hash. */
export function tokenHash(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}
