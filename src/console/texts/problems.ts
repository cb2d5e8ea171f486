/** What is wrong with a value, in the language of the page: the API says it in English. */
import * as de from './de/problems.ts';
import { consoleLanguage } from './language.ts';

/** A message of the API in German, on a page in German; rare ones stay as they are. */
export function problemText(message: string): string {
  if (consoleLanguage() !== 'de') return message;
  for (const [english, german] of de.PROBLEMS) {
    const found = english.exec(message);
    if (found) return german.replaceAll(/\$(\d)/g, (_, part) => found[Number(part)] ?? '');
  }
  return message;
}
