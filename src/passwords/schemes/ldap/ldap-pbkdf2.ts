/**
 * PBKDF2 in LDAP's form, with salt and digest in one base64 text.
 *
 * ForgeRock and Ping DS, OpenDJ: `{PBKDF2-HMAC-SHA256}rounds:base64` of digest and salt; `{PBKDF2}rounds:…` is SHA-1.
 * github.com/OpenIdentityPlatform/OpenDJ, AbstractPBKDF2PasswordStorageScheme.java
 *
 * Atlassian: `{PKCS5S2}base64` of 16 bytes of salt and 32 of digest, SHA-1 with 10,000 rounds.
 * passlib.readthedocs.io, passlib.hash.atlassian_pbkdf2_sha1
 */
import { pbkdf2Sync } from 'node:crypto';
import { decodeBase64 } from '../../base64.ts';
import { type Scheme, sameBytes, wholeNumber } from '../../scheme.ts';
import { pbkdf2Work } from '../../work.ts';
import { roundsProblem } from '../pbkdf2.ts';
import { ldapScheme } from './ldap-scheme.ts';

interface Parts {
  rounds: number;
  salt: Buffer;
  digest: Buffer;
}

function parse(body: string, length: number): Parts | string {
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

function verifyWith(algorithm: string) {
  return ({ rounds, salt, digest }: Parts, password: string) =>
    sameBytes(pbkdf2Sync(Buffer.from(password), salt, rounds, digest.length, algorithm), digest);
}

function forgeRock(name: string, algorithm: string, length: number): Scheme {
  return ldapScheme({
    name,
    parse: (body) => parse(body, length),
    work: ({ rounds }) => pbkdf2Work(algorithm, rounds, length),
    verify: verifyWith(algorithm),
  });
}

const [SALT_BYTES, BYTES, ROUNDS] = [16, 48, 10_000];

const atlassian = ldapScheme({
  name: 'PKCS5S2',
  parse(body): Parts | string {
    const bytes = decodeBase64(body);
    if (bytes?.length !== BYTES) return `salt and hash are not ${BYTES} bytes in base64`;
    return { rounds: ROUNDS, salt: bytes.subarray(0, SALT_BYTES), digest: bytes.subarray(SALT_BYTES) };
  },
  work: () => pbkdf2Work('sha1', ROUNDS, BYTES - SALT_BYTES),
  verify: verifyWith('sha1'),
});

/** OpenLDAP writes `{PBKDF2}` too, with `$` in place of the colon. */
const sha1 = forgeRock('PBKDF2', 'sha1', 20);
const openDj: Scheme = { ...sha1, name: 'opendj {PBKDF2}', matches: (encoded) => /^\{PBKDF2\}\d+:/i.test(encoded) };

export const ldapPbkdf2Schemes = [
  forgeRock('PBKDF2-HMAC-SHA256', 'sha256', 32),
  forgeRock('PBKDF2-HMAC-SHA512', 'sha512', 64),
  openDj,
  atlassian,
];
