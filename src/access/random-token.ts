/** Secrets that are handed out once and stored as SHA-256 only: they are random, so no slow hash is needed. */
import { createHash, randomBytes } from 'node:crypto';

/** 256 random bits, base64url: 43 characters. */
export function randomToken(): string {
  return randomBytes(32).toString('base64url');
}

/** What of a token is stored. */
export function tokenHash(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
