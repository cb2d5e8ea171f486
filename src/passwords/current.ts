/**
 * The hashes that Muster itself makes: bcrypt, or argon2id for passwords longer than bcrypt's 72 bytes of UTF-8.
 *
 * Everything here computes for tens of milliseconds or more, so it runs in the threads.
 */
import { randomBytes } from 'node:crypto';
import { bcryptLibrary, makeBcrypt } from './bcrypt-library.ts';
import { schemeOf, seesAll, verifyHash } from './registry.ts';
import { argon2Cost, makeArgon2id } from './schemes/argon2.ts';
import { bcryptCost, bcryptSeesAll } from './schemes/bcrypt.ts';

/** OWASP's password storage recommendation for argon2id: 19 MiB, 2 passes, 1 lane. */
const ARGON2ID = { m: 19 * 1024, t: 2, p: 1 } as const;

const NO_ONES_SALT = 'MusterNoSuchUserHere.u';

/** A new hash of the password with a random salt. */
export function makeHash(password: string, cost: number): string {
  return bcryptSeesAll(password) ? makeBcrypt(password, cost) : makeArgon2id(password, randomBytes(16), ARGON2ID);
}

/**
 * Whether a hash that this password verified may stay: either `makeHash` would choose the same scheme and cost today,
 * or the scheme ignored part of the password, as bcrypt does with long ones. The ignored remainder may contain a typo,
 * which must not become part of the password.
 */
export function isCurrent(encoded: string, password: string, cost: number): boolean {
  if (!seesAll(encoded, password)) return true;
  const scheme = schemeOf(encoded);
  if (scheme === 'bcrypt') return bcryptCost(encoded) === cost;
  const found = scheme === 'argon2id' && !bcryptSeesAll(password) ? argon2Cost(encoded) : undefined;
  return found !== undefined && found.m === ARGON2ID.m && found.t === ARGON2ID.t && found.p === ARGON2ID.p;
}

/** Takes as long as a bcrypt verification of this cost, and discards the result. */
export function computeNothing(password: string, cost: number): void {
  bcryptLibrary().hash(password, cost, NO_ONES_SALT);
}

/**
 * Verifies the password, and tells whether to rehash it. A wrong password never takes less time than `computeNothing`:
 * otherwise the response time of a cheap imported scheme would reveal that the user exists.
 */
export function verifyPassword(encoded: string, password: string, cost: number): { ok: boolean; rehash: boolean } {
  const ok = verifyHash(encoded, password);
  if (ok) return { ok, rehash: !isCurrent(encoded, password, cost) };
  if (schemeOf(encoded) !== 'bcrypt' || bcryptCost(encoded) < cost) computeNothing(password, cost);
  return { ok, rehash: false };
}
