/** Every text of the pages of a sign-in is in the catalogues. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renderPage } from '../../../src/platform/html/layout.ts';
import { inLanguage, LANGUAGES } from '../../../src/platform/messages/catalogue.ts';
import { type Html, html } from '../../../src/platform/text/html.ts';
import { allPages } from '../../browser/pages.ts';
import { sameAsEnglish } from '../../support/catalogues.ts';

/** What people read or hear of a page: its text, and the attributes that have text. */
function textsOf({ markup }: Html): Set<string> {
  const shown = markup.replace(/<(style|script)[\s\S]*?<\/\1>/g, '').replace(/<ul>[\s\S]*?<\/ul>\s*<\/details>/g, '');
  const attributes = [...shown.matchAll(/\s(?:aria-label|alt|title|placeholder)="([^"]*)"/g)].map(([, text]) => text);
  const texts = [...shown.replace(/\s+/g, ' ').split(/<[^>]*>/), ...attributes].map((text) => (text ?? '').trim());
  return new Set(texts.filter((text) => /\p{L}{2}/u.test(text)));
}

function pagesIn(language: string): Map<string, Set<string>> {
  return inLanguage({ application: language }, () => {
    const all = Object.entries(allPages());
    return new Map(
      all.map(([name, page]) => {
        assert.ok(page, name);
        return [name, textsOf({ markup: renderPage(page).markup })];
      }),
    );
  });
}

/** Names that the pages of the test have, and the product. */
const NAMES = [
  /^Vereinigte Donaudampf/,
  /^(?:ann\.)+arbor@example\.com$/,
  /^ann@example\.com$/,
  /^(?:Acme|Google|Muster)$/,
];
const CODES = [/^(?:[A-Z0-9]{4}[ -]?)+$/, /^invalid_redirect_uri$/, /^, it is x+$/, /^it is x+$/];

for (const language of LANGUAGES.filter((one) => one !== 'en')) {
  test(`no page in ${language} has a text of the English page`, () => {
    const english = pagesIn('en');
    const meant = sameAsEnglish(language);
    const found = [...pagesIn(language)].flatMap(([name, texts]) => {
      const same = [...texts].filter((text) => english.get(name)?.has(text));
      const left = same.filter((text) => !meant.has(text) && ![...NAMES, ...CODES].some((known) => known.test(text)));
      return left.map((text) => `${name}: ${text}`);
    });
    assert.deepEqual(found, []);
  });
}

test('the texts of a page are found', () => {
  const page = html`<p>One <b>two</b></p><img alt="three"><style>four</style>`;
  assert.deepEqual([...textsOf(page)], ['One', 'two', 'three']);
});
