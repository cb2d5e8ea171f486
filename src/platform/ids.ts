import { createHash, randomBytes, randomFillSync } from 'node:crypto';

/** Generated ids: UUIDv7 (RFC 9562 section 5.7), so that new rows are inserted at the end of their index. */

const POOL = Buffer.alloc(8 * 1024);
let used = POOL.length;

function randomHex(bytes: number): string {
  if (used + bytes > POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  used += bytes;
  return POOL.toString('hex', used - bytes, used);
}

/** A new id, ordered by time to the millisecond. */
export function newId(now: number = Date.now()): string {
  const time = now.toString(16).padStart(12, '0');
  const random = randomHex(10);
  const variant = ((Number.parseInt(random[3] as string, 16) & 0x3) | 0x8).toString(16);
  return `${time.slice(0, 8)}-${time.slice(8)}-7${random.slice(0, 3)}-${variant}${random.slice(4, 7)}-${random.slice(7, 19)}`;
}

/** Secrets that are issued once and stored only as SHA-256: they are random, so they need no slow hash. */

/** 256 random bits, base64url: 43 characters. */
export function randomToken(): string {
  return randomBytes(32).toString('base64url');
}

/** The stored form of a token. */
export function tokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
