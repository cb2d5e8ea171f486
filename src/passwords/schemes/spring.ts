/**
 * Spring Security's DelegatingPasswordEncoder: the id of an encoder in braces, then its output. `{bcrypt}` and
 * `{argon2}` are in ldap.ts, since LDAP directories write the same. Costs that the text does not contain are
 * the encoders' defaults, which `PasswordEncoderFactories` uses.
 * docs.spring.io/spring-security/reference/features/authentication/password-storage.html;
 * github.com/spring-projects/spring-security, crypto/src/main/java/org/springframework/security/crypto
 */
import { hash, pbkdf2Sync } from 'node:crypto';
import { decodeBase64, decodeHex, defineScheme, joined, type Scheme, SHORTEST_DIGEST, sameBytes } from '../scheme.ts';
import { digestWork, pbkdf2Work, scryptWork } from '../work.ts';
import { argon2Schemes } from './argon2.ts';
import { ldapSchemes } from './ldap.ts';
import { deriveScrypt, scryptCostProblem } from './scrypt.ts';

interface Salted {
  salt: Buffer;
  digest: Buffer;
}

/** Salt and digest, one after the other, in hexadecimal digits. */
function parseHex(body: string, saltBytes: number): Salted | string {
  const bytes = decodeHex(body);
  if (bytes === undefined) return 'salt and hash are not hexadecimal';
  if (bytes.length !== saltBytes + 32) return `salt and hash are not ${saltBytes + 32} bytes`;
  return { salt: bytes.subarray(0, saltBytes), digest: bytes.subarray(saltBytes) };
}

/** @param form how such a hash begins; LDAP directories use some of the names with other contents */
function pbkdf2(id: string, form: RegExp, saltBytes: number, algorithm: string, rounds: number): Scheme {
  return defineScheme({
    name: `spring ${id}`,
    matches: (encoded) => form.test(encoded),
    parse: (encoded) => parseHex(encoded.slice(id.length + 2), saltBytes),
    work: () => pbkdf2Work(algorithm, rounds, 32),
    verify: ({ salt, digest }, password) =>
      sameBytes(pbkdf2Sync(joined(password), salt, rounds, 32, algorithm), digest),
  });
}

/** 1024 rounds of SHA-256, the first of salt and password. */
const STANDARD_ROUNDS = 1024;
const standard = defineScheme({
  name: 'spring sha256',
  matches: (encoded) => /^\{sha256\}[0-9a-f]{65,}$/.test(encoded),
  parse: (encoded) => parseHex(encoded.slice('{sha256}'.length), 8),
  work: () => digestWork(STANDARD_ROUNDS),
  verify({ salt, digest }, password) {
    let made: Buffer = joined(salt, password);
    for (let round = 0; round < STANDARD_ROUNDS; round++) made = hash('sha256', made, 'buffer');
    return sameBytes(made, digest);
  },
});

/** `$e0801$salt$hash`: log2 of N, r and p as hexadecimal digits, four, two and two of them. */
const SCRYPT = /^\{scrypt(?:@SpringSecurity_v5_8)?\}/;
const scrypt = defineScheme({
  name: 'spring scrypt',
  matches: (encoded) => SCRYPT.test(encoded),
  parse(encoded) {
    const [before, parameters = '', saltText, digestText, ...more] = encoded.replace(SCRYPT, '').split('$');
    if (before !== '' || saltText === undefined || digestText === undefined || more.length > 0) {
      return 'the fields are not parameters, salt and hash';
    }
    if (!/^[0-9a-f]{5,8}$/.test(parameters)) return 'the parameters are not 5 to 8 hexadecimal digits';
    const number = Number.parseInt(parameters, 16);
    const cost = { ln: number >>> 16, r: (number >>> 8) & 255, p: number & 255 };
    const problem = scryptCostProblem(cost, 'log2 of N');
    if (problem !== undefined) return problem;
    const [salt, digest] = [decodeBase64(saltText), decodeBase64(digestText)];
    if (salt === undefined) return 'the salt is not base64';
    if (digest === undefined) return 'the hash is not base64';
    if (digest.length < SHORTEST_DIGEST) return `the hash is shorter than ${SHORTEST_DIGEST} bytes`;
    return { cost, salt, digest };
  },
  work: ({ cost }) => scryptWork(cost),
  verify: ({ cost, salt, digest }, password) => sameBytes(deriveScrypt(password, salt, cost, digest.length), digest),
});

const ARGON2 = '{argon2@SpringSecurity_v5_8}';
const argon2 = defineScheme({
  name: 'spring argon2',
  matches: (encoded) => encoded.startsWith(ARGON2),
  parse(encoded) {
    const inside = encoded.slice(ARGON2.length);
    const scheme = argon2Schemes.find((one) => one.matches(inside));
    return scheme === undefined
      ? 'the hash does not begin with $argon2id$'
      : (scheme.check(inside) ?? { scheme, inside });
  },
  work: ({ scheme, inside }) => scheme.work(inside),
  verify: ({ scheme, inside }, password) => scheme.verify(inside, password),
});

const LDAP = '{ldap}';
const ldap = defineScheme({
  name: 'spring ldap',
  matches: (encoded) => encoded.startsWith(LDAP),
  parse(encoded) {
    const inside = encoded.slice(LDAP.length);
    const scheme = ldapSchemes.find((one) => one.matches(inside));
    if (scheme === undefined) return 'what follows {ldap} does not begin with a scheme such as {SSHA}';
    return scheme.check(inside) ?? { scheme, inside };
  },
  work: ({ scheme, inside }) => scheme.work(inside),
  verify: ({ scheme, inside }, password) => scheme.verify(inside, password),
});

/** MessageDigestPasswordEncoder: `{salt}hash`, or the hash alone; hashed is `password{salt}`, with the braces. */
function messageDigest(id: string, algorithm: string, length: number, form: RegExp): Scheme {
  return defineScheme({
    name: `spring ${id}`,
    matches: (encoded) => form.test(encoded),
    parse(encoded) {
      const [, salt = '', digestText = ''] = /^(\{.*\})?([^}]*)$/s.exec(encoded.slice(id.length + 2)) ?? [];
      const digest = decodeHex(digestText) ?? decodeBase64(digestText);
      return digest?.length === length ? { salt, digest } : `the hash is not ${length} bytes in hexadecimal or base64`;
    },
    verify: ({ salt, digest }, password) => sameBytes(hash(algorithm, joined(password, salt), 'buffer'), digest),
  });
}

export const springSchemes = [
  pbkdf2('pbkdf2', /^\{pbkdf2\}[0-9a-f]{20,}$/, 8, 'sha1', 185_000),
  pbkdf2('pbkdf2@SpringSecurity_v5_8', /^\{pbkdf2@SpringSecurity_v5_8\}/, 16, 'sha256', 310_000),
  scrypt,
  argon2,
  standard,
  ldap,
  messageDigest('MD5', 'md5', 16, /^\{MD5\}\{/),
  messageDigest('SHA-1', 'sha1', 20, /^\{SHA-1\}/),
  messageDigest('SHA-256', 'sha256', 32, /^\{SHA-256\}/),
];
