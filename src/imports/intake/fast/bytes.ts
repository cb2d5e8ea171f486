/**
 * The rules of src/platform/fields.ts for text that is still bytes of valid UTF-8: each function says yes only if the
 * rule for the same text as a string does. A no means that the string has to be examined.
 */

/** No limit of src/platform/fields.ts refuses as many bytes, as each code point has at least one. */
export const SHORT_BYTES = 200;
const MOST_LANGUAGE_BYTES = 10;
const MOST_SUBTAG = 8;
const [DOT, AT, HYPHEN, SPACE, DELETE, FIRST_BEYOND_ASCII] = [0x2e, 0x40, 0x2d, 0x20, 0x7f, 0x80];

/** 1 for each byte of an atom of an address; bytes beyond ASCII are parts of its letters. */
const ATOM = table(/[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~]/, 1);
const LETTER = table(/[A-Za-z]/, 0);
const DIGIT = table(/[0-9]/, 0);

function table(one: RegExp, beyondAscii: number): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, c) =>
    c >= FIRST_BEYOND_ASCII ? beyondAscii : Number(one.test(String.fromCharCode(c))),
  );
}

/** Whether it is an id by `idProblem`. */
export function isShortId(bytes: Uint8Array, from: number, to: number): boolean {
  if (to <= from || to - from > SHORT_BYTES || bytes[from] === DOT) return false;
  for (let i = from; i < to; i++) if ((bytes[i] as number) < SPACE || bytes[i] === DELETE) return false;
  return true;
}

/** Whether it is an address by `isEmailAddress`: atoms with dots between them, on both sides of the `@`. */
export function isShortEmail(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from > SHORT_BYTES) return false;
  let atoms = 0;
  let isDomain = false;
  for (let i = from; i < to; i++) {
    const c = bytes[i] as number;
    if (ATOM[c] === 1) atoms++;
    else if (atoms > 0 && (c === DOT || (c === AT && !isDomain))) {
      isDomain ||= c === AT;
      atoms = 0;
    } else return false;
  }
  return isDomain && atoms > 0;
}

const [QUOTE, UPPER_TO_LOWER, X, N] = [0x22, 0x20, 0x78, 0x6e];

/** In UTF-8, À to ÿ begin with this byte; the signs × and ÷ among them are no letters. */
const LATIN_LEAD = 0xc3;
/** What follows it, by byte: the small letter, or 0 for a sign. */
const SMALL_LATIN = Uint8Array.from({ length: 256 }, (_, c) =>
  c === 0x97 || c === 0xb7 ? 0 : c <= 0x9e ? c + 0x20 : c,
);
/** The small form of each visible character of ASCII; 0 for all other bytes. */
const SMALL = Uint8Array.from({ length: 256 }, (_, c) =>
  c < SPACE || c >= DELETE ? 0 : String.fromCharCode(c).toLowerCase().charCodeAt(0),
);

/**
 * Writes the key of a name that `nameKey` only lower-cases and `unseenProblem` accepts: ASCII without punycode, À to ÿ.
 * In one pass, as each address of an import needs it.
 * @returns the end of the key in `target`; -1 for any other name
 */
export function writePlainKey(bytes: Uint8Array, from: number, to: number, target: Uint8Array, at: number): number {
  if (to > from && bytes[from] === QUOTE) return -1;
  let end = at;
  for (let i = from; i < to; i++) {
    const c = bytes[i] as number;
    let small = SMALL[c] as number;
    if (c === LATIN_LEAD) {
      target[end++] = c;
      small = SMALL_LATIN[bytes[++i] as number] as number;
    }
    if (small === 0) return -1;
    if (c === HYPHEN && i - from >= 3 && bytes[i - 1] === HYPHEN && isPunycode(bytes, i)) return -1;
    target[end++] = small;
  }
  return end;
}

/** Whether two hyphens, of which the second is at `i`, are those of `xn--`. */
function isPunycode(bytes: Uint8Array, i: number): boolean {
  return ((bytes[i - 2] as number) | UPPER_TO_LOWER) === N && ((bytes[i - 3] as number) | UPPER_TO_LOWER) === X;
}

/** Whether it is a language tag by `isLanguageTag` of at most ten characters. */
export function isShortLanguage(bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from > MOST_LANGUAGE_BYTES) return false;
  let length = 0;
  let isFirst = true;
  for (let i = from; i < to; i++) {
    const c = bytes[i] as number;
    if (c === HYPHEN && length > 0) {
      isFirst = false;
      length = 0;
    } else if (LETTER[c] !== 1 && (isFirst || DIGIT[c] !== 1)) return false;
    else if (++length > MOST_SUBTAG) return false;
  }
  return length > 0;
}
