/**
 * Characters that nobody sees or types, and the form in which names and addresses compare, so that names that look equal
 * are one. Migration 156 has the same rules in SQL (`test/platform/db/compared-names.test.ts` compares them).
 */
import { domainToUnicode } from 'node:url';

/** Scripts and emoji whose characters a joiner may follow. */
const JOINED = '[\\u0600-\\u1cff\\u2190-\\u2bff\\ufb50-\\ufdff\\ufe0f\\ufe70-\\ufeff\\u{1f000}-\\u{1faff}]';
/** Format and control characters, fillers without width, and joiners behind other letters. */
const UNSEEN = `(?![\\u200c\\u200d])[\\p{Cf}\\p{Cc}\\u115f\\u1160\\u3164\\uffa0]|(?<!${JOINED})[\\u200c\\u200d]`;
/** Spaces other than the usual one: no-break, of other widths, ideographic. */
const ODD_SPACES = '[\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';
const EACH_UNSEEN = new RegExp(UNSEEN, 'gu');
const EACH_ODD_SPACE = new RegExp(ODD_SPACES, 'gu');
const FIRST_ODD = new RegExp(`${UNSEEN}|${ODD_SPACES}`, 'u');

/** Names of the characters that are met most, by code point. */
const NAMES: Readonly<Record<string, string>> = {
  '00A0': 'no-break space',
  '00AD': 'soft hyphen',
  '200B': 'zero width space',
  '200E': 'left-to-right mark',
  '200F': 'right-to-left mark',
  FEFF: 'byte order mark',
};

/** What is wrong with a name or an address that has characters that nobody sees or types; undefined if it has none. */
export function unseenProblem(text: string): string | undefined {
  const found = FIRST_ODD.exec(text)?.[0].codePointAt(0);
  if (found === undefined) return undefined;
  const code = found.toString(16).toUpperCase().padStart(4, '0');
  const name = NAMES[code];
  return `must not contain the invisible character U+${code}${name === undefined ? '' : ` (${name})`}`;
}

/** The text without these characters. @param space what an odd space becomes */
export function withoutUnseen(text: string, space: '' | ' '): string {
  return text.replace(EACH_ODD_SPACE, space).replace(EACH_UNSEEN, '');
}

/** Control characters, and those that Unicode lets programs ignore (Default_Ignorable_Code_Point), in Unicode 16. */
const IGNORED = new RegExp(
  '[\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f' +
    '\\u202a-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8\\u{1bca0}-\\u{1bca3}' +
    '\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]',
  'gu',
);
/** A local part in quotes that it would not need, but for its dots; RFC 5321, section 4.1.2: they are no part of it. */
const QUOTED = /^"([^\s"\\@]+)"@/;
const PUNYCODE = /(?<=[@.])xn--[^@.]*(?=(?:\.[^@]*)?$)/g;

/**
 * The form in which user names, login names and addresses compare: lower case, NFKC, without characters that nobody
 * sees, without quotes that are no part of the local part, and with the domain in Unicode.
 */
export function comparedName(name: string): string {
  const lower = name.normalize('NFC').toLowerCase().normalize('NFC');
  const seen = lower.replace(IGNORED, '').normalize('NFKC').toLowerCase().normalize('NFKC');
  return seen.replace(QUOTED, '$1@').replace(PUNYCODE, (label) => domainToUnicode(label) || label);
}
