/**
 * Every password hash that can be moved in (Modular Crypt Format), and the one question acceptance asks of it.
 *
 * Guarantee: what `hashProblem` lets pass, `verifyHash` can verify; a message names the scheme and numbers of it, but
 * never a salt or a hash. Nothing here touches anything outside: a crash leaves nothing behind.
 */

import { LONGEST, type Scheme } from './scheme.ts';
import { argon2Schemes } from './schemes/argon2.ts';
import { aspnetIdentitySchemes } from './schemes/aspnet-identity.ts';
import { bcryptScheme } from './schemes/bcrypt.ts';
import { djangoSchemes } from './schemes/django.ts';
import { drupal7Scheme } from './schemes/drupal7.ts';
import { fbscryptScheme } from './schemes/fbscrypt.ts';
import { hmacSchemes } from './schemes/hmac.ts';
import { ldapSchemes } from './schemes/ldap.ts';
import { md5CryptScheme } from './schemes/md5-crypt.ts';
import { md5PlainScheme } from './schemes/md5-plain.ts';
import { md5SaltedSchemes } from './schemes/md5-salted.ts';
import { pbkdf2Schemes } from './schemes/pbkdf2.ts';
import { phpassScheme } from './schemes/phpass.ts';
import { saltedDigestSchemes } from './schemes/salted-digest.ts';
import { scryptScheme } from './schemes/scrypt.ts';
import { sha2CryptSchemes } from './schemes/sha2-crypt.ts';
import { werkzeugSchemes } from './schemes/werkzeug.ts';
import { wordpressScheme } from './schemes/wordpress.ts';

/** The most common first: the first that matches is taken. */
export const SCHEMES: readonly Scheme[] = [
  bcryptScheme,
  ...argon2Schemes,
  ...pbkdf2Schemes,
  scryptScheme,
  fbscryptScheme,
  ...djangoSchemes,
  wordpressScheme,
  ...werkzeugSchemes,
  ...sha2CryptSchemes,
  phpassScheme,
  drupal7Scheme,
  md5CryptScheme,
  ...ldapSchemes,
  ...aspnetIdentitySchemes,
  ...saltedDigestSchemes,
  ...hmacSchemes,
  ...md5SaltedSchemes,
  md5PlainScheme,
];

/** Close relatives of what is supported: they deserve a better word than "unknown". */
const RELATIVES: Readonly<Record<string, string>> = {
  $argon2d$: 'argon2d is not supported (argon2i and argon2id are)',
  $argon2$: 'argon2 is not supported (argon2i and argon2id are)',
  $2$: 'bcrypt: the variant $2$ is not supported ($2a$, $2b$ and $2y$ are)',
  $2x$: 'bcrypt: the variant $2x$ is not supported ($2a$, $2b$ and $2y$ are)',
  $md5salted$: 'md5salted is not supported (md5salted-prefix and md5salted-suffix are)',
};

/** The most characters that a hash of any scheme may have. */
export const HASH_MAX = Math.max(...SCHEMES.map((scheme) => scheme.longest));

/** Whatever begins otherwise may begin with a salt, or be a password. */
const IDENTIFIERS = [
  // Lower case, digits and hyphens as in the PHC string format, or one capital letter.
  /^\$(?:[a-z0-9-]{1,18}|[A-Z])\$/,
  // What an LDAP directory has in braces.
  /^\{[A-Za-z0-9._-]{1,18}\}(?=.)/,
  // Up to three words with few digits, then two fields or more, as Django and werkzeug write them.
  /^[a-z]{3,12}\d{0,3}(?:_(?:[a-z]{2,12}\d{0,3}|\d{3})){0,2}(?=(?::[^$]*)?\$[^$]*\$)/,
];

function find(encoded: string): Scheme | undefined {
  for (const scheme of SCHEMES) if (scheme.matches(encoded)) return scheme;
  return undefined;
}

function isTooLong(encoded: string, longest: number): boolean {
  return encoded.length > longest && (encoded.length > 2 * longest || [...encoded].length > longest);
}

function identifierSeen(encoded: string): string | undefined {
  for (const form of IDENTIFIERS) {
    const found = form.exec(encoded);
    if (found) return found[0];
  }
  return undefined;
}

function unknownScheme(encoded: string): string {
  const identifier = identifierSeen(encoded);
  if (identifier === undefined) return 'unknown scheme: it does not begin with a known identifier such as $2b$';
  const relative = Object.hasOwn(RELATIVES, identifier) ? RELATIVES[identifier] : undefined;
  if (relative !== undefined) return relative;
  if (/^\$2.\$$/.test(identifier))
    return `bcrypt: the variant ${identifier} is not supported ($2a$, $2b$ and $2y$ are)`;
  return `unknown scheme "${identifier}"`;
}

/** The scheme a hash claims, such as `argon2id` or `pbkdf2-sha256`; undefined when we know none for it. */
export function schemeOf(encoded: string): string | undefined {
  return find(encoded)?.name;
}

/** The most characters that this hash may have; they depend on its scheme. */
export function longestHash(encoded: string): number {
  return find(encoded)?.longest ?? LONGEST;
}

/** Whether all of the password counts in this hash; see `Scheme`. */
export function seesAll(encoded: string, password: string): boolean {
  return find(encoded)?.seesAll(password, encoded) ?? true;
}

/**
 * What counts of hashes call the scheme of one: its name, such as `argon2id`; of one that we do not know its identifier as it
 * stands there, such as `$argon2d$`, `{FOO}` or `foo_sha256`; `unknown` without that.
 */
export function schemeSeen(encoded: string): string {
  return schemeOf(encoded) ?? identifierSeen(encoded) ?? 'unknown';
}

/** As `schemeSeen` of an unknown scheme, but without the signs: `argon2d`; undefined when there is none. */
export function identifierOf(encoded: string): string | undefined {
  return identifierSeen(encoded)?.replaceAll('$', '');
}

/**
 * Why a hash (1 to 200 characters, `$fbscrypt$` 400) cannot be taken in, or undefined when it will verify later. Costs no
 * hashing; meant for a million calls in a row. Bounds: docs/passwords.md.
 */
export function hashProblem(encoded: string): string | undefined {
  if (encoded === '') return 'the hash is empty';
  const scheme = find(encoded);
  const { name, longest } = scheme ?? { name: 'unknown scheme', longest: LONGEST };
  if (isTooLong(encoded, longest)) return `${name}: the hash is longer than ${longest} characters`;
  if (scheme === undefined) return unknownScheme(encoded);
  const problem = scheme.check(encoded);
  return problem === undefined ? undefined : `${scheme.name}: ${problem}`;
}

/**
 * Whether the password makes the hash; false for every hash that `hashProblem` names a problem of. Computes for up to
 * seconds: call it in a thread.
 */
export function verifyHash(encoded: string, password: string): boolean {
  const scheme = find(encoded);
  return scheme !== undefined && !isTooLong(encoded, scheme.longest) && scheme.verify(encoded, password);
}
