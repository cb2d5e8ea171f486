/**
 * The hashes we make ourselves: bcrypt, and argon2id for a password longer than bcrypt can see (72 bytes of UTF-8).
 *
 * Everything here computes for tens of milliseconds and more: it runs in the threads.
 */
import { randomBytes } from 'node:crypto';
import bcrypt from 'bcryptjs';
import { schemeOf, seesAll, verifyHash } from './registry.ts';
import { argon2Cost, makeArgon2id } from './schemes/argon2.ts';
import { bcryptCost, bcryptSeesAll } from './schemes/bcrypt.ts';

/** OWASP's password storage recommendation for argon2id: 19 MiB, 2 passes, 1 lane. */
const ARGON2ID = { m: 19 * 1024, t: 2, p: 1 } as const;

const NO_ONES_SALT = 'MusterNoSuchUserHere.u';

/** A new hash of the password with a random salt. */
export function makeHash(password: string, cost: number): string {
  return bcryptSeesAll(password) ? bcrypt.hashSync(password, cost) : makeArgon2id(password, randomBytes(16), ARGON2ID);
}

/**
 * Whether a hash that this password verified may stay: it is what `makeHash` would choose today, or its scheme did not
 * look at all of the password, as bcrypt of a longer one; a slip of the pen in the rest must not become the password.
 */
export function isCurrent(encoded: string, password: string, cost: number): boolean {
  if (!seesAll(encoded, password)) return true;
  const scheme = schemeOf(encoded);
  if (scheme === 'bcrypt') return bcryptCost(encoded) === cost;
  const found = scheme === 'argon2id' && !bcryptSeesAll(password) ? argon2Cost(encoded) : undefined;
  return found !== undefined && found.m === ARGON2ID.m && found.t === ARGON2ID.t && found.p === ARGON2ID.p;
}

/** Computes as long as a bcrypt verification of this cost, for nothing. */
export function computeNothing(password: string, cost: number): void {
  bcrypt.hashSync(password, `$2b$${String(cost).padStart(2, '0')}$${NO_ONES_SALT}`);
}

/**
 * Verifies, and says whether the hash should be made anew. A wrong password never takes less than `computeNothing`: a
 * cheap imported scheme must not tell a known name from an unknown one.
 */
export function verifyPassword(encoded: string, password: string, cost: number): { ok: boolean; rehash: boolean } {
  const ok = verifyHash(encoded, password);
  if (ok) return { ok, rehash: !isCurrent(encoded, password, cost) };
  if (schemeOf(encoded) !== 'bcrypt' || bcryptCost(encoded) < cost) computeNothing(password, cost);
  return { ok, rehash: false };
}
