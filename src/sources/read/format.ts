/** Detects a file's format by its first bytes. */
import type { Format } from '../source.ts';
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

/** Whether the first line is a complete object and the next one begins another; otherwise the file is one document. */
function isLines(text: string): boolean {
  const [first = '', ...others] = text.split('\n', 20);
  if (!isFields(parseJson(first))) return false;
  return others.find((line) => line.trim() !== '')?.startsWith('{') ?? false;
}
