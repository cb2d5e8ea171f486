/** What is wrong with a page in a language: of how it fits a phone, of its direction, and of texts that it does not translate. */
import { type MessageFormatElement, parse, TYPE } from '@formatjs/icu-messageformat-parser';
import type { Page } from 'playwright-core';
import { directionOf, LANGUAGES, type Language } from '../../src/platform/messages/catalogue.ts';
import { axeProblems } from '../support/axe.ts';
import { catalogue } from '../support/catalogues.ts';

/** The phone that every page has to fit. */
export const NARROW = { width: 360, height: 780 };

/** What is wrong with the page that is shown, whose language should be this one. */
export async function problemsIn(page: Page, language: Language): Promise<string[]> {
  const found = await fitProblems(page);
  const told = await page.evaluate('[document.documentElement.lang, document.documentElement.dir]');
  if (String(told) !== `${language},${directionOf(language)}`) found.push(`it says that it is ${told}`);
  const shown = (await page.evaluate(TEXTS)) as string[];
  found.push(...shown.filter((text) => isEnglishIn(language, text)).map((text) => `English: ${text}`));
  // Colors are the same in all languages.
  const options = { rules: { 'color-contrast': { enabled: false } } };
  if (WITH_AXE.has(language)) found.push(...(await axeProblems(page, options)));
  return found;
}

/** What of the page is wider than the screen, or cut off. */
export async function fitProblems(page: Page): Promise<string[]> {
  const found = (await page.evaluate(CUT_OFF)) as string[];
  const width = await page.evaluate('document.documentElement.scrollWidth');
  return width === page.viewportSize()?.width ? found : [`it is ${width} wide`, ...found];
}

/** What nobody can read: what is wider than the screen, or hidden by what it is in. */
const CUT_OFF = `[...document.querySelectorAll('body *')].filter((one) => {
  const { left, right, width } = one.getBoundingClientRect();
  const isOut = width > 0 && (left < -0.5 || right > innerWidth + 0.5);
  const hides = getComputedStyle(one).overflow !== 'visible' && one.tagName !== 'INPUT';
  const isCut = one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1;
  return (isOut || (hides && isCut)) && !one.closest('svg');
}).map((one) => one.outerHTML.slice(0, 120))`;

/** What people read or hear of the page, except the names of the other languages. */
const TEXTS = `{
  const texts = [document.title];
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
  for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
    if ((node.parentElement ?? node).closest('script, style, .languages ul')) continue;
    if (node.nodeType === Node.TEXT_NODE) texts.push(node.data);
    else for (const name of ['aria-label', 'alt', 'placeholder', 'title']) texts.push(node.getAttribute(name) ?? '');
  }
  texts.map((text) => text.replace(/\\s+/g, ' ').trim()).filter(Boolean);
}`;

/** Whether it is a text of the English catalogue, or has a longer part of one, that this language has no word for word. */
function isEnglishIn(language: Language, text: string): boolean {
  const own = PARTS.get(language);
  const isForeign = (part: string) => text === part || (part.length > 12 && text.includes(part));
  return language !== 'en' && [...(PARTS.get('en') ?? [])].some((part) => isForeign(part) && !own?.has(part));
}

/** The texts between the values and tags of a language's messages. */
const PARTS = new Map<Language, ReadonlySet<string>>(LANGUAGES.map((language) => [language, partsOf(language)]));

function partsOf(language: Language): Set<string> {
  const parts = new Set<string>();
  const walk = (elements: MessageFormatElement[]): void => {
    for (const element of elements) {
      if (element.type === TYPE.literal) parts.add(element.value.replace(/\s+/g, ' ').trim());
      if (element.type === TYPE.tag) walk(element.children);
      if (element.type === TYPE.plural || element.type === TYPE.select) {
        for (const option of Object.values(element.options)) walk(option.value);
      }
    }
  };
  for (const message of catalogue(language).values()) walk(parse(message));
  return new Set([...parts].filter((part) => /\p{L}{2}/u.test(part)));
}

/** A language like English, one from right to left, one without spaces, and the one with the longest texts. */
const WITH_AXE = new Set<Language>(['de', 'ar', 'ja', longest()]);

function longest(): Language {
  const lengthOf = (language: Language) => [...(PARTS.get(language) ?? [])].join('').length;
  return LANGUAGES.reduce((one, other) => (lengthOf(other) > lengthOf(one) ? other : one));
}
