/**
 * Every password hash that can be moved in (Modular Crypt Format), and the one question acceptance asks of it.
 *
 * Guarantee: what `hashProblem` lets pass, `verifyHash` can verify; a message names the scheme and numbers of it, but
 * never a salt or a hash. Nothing here touches anything outside: a crash leaves nothing behind.
 */
import { argon2Schemes } from './argon2.ts';
import { bcryptScheme } from './bcrypt.ts';
import { drupal7Scheme } from './drupal7.ts';
import { md5CryptScheme } from './md5-crypt.ts';
import { md5PlainScheme } from './md5-plain.ts';
import { md5SaltedSchemes } from './md5-salted.ts';
import { pbkdf2Schemes } from './pbkdf2.ts';
import { phpassScheme } from './phpass.ts';
import type { Scheme } from './scheme.ts';
import { scryptScheme } from './scrypt.ts';
import { sha2CryptSchemes } from './sha2-crypt.ts';

/** The most common first: the first that matches is taken. */
export const SCHEMES: readonly Scheme[] = [
  bcryptScheme,
  ...argon2Schemes,
  ...pbkdf2Schemes,
  scryptScheme,
  ...sha2CryptSchemes,
  phpassScheme,
  drupal7Scheme,
  md5CryptScheme,
  ...md5SaltedSchemes,
  md5PlainScheme,
];

/** Close relatives of what is supported: they deserve a better word than "unknown". */
const RELATIVES: Readonly<Record<string, string>> = {
  argon2d: 'argon2d is not supported (argon2i and argon2id are)',
  argon2: 'argon2 is not supported (argon2i and argon2id are)',
  2: 'bcrypt: the variant $2$ is not supported ($2a$, $2b$ and $2y$ are)',
  '2x': 'bcrypt: the variant $2x$ is not supported ($2a$, $2b$ and $2y$ are)',
  md5salted: 'md5salted is not supported (md5salted-prefix and md5salted-suffix are)',
};

const LONGEST = 200;
// Lower case, digits and hyphens as in the PHC string format, or one capital letter; anything else may be a salt.
const IDENTIFIER = /^\$([a-z0-9-]{1,18}|[A-Z])\$/;

function find(encoded: string): Scheme | undefined {
  for (const scheme of SCHEMES) if (scheme.matches(encoded)) return scheme;
  return undefined;
}

function isTooLong(encoded: string): boolean {
  return encoded.length > LONGEST && (encoded.length > 2 * LONGEST || [...encoded].length > LONGEST);
}

function unknownScheme(encoded: string): string {
  const identifier = identifierOf(encoded);
  if (identifier === undefined) return 'unknown scheme: it does not begin with a known identifier such as $2b$';
  const relative = Object.hasOwn(RELATIVES, identifier) ? RELATIVES[identifier] : undefined;
  if (relative !== undefined) return relative;
  if (/^2.$/.test(identifier)) return `bcrypt: the variant $${identifier}$ is not supported ($2a$, $2b$ and $2y$ are)`;
  return `unknown scheme "$${identifier}$"`;
}

/** The scheme a hash claims, such as `argon2id` or `pbkdf2-sha256`; undefined when we know none for it. */
export function schemeOf(encoded: string): string | undefined {
  return find(encoded)?.name;
}

/** The identifier with which a hash begins, such as `2b` or `argon2d`, known or not; undefined when there is none. */
export function identifierOf(encoded: string): string | undefined {
  return IDENTIFIER.exec(encoded)?.[1];
}

/**
 * Why a hash (1 to 200 characters) cannot be taken in, or undefined when it will verify later. Costs no hashing; meant
 * for a million calls in a row. Bounds: contract section 5.
 */
export function hashProblem(encoded: string): string | undefined {
  if (encoded === '') return 'the hash is empty';
  const scheme = find(encoded);
  if (isTooLong(encoded)) return `${scheme?.name ?? 'unknown scheme'}: the hash is longer than ${LONGEST} characters`;
  if (scheme === undefined) return unknownScheme(encoded);
  const problem = scheme.check(encoded);
  return problem === undefined ? undefined : `${scheme.name}: ${problem}`;
}

/**
 * Whether the password makes the hash; false for every hash that `hashProblem` names a problem of. Computes for up to
 * seconds: call it in a thread.
 */
export function verifyHash(encoded: string, password: string): boolean {
  if (isTooLong(encoded)) return false;
  return find(encoded)?.verify(encoded, password) ?? false;
}
