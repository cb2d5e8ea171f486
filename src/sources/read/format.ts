/** Detects a file's format by its first bytes. */
import type { Fields, Format } from '../source.ts';
import { isFields, parseJson } from '../values.ts';

/** @param head the beginning of the file, as UTF-8 */
export function formatOf(head: string): Format {
  const text = head.trimStart();
  if (text.startsWith('[')) return 'json';
  if (text.startsWith('{')) return isLines(text) ? 'ndjson' : 'json';
  const plain = text.replace(/^(?:#.*\r?\n|\s)+/, '');
  if (/^(?:dn::?|version:) ?/i.test(plain)) return 'ldif';
  // The first entry may have lost its first line.
  return /^dn::? ?/im.test(text) && /^objectClass::? ?/im.test(text) ? 'ldif' : 'csv';
}

/**
 * Whether the first line is a user and the next one begins another object; otherwise the file is one document, or the
 * pages of an API one after the other.
 */
function isLines(text: string): boolean {
  const [first = '', ...others] = text.split('\n', 20);
  const record = parseJson(first);
  if (!isFields(record) || isPage(record)) return false;
  return others.find((line) => line.trim() !== '')?.startsWith('{') ?? false;
}

/** Where APIs answer with a list of users. */
const LISTS = ['users', 'Users', 'data', 'result', 'results', 'items', 'value', 'Resources'];
/** What a user has, who may have a list of such a name too. */
const OF_USER = /^(?:_?id|user_?id|uid|sub|e?mail|user_?name|login|name)$/i;

/** Whether the record has a list of users and is not a user. */
function isPage(record: Fields): boolean {
  if (Object.entries(record).some(([name, value]) => OF_USER.test(name) && value)) return false;
  const { _embedded: embedded } = record;
  return LISTS.some((name) => isList(record[name]) || (isFields(embedded) && isList(embedded[name])));
}

function isList(value: unknown): boolean {
  return Array.isArray(value) && value.some(isFields);
}
