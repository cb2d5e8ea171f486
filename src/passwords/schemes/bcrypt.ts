/**
 * bcrypt: `$2b$`, two digits of cost, `$`, 22 characters of salt, 31 of hash.
 *
 * `$2a$`, `$2b$` and `$2y$` name the same algorithm, after fixes at different times in different programs. Only the
 * first 72 bytes of a password count, as in every bcrypt.
 */
import { bcryptBytes, bcryptLibrary } from '../bcrypt-library.ts';
import { defineScheme, numberProblem, sameBytes } from '../scheme.ts';
import { bcryptWork } from '../work.ts';

const LENGTH = 60;
const HASH_AT = 29;
const SALT_AT = 7;

/** 1 for each character code of bcrypt's base64. */
const IN_ALPHABET = Uint8Array.from({ length: 128 }, (_, code) =>
  /[./A-Za-z0-9]/.test(String.fromCharCode(code)) ? 1 : 0,
);

/** bcrypt ignores a password beyond this many bytes of UTF-8. */
const BCRYPT_BYTES = 72;

export function bcryptSeesAll(password: string): boolean {
  return Buffer.byteLength(password) <= BCRYPT_BYTES;
}

/** The cost of a bcrypt hash, or NaN. */
export function bcryptCost(encoded: string): number {
  const tens = encoded.charCodeAt(4) - 48;
  const ones = encoded.charCodeAt(5) - 48;
  const digits = tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 && encoded.charCodeAt(6) === 36;
  return digits ? 10 * tens + ones : Number.NaN;
}

/** A loop, because a regular expression takes three times as long, and every imported bcrypt hash is checked here. */
function bodyFits(encoded: string): boolean {
  for (let i = SALT_AT; i < LENGTH; i++) if (IN_ALPHABET[encoded.charCodeAt(i)] !== 1) return false;
  return true;
}

function parse(encoded: string): { encoded: string } | string {
  const cost = bcryptCost(encoded);
  if (Number.isNaN(cost)) return 'the cost is not two digits';
  const problem = numberProblem('cost', cost, 4, 16);
  if (problem !== undefined) return problem;
  if (encoded.length !== LENGTH) return `${LENGTH} characters are expected, not ${encoded.length}`;
  if (!bodyFits(encoded)) return 'salt and hash may contain only ./A-Za-z0-9';
  return { encoded };
}

export const bcryptScheme = defineScheme({
  name: 'bcrypt',
  matches(encoded) {
    const variant = encoded.charCodeAt(2);
    return encoded.startsWith('$2') && encoded[3] === '$' && (variant === 97 || variant === 98 || variant === 121);
  },
  parse,
  work: ({ encoded }) => bcryptWork(bcryptCost(encoded)),
  seesAll: bcryptSeesAll,
  verify({ encoded }, password) {
    // Some old programs set the unused last bits of the salt. Comparing bytes instead of texts accepts their hashes
    // too.
    const made = bcryptLibrary().hash(password, bcryptCost(encoded), encoded.slice(SALT_AT, HASH_AT));
    return sameBytes(bcryptBytes(made), bcryptBytes(encoded));
  },
});
