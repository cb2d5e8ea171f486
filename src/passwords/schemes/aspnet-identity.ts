/**
 * ASP.NET Identity: the base64 text in its database; the first byte tells which of two formats it is.
 *
 * Version 2: 0x00, 16 bytes of salt, 32 bytes of PBKDF2-HMAC-SHA1 with 1000 rounds. Version 3: 0x01, then three
 * big-endian numbers of four bytes (pseudo-random function 0 to 2, rounds, length of the salt), the salt, the subkey.
 * See PasswordHasher.cs in https://github.com/dotnet/aspnetcore, which accepts no salt or subkey below 128 bits.
 */
import { pbkdf2Sync } from 'node:crypto';
import { decodeBase64, defineScheme, joined, type Secret, sameBytes } from '../scheme.ts';
import { pbkdf2Work } from '../work.ts';
import { roundsProblem } from './pbkdf2.ts';

interface Parts {
  algorithm: string;
  rounds: number;
  salt: Buffer;
  subkey: Buffer;
}

const V2_SUBKEY = 17;
const V2_ROUNDS = 1000;
/** Indexed by their numbers in version 3. */
const ALGORITHMS = ['sha1', 'sha256', 'sha512'];
const V3_HEAD = 13;
const SHORTEST = 16;

/** 49 bytes, the first of them zero: a shorter or longer text belongs to no scheme, as it might be anything. */
const V2_FORM = /^A[A-P][A-Za-z0-9+/]{64}(==)?$/;
/** The bytes 01 00 00 00 and the upper half of the next one: a number below 16. */
const V3_START = 'AQAAAA';

function parseV2(encoded: string): Parts {
  const bytes = Buffer.from(encoded, 'base64');
  const [salt, subkey] = [bytes.subarray(1, V2_SUBKEY), bytes.subarray(V2_SUBKEY)];
  return { algorithm: 'sha1', rounds: V2_ROUNDS, salt, subkey };
}

function parseV3(encoded: string): Parts | string {
  const bytes = decodeBase64(encoded);
  if (bytes === undefined) return 'it is not base64';
  if (bytes.length < V3_HEAD) return 'it is cut off';
  const algorithm = ALGORITHMS[bytes.readUInt32BE(1)];
  if (algorithm === undefined) return 'the pseudo-random function is not 0 (SHA-1), 1 (SHA-256) or 2 (SHA-512)';
  const rounds = bytes.readUInt32BE(5);
  const problem = roundsProblem(rounds);
  if (problem !== undefined) return problem;
  const saltLength = bytes.readUInt32BE(9);
  if (saltLength < SHORTEST) return `the salt is shorter than ${SHORTEST} bytes`;
  if (bytes.length < V3_HEAD + saltLength + SHORTEST)
    return `it is cut off: the subkey is shorter than ${SHORTEST} bytes`;
  const [salt, subkey] = [bytes.subarray(V3_HEAD, V3_HEAD + saltLength), bytes.subarray(V3_HEAD + saltLength)];
  return { algorithm, rounds, salt, subkey };
}

function verify({ algorithm, rounds, salt, subkey }: Parts, password: Secret): boolean {
  return sameBytes(pbkdf2Sync(joined(password), salt, rounds, subkey.length, algorithm), subkey);
}

export const aspnetIdentitySchemes = [
  defineScheme({
    name: 'aspnet-identity-v3',
    matches: (encoded) => encoded.startsWith(V3_START),
    parse: parseV3,
    work: ({ algorithm, rounds, subkey }) => pbkdf2Work(algorithm, rounds, subkey.length),
    verify,
  }),
  defineScheme({ name: 'aspnet-identity-v2', matches: (encoded) => V2_FORM.test(encoded), parse: parseV2, verify }),
];
