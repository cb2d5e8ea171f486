/** The catalogues of messages as they are in their files. */
import { readFileSync } from 'node:fs';

export const CATALOGUES = new URL('../../src/platform/messages/', import.meta.url);

/** The messages of a language by `section.meaning`. */
export function catalogue(language: string): Map<string, string> {
  const text = readFileSync(new URL(`${language}.json`, CATALOGUES), 'utf8');
  const sections = Object.entries(JSON.parse(text) as Record<string, Record<string, string>>);
  return new Map(
    sections.flatMap(([section, messages]) =>
      Object.entries(messages).map(([meaning, message]): [string, string] => [`${section}.${meaning}`, message]),
    ),
  );
}

/** Messages that a language says with the same letters as English; the test of the catalogues holds that all are meant. */
export function sameAsEnglish(language: string): Set<string> {
  const english = catalogue('en');
  return new Set([...catalogue(language)].filter(([key, text]) => english.get(key) === text).map(([, text]) => text));
}
