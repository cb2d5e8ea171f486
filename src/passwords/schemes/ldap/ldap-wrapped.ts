/**
 * LDAP passwords that consist of a name in braces and a hash of another scheme: `{CRYPT}$6$salt$hash` (RFC 2307),
 * `{ARGON2}$argon2id$…` (slapd-pw-argon2), `{PBKDF2-SHA256}rounds$salt$hash` (slapd-pw-pbkdf2), `{BCRYPT}$2b$…`.
 *
 * The inner hash decides whether they are accepted and whether they match.
 */

import type { Scheme } from '../../scheme.ts';
import { argon2Schemes } from '../argon2.ts';
import { bcryptScheme } from '../bcrypt.ts';
import { md5CryptScheme } from '../crypt/md5-crypt.ts';
import { sha1CryptScheme } from '../crypt/sha1-crypt.ts';
import { sha2CryptSchemes } from '../crypt/sha2-crypt.ts';
import { desSchemes } from '../des/des-crypt.ts';
import { pbkdf2Schemes } from '../pbkdf2.ts';
import { yescryptScheme } from '../yescrypt/yescrypt.ts';
import { ldapScheme } from './ldap-scheme.ts';

interface Inside {
  scheme: Scheme;
  encoded: string;
}

const workInside = ({ scheme, encoded }: Inside) => scheme.work(encoded);
const verifyInside = ({ scheme, encoded }: Inside, password: string) => scheme.verify(encoded, password);

/**
 * The inner hash is complete and may be of several schemes; messages name the actual one.
 * @param otherwise what is wrong with a hash of any other scheme
 */
function wrapping(name: string, schemes: readonly Scheme[], otherwise: (body: string) => string): Scheme {
  const find = (encoded: string) => schemes.find((one) => one.matches(encoded));
  function parse(encoded: string): Inside | string {
    const scheme = find(encoded);
    if (scheme === undefined) return otherwise(encoded);
    const problem = scheme.check(encoded);
    return problem === undefined ? { scheme, encoded } : `${scheme.name}: ${problem}`;
  }
  return ldapScheme({
    name,
    parse,
    verify: verifyInside,
    work: workInside,
    seesAll: (password, encoded) => find(encoded)?.seesAll(password, encoded) ?? true,
  });
}

const IDENTIFIER = /^\$[a-z0-9]{1,6}\$/;

function notOfCrypt(body: string): string {
  const seen = IDENTIFIER.exec(body)?.[0] ?? 'the hash inside';
  return `${seen} is not supported (bcrypt, $y$, $5$, $6$, $sha1$, $1$ and DES are)`;
}

/** LDAP names by scheme; slapd-pw-pbkdf2 writes its own name in place of passlib's identifier. */
const PBKDF2_NAMES: Readonly<Record<string, readonly string[]>> = {
  'pbkdf2-sha256': ['PBKDF2-SHA256'],
  'pbkdf2-sha512': ['PBKDF2-SHA512'],
  pbkdf2: ['PBKDF2', 'PBKDF2-SHA1'],
};

function pbkdf2(name: string, scheme: Scheme): Scheme {
  function parse(body: string): Inside | string {
    const encoded = `$${scheme.name}$${body}`;
    return scheme.check(encoded) ?? { scheme, encoded };
  }
  return ldapScheme({ name, parse, verify: verifyInside, work: workInside });
}

/** What crypt(3) of some system makes. */
const CRYPT3 = [...sha2CryptSchemes, bcryptScheme, yescryptScheme, md5CryptScheme, sha1CryptScheme, ...desSchemes];

export const ldapWrappedSchemes = [
  wrapping('CRYPT', CRYPT3, notOfCrypt),
  wrapping('ARGON2', argon2Schemes, () => 'the hash does not begin with $argon2id$, $argon2i$ or $argon2d$'),
  wrapping('BCRYPT', [bcryptScheme], () => 'the hash does not begin with $2a$, $2b$ or $2y$'),
  ...pbkdf2Schemes.flatMap((scheme) => (PBKDF2_NAMES[scheme.name] ?? []).map((name) => pbkdf2(name, scheme))),
];
