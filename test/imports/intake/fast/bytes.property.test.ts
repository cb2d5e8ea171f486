/** The rules for bytes say yes only where those for strings do, and say it for what is usual. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isShortEmail, isShortId, isShortLanguage, writePlainKey } from '../../../../src/imports/intake/fast/bytes.ts';
import { idProblem, isEmailAddress, isLanguageTag, nameKey, textProblem } from '../../../../src/platform/fields.ts';
import { unseenProblem } from '../../../../src/platform/text/visible.ts';
import fc from '../../../support/fast-check.ts';

const pieces = fc.constantFrom(
  'a',
  'Z',
  '9',
  '.',
  '..',
  '@',
  '-',
  '_',
  '"',
  '[',
  ']',
  ' ',
  '\x7f',
  '\x1f',
  'ž',
  '😀',
  '\x80',
  'xn--',
  'XN--a',
  '\u200b',
  '\u00a0',
);
const text = fc.array(fc.oneof(pieces, fc.string({ unit: 'grapheme', maxLength: 4 })), { maxLength: 12 });
/** The key that is written for a name; undefined if none is. */
function plainKey(bytes: Buffer, from: number, to: number): string | undefined {
  const target = Buffer.alloc(1 + to - from);
  const end = writePlainKey(bytes, from, to, target, 1);
  return end < 0 ? undefined : target.toString('utf8', 1, end);
}

const long = fc.tuple(text, fc.nat(230)).map(([list, n]) => list.join('') + 'x'.repeat(n < 190 ? 0 : n));

const isPlainName = (bytes: Buffer, from: number, to: number) => plainKey(bytes, from, to) !== undefined;

const RULES = {
  'an id': [isShortId, (s: string) => idProblem(s) === undefined],
  'an address': [isShortEmail, (s: string) => isEmailAddress(s) && textProblem(s, 200) === undefined],
  'a plain name': [isPlainName, (s: string) => nameKey(s) === s.toLowerCase() && unseenProblem(s) === undefined],
  'a language tag': [isShortLanguage, (s: string) => isLanguageTag(s) && s.length <= 10],
} as const;
const USUAL = {
  'an id': ['291800000000000042', 'auth0|60425dc4', 'ž', '😀'.repeat(50)],
  'an address': ['a@localhost', 'Ann.Müller+x@mail.example.org', 'ž@ž.si', `${'x'.repeat(198)}@y`],
  'a plain name': ['', 'Ann', 'ann@acme.example', 'a--b', 'n--', 'x.n--a', 'a"b', 'MÜLLER'],
  'a language tag': ['en', 'de-CH', 'zh-Hant-1', 'abcdefgh'],
};
const INVALID = {
  'an id': ['', '.', '..', 'a\x7f', 'a\tb', 'x'.repeat(201)],
  'an address': ['', '@', 'a@', '@b', 'a.@b', '.a@b', 'a..b@c', 'a@b.', 'a@b@c', 'a b@c', `${'x'.repeat(199)}@y`],
  'a plain name': ['"a"@b', 'a\x7f', 'a\t', 'a@XN--mnchen-3ya.de', 'ﬁ', 'ª', 'a\u200b', 'a\u00a0b'],
  'a language tag': ['', '-', 'e-', '-e', 'e--d', '1', 'en_US', 'abcdefghi', 'en-123456789', 'ž'],
};

for (const name of Object.keys(RULES) as (keyof typeof RULES)[]) {
  describe(`the rule for the bytes of ${name}`, () => {
    const [ofBytes, ofString] = RULES[name];
    const judge = (s: string) => {
      const bytes = Buffer.from(`"${s}"`);
      return ofBytes(bytes, 1, bytes.length - 1);
    };

    it('accepts nothing that the rule for strings refuses', () => {
      fc.assert(
        fc.property(long, (s) => {
          fc.pre(s.isWellFormed());
          if (judge(s)) assert.ok(ofString(s), JSON.stringify(s));
        }),
        { numRuns: 3000 },
      );
    });

    it('accepts what is usual, and refuses what is invalid', () => {
      for (const s of USUAL[name]) assert.ok(judge(s) && ofString(s), JSON.stringify(s));
      for (const s of INVALID[name]) assert.ok(!judge(s) && !ofString(s), JSON.stringify(s));
    });
  });
}

it('the key of a plain name is that of its text, for each character', () => {
  for (let code = 0x20; code <= 0x2100; code++) {
    for (const text of [`aZ${String.fromCharCode(code)}Éb`, String.fromCharCode(code)]) {
      const bytes = Buffer.from(text);
      const key = plainKey(bytes, 0, bytes.length);
      if (key !== undefined) assert.equal(key, nameKey(text), `U+${code.toString(16)}`);
    }
  }
});
