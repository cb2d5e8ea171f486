/**
 * How many columns a text takes on a terminal: a letter with its accents takes one, ideographs and emoji take two
 * (Unicode Standard Annex 11).
 */

const PLAIN = /^[\x20-\x7e]*$/;
const WIDE =
  /^[[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{Emoji_Presentation}\u3000-\u303e\uff01-\uff60]--[\uff61-\uffdc]]/v;
const letters = new Intl.Segmenter('en', { granularity: 'grapheme' });

export function width(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return Array.from(letters.segment(text), ({ segment }): number => (WIDE.test(segment) ? 2 : 1)).reduce(
    (sum, columns) => sum + columns,
    0,
  );
}

/** The text, padded with spaces to this many columns. */
export function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - width(text)));
}
