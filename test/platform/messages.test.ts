/** The catalogues of messages, and the choice of a language. */
import assert from 'node:assert/strict';
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { IntlMessageFormat } from 'intl-messageformat';
import { inLanguage, LANGUAGES, languageFor, say, sayHtml } from '../../src/platform/messages/catalogue.ts';
import { CATALOGUES, catalogue } from '../support/catalogues.ts';

/** A piece of a message: text, `#`, a value, a tag around pieces, or a choice between them. */
interface Piece {
  type: number;
  value?: string;
  children?: Piece[];
  options?: Record<string, { value: Piece[] }>;
}

/** Types of pieces that need nothing. */
const [TEXT, HASH] = [0, 7];

/** What a message needs to be said: values and tags by name, those of all plural forms. */
function needs(text: string): string[] {
  const found = new Set<string>();
  const walk = (pieces: Piece[]): void => {
    for (const { type, value, children, options } of pieces) {
      if (type === TEXT || type === HASH) continue;
      found.add(children ? `<${value}>` : String(value));
      walk(children ?? []);
      for (const option of Object.values(options ?? {})) walk(option.value);
    }
  };
  walk(new IntlMessageFormat(text).getAst() as Piece[]);
  return [...found].sort();
}

const english = catalogue('en');

test('each language has one file, and each file is a language', () => {
  const files = readdirSync(CATALOGUES).filter((name) => name.endsWith('.json'));
  assert.deepEqual(files.sort(), LANGUAGES.map((language) => `${language}.json`).sort());
});

for (const language of LANGUAGES.filter((one) => one !== 'en')) {
  test(`${language} has every message, with the values that the message needs`, () => {
    const own = catalogue(language);
    assert.deepEqual([...own.keys()].sort(), [...english.keys()].sort());
    for (const [key, text] of own) assert.deepEqual(needs(text), needs(english.get(key) as string), key);
  });
}

/** What languages may say with the same letters; patterns, which have no words, in all of them. */
const SAME: Readonly<Record<string, readonly string[] | 'all'>> = {
  'account.program': ['pl', 'sv', 'tr'],
  'account.unknownBrowser': ['de', 'it', 'nl'],
  'brand.help': ['nl'],
  'brand.privacy': ['it', 'nl'],
  'common.code': ['de', 'fr', 'nl'],
  'common.password': ['it'],
  'common.problemTitle': ['de', 'pl', 'sv'],
  'factor.name': ['de'],
  'factor.passkey': ['de', 'it'],
  'login.password': ['it'],
  'mail.help': ['nl'],
  'mail.labelled': 'all',
  'mail.moment': 'all',
  'mail.privacy': ['it', 'nl'],
  'mail.subject': 'all',
  'text.from': 'all',
};

for (const language of LANGUAGES.filter((one) => one !== 'en')) {
  test(`${language} translates every message`, () => {
    const isSame = (key: string) => SAME[key] === 'all' || SAME[key]?.includes(language);
    const untranslated = [...catalogue(language)].filter(([key, text]) => text === english.get(key) && !isSame(key));
    assert.deepEqual(untranslated, []);
  });
}

/** Marks that a language writes in another way, and what is no good text in any. A text message has the marks that phones have. */
const FOREIGN_MARKS: Readonly<Record<string, RegExp>> = {
  de: /["']|“(?=\p{L})/u,
  fr: /'|(?:^|[^\u00a0\u202f])[:;!?»]|«(?!\u00a0)/,
  // Chromium ends lines within もう一度; 再度 says the same.
  ja: /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}][,.:;!?()]|[,.:;!?()][\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]|もう一度/u,
  zh: /\p{sc=Han}[,.:;!?()]|[,.:;!?()]\p{sc=Han}/u,
  ar: /\p{sc=Arab}[,;?]/u,
};
const TWO_GENDERS = /\p{L}\(\p{L}+\)/u;
/**
 * A line would end after the hyphen of a short part of a word, such as "sign-in"; U+2011 holds it together. Text messages
 * have no such words: phones have no such hyphen in them.
 */
const BREAKS_IN_WORD = /(?<![\p{L}\p{N}-])[\p{L}\p{N}]{1,3}-\p{L}|\p{L}-\p{L}{1,3}(?![\p{L}-])/u;
/**
 * A line would end between a number and what it counts; U+00A0 holds them together. Mails leave their lines to the program
 * that shows them.
 */
const BREAKS_AFTER_NUMBER = /[\d#] \p{L}/u;
/** Lines would break within the number of a telephone. */
const BREAKS_IN_NUMBER = /\+\d[\d\u00a0]* \d/;

for (const language of LANGUAGES) {
  test(`${language} has its own punctuation, and no ending in brackets`, () => {
    const wrong = ([key, text]: [string, string]) =>
      key !== 'text.from' &&
      textsOf(text).some((piece) =>
        [TWO_GENDERS, BREAKS_IN_WORD, BREAKS_IN_NUMBER, FOREIGN_MARKS[language]].some((mark) => mark?.test(piece)),
      );
    assert.deepEqual([...catalogue(language)].filter(wrong), []);
  });

  test(`${language} has no line on a page that ends between a number and what it counts`, () => {
    const wrong = ([key, text]: [string, string]) => !/^(?:mail|text)\./.test(key) && BREAKS_AFTER_NUMBER.test(text);
    assert.deepEqual([...catalogue(language)].filter(wrong), []);
  });
}

/** The texts of a message between its values and tags. */
function textsOf(message: string): string[] {
  const found: string[] = [];
  const walk = (pieces: Piece[]): void => {
    for (const { type, value, children, options } of pieces) {
      if (type === TEXT) found.push(String(value));
      walk(children ?? []);
      for (const option of Object.values(options ?? {})) walk(option.value);
    }
  };
  walk(new IntlMessageFormat(message).getAst() as Piece[]);
  return found;
}

test('every message is said somewhere', () => {
  const sources = globSync('{src,workers}/**/*.ts').map((file) => readFileSync(file, 'utf8'));
  const named = new Set(sources.flatMap((text) => text.match(/'[a-z]\w*\.[a-z]\w*'/g) ?? []));
  assert.deepEqual(
    [...english.keys()].filter((key) => !named.has(`'${key}'`)),
    [],
  );
});

test('a value is never read as a message or as markup', () => {
  const title = '{x, plural, other {}} <b>';
  assert.equal(say('common.problemTitle', { title }), `Problem: ${title}`);
  assert.equal(sayHtml('common.problemTitle', { title }).markup, 'Problem: {x, plural, other {}} &lt;b&gt;');
});

test('the strongest wish that there is a catalogue for decides', () => {
  assert.equal(languageFor({ application: 'xx de-AT', chosen: 'en' }), 'de');
  assert.equal(languageFor({ application: 'xx', chosen: 'de', browser: 'en' }), 'de');
  assert.equal(languageFor({ browser: 'xx;q=1, de-CH;q=0.8, en;q=0.1', user: 'en' }), 'de');
  assert.equal(languageFor({ browser: 'xx', user: 'yy', organization: 'de', instance: 'en' }), 'de');
  assert.equal(languageFor({ application: 'xx de-AT en' }), 'de');
  assert.equal(languageFor({ browser: '*', user: 'de' }), 'de');
  assert.equal(languageFor({ browser: 'en; q=0.1, de ; q=0.8, *;q=0.01' }), 'de');
  assert.equal(languageFor({ browser: 'not a tag at all;;;', user: '' }), 'en');
  assert.equal(languageFor({ browser: '*', user: 'de' }), 'de');
  assert.equal(languageFor({ browser: 'en; q=0.1, de ; q=0.8, *;q=0.01' }), 'de');
  assert.equal(languageFor({}), 'en');
});

test('a text is in the language of the work that says it', () => {
  assert.equal(
    inLanguage({ user: 'de' }, () => say('error.somethingWentWrong')),
    'Etwas ist schiefgegangen',
  );
  assert.equal(say('error.somethingWentWrong'), 'Something went wrong');
});
