/**
 * LDAP passwords: a scheme in braces, in any case, followed by the hash.
 *
 * RFC 2307 section 5.3 and OpenLDAP's slapd-pw-sha2: `{SHA}`, `{MD5}`, `{SHA256}`… are followed by base64 of the
 * digest, or by its hexadecimal digits (passlib.hash.ldap_hex_md5); `{SSHA}`, `{SMD5}`, `{SSHA256}`… by base64 of
 * digest(password, salt) and the salt.
 *
 * Elasticsearch: `{PBKDF2}rounds$salt$hash` is SHA-512, `{PBKDF2_STRETCH}…` of the password's SHA-512 in hexadecimal
 * digits. github.com/elastic/elasticsearch, x-pack, security/authc/support/Hasher.java
 *
 * Hashes of other schemes inside: `{CRYPT}$6$salt$hash` (RFC 2307), `{ARGON2}$argon2id$…` (slapd-pw-argon2),
 * `{PBKDF2-SHA256}rounds$salt$hash` (slapd-pw-pbkdf2), `{BCRYPT}$2b$…`. The inner hash decides whether they are
 * accepted and whether they match.
 *
 * PBKDF2 with salt and digest in one base64 text: ForgeRock and Ping DS, OpenDJ: `{PBKDF2-HMAC-SHA256}rounds:base64` of
 * digest and salt; `{PBKDF2}rounds:…` is SHA-1. github.com/OpenIdentityPlatform/OpenDJ,
 * AbstractPBKDF2PasswordStorageScheme.java. Atlassian: `{PKCS5S2}base64` of 16 bytes of salt and 32 of digest, SHA-1
 * with 10,000 rounds. passlib.readthedocs.io, passlib.hash.atlassian_pbkdf2_sha1
 */
import { hash, pbkdf2Sync } from 'node:crypto';
import {
  decodeBase64,
  decodeHex,
  defineScheme,
  joined,
  type Scheme,
  type Secret,
  sameBytes,
  wholeNumber,
} from '../scheme.ts';
import { pbkdf2Work } from '../work.ts';
import { argon2Schemes } from './argon2.ts';
import { bcryptScheme, bcryptXScheme } from './bcrypt.ts';
import { desSchemes } from './des-crypt.ts';
import { md5CryptScheme } from './md5-crypt.ts';
import { pbkdf2Schemes, roundsProblem } from './pbkdf2.ts';
import { sha1CryptScheme } from './sha1-crypt.ts';
import { sha2CryptSchemes } from './sha2-crypt.ts';
import { yescryptScheme } from './yescrypt.ts';

const [SALT_BYTES, BYTES, ROUNDS] = [16, 48, 10_000];
const SHA1_BYTES = 20;

const IDENTIFIER = /^\$[a-z0-9]{1,6}\$/;

/** LDAP names by scheme; slapd-pw-pbkdf2 writes its own name in place of passlib's identifier. */
const PBKDF2_NAMES: Readonly<Record<string, readonly string[]>> = {
  'pbkdf2-sha256': ['PBKDF2-SHA256'],
  'pbkdf2-sha512': ['PBKDF2-SHA512'],
  pbkdf2: ['PBKDF2-SHA1'],
};

/** What crypt(3) of some system makes. */
const CRYPT3 = [
  ...sha2CryptSchemes,
  bcryptScheme,
  yescryptScheme,
  md5CryptScheme,
  sha1CryptScheme,
  bcryptXScheme,
  ...desSchemes,
];

interface Inside {
  scheme: Scheme;
  encoded: string;
}

interface Pbkdf2Parts {
  rounds: number;
  salt: Buffer;
  digest: Buffer;
}

/** OpenLDAP writes `{PBKDF2}` too, with `$` in place of the colon. */
const sha1 = forgeRock('PBKDF2', 'sha1', 20);
const openDj: Scheme = { ...sha1, name: 'opendj {PBKDF2}', matches: (encoded) => /^\{PBKDF2\}\d+:/i.test(encoded) };

const atlassian = ldapScheme({
  name: 'PKCS5S2',
  parse(body): Pbkdf2Parts | string {
    const bytes = decodeBase64(body);
    if (bytes?.length !== BYTES) return `salt and hash are not ${BYTES} bytes in base64`;
    return { rounds: ROUNDS, salt: bytes.subarray(0, SALT_BYTES), digest: bytes.subarray(SALT_BYTES) };
  },
  work: () => pbkdf2Work('sha1', ROUNDS, BYTES - SALT_BYTES),
  verify: verifyPbkdf2('sha1'),
});

/** The most common schemes first. */
export const ldapSchemes = [
  salted('SSHA', 'sha1', 20),
  salted('SSHA512', 'sha512', 64),
  salted('SSHA256', 'sha256', 32),
  salted('SSHA384', 'sha384', 48),
  forgeRock('PBKDF2-HMAC-SHA256', 'sha256', 32),
  forgeRock('PBKDF2-HMAC-SHA512', 'sha512', 64),
  openDj,
  atlassian,
  wrapping('CRYPT', CRYPT3, notOfCrypt),
  wrapping('ARGON2', argon2Schemes, () => 'the hash does not begin with $argon2id$, $argon2i$ or $argon2d$'),
  wrapping('BCRYPT', [bcryptScheme], () => 'the hash does not begin with $2a$, $2b$ or $2y$'),
  ...pbkdf2Schemes.flatMap((scheme) => (PBKDF2_NAMES[scheme.name] ?? []).map((name) => wrappingPbkdf2(name, scheme))),
  unnamedPbkdf2('PBKDF2', (password) => password),
  unnamedPbkdf2('PBKDF2_STRETCH', (password) => hash('sha512', password)),
  bare('SHA', 'sha1', 20),
  bare('SHA512', 'sha512', 64),
  bare('SHA256', 'sha256', 32),
  bare('SHA384', 'sha384', 48),
  salted('SMD5', 'md5', 16),
  bare('MD5', 'md5', 16),
];

function bare(name: string, algorithm: string, length: number): Scheme {
  function parse(body: string): { digest: Buffer } | string {
    const digest = body.length === 2 * length ? decodeHex(body) : decodeBase64(body);
    if (digest === undefined) return 'the hash is not base64';
    return digest.length === length ? { digest } : `the hash is not ${length} bytes`;
  }
  return ldapScheme({
    name,
    parse,
    verify: ({ digest }, password) => sameBytes(hash(algorithm, password, 'buffer'), digest),
  });
}

function salted(name: string, algorithm: string, length: number): Scheme {
  function parse(body: string): { digest: Buffer; salt: Buffer } | string {
    const bytes = decodeBase64(body);
    if (bytes === undefined) return 'the hash is not base64';
    if (bytes.length < length) return `the hash is shorter than ${length} bytes`;
    if (bytes.length === length) return 'the salt is missing';
    return { digest: bytes.subarray(0, length), salt: bytes.subarray(length) };
  }
  return ldapScheme({
    name,
    parse,
    verify: ({ digest, salt }, password) => sameBytes(hash(algorithm, joined(password, salt), 'buffer'), digest),
  });
}

function forgeRock(name: string, algorithm: string, length: number): Scheme {
  return ldapScheme({
    name,
    parse: (body) => parsePbkdf2(body, length),
    work: ({ rounds }) => pbkdf2Work(algorithm, rounds, length),
    verify: verifyPbkdf2(algorithm),
  });
}

function parsePbkdf2(body: string, length: number): Pbkdf2Parts | string {
  const [roundsText, text, ...more] = body.split(':');
  if (text === undefined || more.length > 0) return 'the fields are not rounds and hash';
  const rounds = wholeNumber(roundsText);
  const problem = roundsProblem(rounds);
  if (problem !== undefined) return problem;
  const bytes = decodeBase64(text);
  if (bytes === undefined) return 'the hash is not base64';
  if (bytes.length <= length) return `hash and salt are not more than ${length} bytes`;
  return { rounds, digest: bytes.subarray(0, length), salt: bytes.subarray(length) };
}

function verifyPbkdf2(algorithm: string) {
  return ({ rounds, salt, digest }: Pbkdf2Parts, password: Secret) =>
    sameBytes(pbkdf2Sync(password, salt, rounds, digest.length, algorithm), digest);
}

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

function notOfCrypt(body: string): string {
  const seen = IDENTIFIER.exec(body)?.[0] ?? 'the hash inside';
  return `${seen} is not supported (bcrypt, $y$, $5$, $6$, $sha1$, $1$ and DES are)`;
}

/** The inner hash lacks the identifier of its scheme. */
function wrappingPbkdf2(name: string, scheme: Scheme): Scheme {
  function parse(body: string): Inside | string {
    const encoded = `$${scheme.name}$${body}`;
    return scheme.check(encoded) ?? { scheme, encoded };
  }
  return ldapScheme({ name, parse, verify: verifyInside, work: workInside });
}

/**
 * Elasticsearch writes `{PBKDF2}` too, and means SHA-512. SHA-1 makes 20 bytes in every program; a hash of another length
 * is tried as both.
 * @param before what is done to a password: `{PBKDF2_STRETCH}` is of the hexadecimal digits of its SHA-512
 */
function unnamedPbkdf2(name: string, before: (password: Secret) => Secret): Scheme {
  const inside = (body: string, schemeName: string): Inside => {
    const scheme = pbkdf2Schemes.find((one) => one.name === schemeName) as Scheme;
    return { scheme, encoded: `$${schemeName}$${body}` };
  };
  function parse(body: string): { tried: Inside[] } | string {
    const sha1 = inside(body, 'pbkdf2');
    const problem = sha1.scheme.check(sha1.encoded);
    if (problem !== undefined) return problem;
    const length = decodeBase64(body.split('$')[2] ?? '', { adapted: true })?.length;
    const sha512 = inside(body, 'pbkdf2-sha512');
    const isElastic = name !== 'PBKDF2';
    return { tried: isElastic ? [sha512] : length === SHA1_BYTES ? [sha1] : [sha512, sha1] };
  }
  return ldapScheme({
    name,
    parse,
    verify: ({ tried }, password) => tried.some((one) => verifyInside(one, before(password))),
    work: ({ tried }) => tried.reduce((sum, one) => sum + workInside(one), 0),
  });
}

function verifyInside({ scheme, encoded }: Inside, password: Secret): boolean {
  return scheme.verify(encoded, password);
}

function workInside({ scheme, encoded }: Inside): number {
  return scheme.work(encoded);
}

/** A scheme whose hash begins with its name in braces. All functions get the part of the hash after the braces. */
function ldapScheme<P extends object>(definition: {
  name: string;
  parse: (body: string) => P | string;
  verify: (parts: P, password: Secret) => boolean;
  work?: (parts: P) => number;
  seesAll?: (password: string, body: string) => boolean;
}): Scheme {
  const { name, parse, verify, work = () => 0, seesAll = () => true } = definition;
  const prefix = `{${name}}`;
  const form = new RegExp(`^\\{${name}\\}`, 'i');
  return defineScheme({
    name: prefix,
    matches: (encoded) => encoded[0] === '{' && form.test(encoded),
    parse: (encoded) => parse(encoded.slice(prefix.length)),
    verify,
    work,
    seesAll: (password, encoded) => seesAll(password, encoded.slice(prefix.length)),
  });
}
