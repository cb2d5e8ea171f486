/** The range of texts that begin with a prefix, in the order of code points: that of UTF-8 and of the collation "C". */

const LAST = 0x10ffff;
const SURROGATES = { first: 0xd800, last: 0xdfff };

/** The first text after all texts that begin with `prefix`; undefined if there is none. */
export function afterPrefix(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) as number);
  while (points.at(-1) === LAST) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  const next = last + 1 === SURROGATES.first ? SURROGATES.last + 1 : last + 1;
  return String.fromCodePoint(...points, next);
}
