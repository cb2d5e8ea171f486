/**
 * All schemes of password hashes that can be imported (Modular Crypt Format), the check at acceptance, and the hashes
 * that Muster itself makes: bcrypt, or argon2id for passwords longer than bcrypt's 72 bytes of UTF-8.
 *
 * Guarantee: `verifyHash` can verify every hash that `hashProblem` accepts. Messages name the scheme and its numbers,
 * but never a salt or a hash.
 */
import { randomBytes } from 'node:crypto';
import { formScheme, readingsOf, withoutLasting } from './forms.ts';
import { LONGEST, type Scheme, type Secret } from './scheme.ts';
import { argon2Cost, argon2Schemes, makeArgon2id } from './schemes/argon2.ts';
import { aspnetIdentitySchemes } from './schemes/aspnet-identity.ts';
import { aspnetMembershipScheme } from './schemes/aspnet-membership.ts';
import { bcryptCost, bcryptLibrary, bcryptScheme, bcryptSeesAll, bcryptXScheme, makeBcrypt } from './schemes/bcrypt.ts';
import { bcryptSha256Scheme, bcryptSha512Scheme } from './schemes/bcrypt-sha256.ts';
import { desSchemes } from './schemes/des-crypt.ts';
import { djangoSchemes } from './schemes/django.ts';
import { drupal7Scheme } from './schemes/drupal7.ts';
import { fbscryptScheme } from './schemes/fbscrypt.ts';
import { formulaScheme } from './schemes/formula.ts';
import { hashColonSaltSchemes } from './schemes/hash-colon-salt.ts';
import { hmacSchemes } from './schemes/hmac.ts';
import { ldapSchemes } from './schemes/ldap.ts';
import { magento2Scheme } from './schemes/magento2.ts';
import { apr1CryptScheme, md5CryptScheme } from './schemes/md5-crypt.ts';
import { md5SaltedSchemes } from './schemes/md5-salted.ts';
import { pbkdf2Schemes } from './schemes/pbkdf2.ts';
import { phpassScheme } from './schemes/phpass.ts';
import { plainDigestSchemes } from './schemes/plain-digest.ts';
import { saltedDigestSchemes } from './schemes/salted-digest.ts';
import { scryptScheme } from './schemes/scrypt.ts';
import { scryptColonSchemes } from './schemes/scrypt-colon.ts';
import { sha1CryptScheme } from './schemes/sha1-crypt.ts';
import { sha2CryptSchemes } from './schemes/sha2-crypt.ts';
import { springSchemes } from './schemes/spring.ts';
import { symfonySchemes } from './schemes/symfony.ts';
import { werkzeugSchemes } from './schemes/werkzeug.ts';
import { wordpressScheme } from './schemes/wordpress.ts';
import { yescryptScheme } from './schemes/yescrypt.ts';

/** The most common schemes first: the first match counts. */
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
  apr1CryptScheme,
  sha1CryptScheme,
  yescryptScheme,
  bcryptSha256Scheme,
  bcryptSha512Scheme,
  ...springSchemes,
  ...ldapSchemes,
  ...aspnetIdentitySchemes,
  aspnetMembershipScheme,
  ...saltedDigestSchemes,
  ...hmacSchemes,
  formulaScheme,
  ...md5SaltedSchemes,
  ...symfonySchemes,
  ...scryptColonSchemes,
  magento2Scheme,
  ...hashColonSaltSchemes,
  ...plainDigestSchemes,
  ...desSchemes,
  bcryptXScheme,
];

/** Unsupported relatives of supported schemes, which get a better message than "unknown". */
const RELATIVES: Readonly<Record<string, string>> = {
  $argon2$: 'argon2 is not supported (argon2i, argon2id and argon2d are)',
  $2$: 'bcrypt: the variant $2$ is not supported ($2a$, $2b$ and $2y$ are)',
  $md5salted$: 'md5salted is not supported (md5salted-prefix and md5salted-suffix are)',
};

/** The length of the longest hash of any scheme, in characters. */
export const HASH_MAX = Math.max(...SCHEMES.map((scheme) => scheme.longest));

/** Any other beginning may be part of a salt or a password, so messages never repeat it. */
const IDENTIFIERS = [
  // Lower case, digits and hyphens as in the PHC string format, or one capital letter.
  /^\$(?:[a-z0-9-]{1,18}|[A-Z])\$/,
  // A scheme in braces, as in LDAP directories.
  /^\{[A-Za-z0-9._-]{1,18}\}(?=.)/,
  // Up to three words with few digits, then two fields or more, as Django and werkzeug write them.
  /^[a-z]{3,12}\d{0,3}(?:_(?:[a-z]{2,12}\d{0,3}|\d{3})){0,2}(?=(?::[^$]*)?\$[^$]*\$)/,
];

/** OWASP's password storage recommendation for argon2id: 19 MiB, 2 passes, 1 lane. */
const ARGON2ID = { m: 19 * 1024, t: 2, p: 1 } as const;
const NO_ONES_SALT = 'MusterNoSuchUserHere.u';

/**
 * Why a hash (1 to 200 characters, argon2, `$fbscrypt$` and `$formula$` 400) cannot be imported, or undefined when it can be
 * verified later.
 * Computes no hash, so that a million calls in a row are cheap. Bounds: docs/passwords.md.
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
 * Whether the password matches the hash; false for every hash that `hashProblem` rejects. May compute for seconds: call
 * it in a thread.
 */
export function verifyHash(encoded: string, password: Secret): boolean {
  const scheme = find(encoded);
  return scheme !== undefined && !isTooLong(encoded, scheme.longest) && scheme.verify(encoded, password);
}

/**
 * Verifies the password, and tells whether to rehash it. A wrong password never takes less time than `computeNothing`:
 * otherwise the response time of a cheap imported scheme would reveal that the user exists. Call it in a thread.
 */
export function verifyPassword(encoded: string, password: Secret, cost: number): { ok: boolean; rehash: boolean } {
  const ok = verifyHash(encoded, password);
  if (ok) return { ok, rehash: typeof password === 'string' && !isCurrent(encoded, password, cost) };
  const { hash } = readingsOf(encoded, '');
  if (schemeOf(hash) !== 'bcrypt' || bcryptCost(hash) < cost) computeNothing(String(password), cost);
  return { ok, rehash: false };
}

/** A new hash of the password with a random salt. Computes for tens of milliseconds: call it in a thread. */
export function makeHash(password: string, cost: number): string {
  return bcryptSeesAll(password) ? makeBcrypt(password, cost) : makeArgon2id(password, randomBytes(16), ARGON2ID);
}

/**
 * Whether a hash that this password verified may stay: either `makeHash` would choose the same scheme and cost today,
 * or the scheme ignored part of the password, as bcrypt does with long ones. The ignored remainder may contain a typo,
 * which must not become part of the password.
 */
export function isCurrent(stored: string, password: string, cost: number): boolean {
  if (!usesWholePassword(stored, password)) return true;
  const encoded = withoutLasting(stored);
  const scheme = schemeOf(encoded);
  if (scheme === 'bcrypt') return bcryptCost(encoded) === cost;
  const found = scheme === 'argon2id' && !bcryptSeesAll(password) ? argon2Cost(encoded) : undefined;
  return found !== undefined && found.m === ARGON2ID.m && found.t === ARGON2ID.t && found.p === ARGON2ID.p;
}

/** Takes as long as a bcrypt verification of this cost, and discards the result. Call it in a thread. */
export function computeNothing(password: string, cost: number): void {
  bcryptLibrary().hash(password, cost, NO_ONES_SALT);
}

/** The scheme that a hash claims, such as `argon2id` or `pbkdf2-sha256`; undefined when it is unknown. */
export function schemeOf(encoded: string): string | undefined {
  return find(encoded)?.name;
}

/** The largest length of this hash in characters; it depends on the scheme. */
export function longestHash(encoded: string): number {
  return find(encoded)?.longest ?? LONGEST;
}

/** How long a verification of this hash takes, where 1 is bcrypt with cost 16 (work.ts); 0 for an unknown scheme. */
export function workOf(encoded: string): number {
  return find(encoded)?.work(encoded) ?? 0;
}

/** Whether this hash depends on the whole password; see `Scheme`. */
export function usesWholePassword(encoded: string, password: string): boolean {
  return find(encoded)?.seesAll(password, encoded) ?? true;
}

/**
 * The scheme's name in statistics of hashes, such as `argon2id`; for an unknown scheme its literal identifier, such as
 * `$argon2d$`, `{FOO}` or `foo_sha256`; `unknown` when it has none.
 */
export function schemeSeen(encoded: string): string {
  return schemeOf(encoded) ?? identifierSeen(encoded) ?? 'unknown';
}

/** The identifier of a hash without `$` signs: `argon2d`; undefined when there is none. */
export function identifierOf(encoded: string): string | undefined {
  return identifierSeen(encoded)?.replaceAll('$', '');
}

function find(encoded: string): Scheme | undefined {
  return formScheme(encoded, findBare) ?? findBare(encoded);
}

function findBare(encoded: string): Scheme | undefined {
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
  if (/^[!*]./.test(encoded)) return 'unknown scheme: it begins with ! or *, which locks a password';
  if (identifier === undefined) return 'unknown scheme: it does not begin with a known identifier such as $2b$';
  const relative = Object.hasOwn(RELATIVES, identifier) ? RELATIVES[identifier] : undefined;
  if (relative !== undefined) return relative;
  if (/^\$2.\$$/.test(identifier))
    return `bcrypt: the variant ${identifier} is not supported ($2a$, $2b$ and $2y$ are)`;
  return `unknown scheme "${identifier}"`;
}
