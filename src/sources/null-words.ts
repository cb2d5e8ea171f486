/**
 * Words that programs write into CSV for null: `NULL`, `\N`, `(null)`, `None`, `N/A`, `nan`. Whether such a word is no
 * value is decided by the whole column, as somebody may be called None.
 *
 * Guarantee: a word counts as no value where its column has several such words or one that is nothing else, or where
 * another column of the file has the same word. Names such as Null in their usual spelling stay.
 */
import type { Fields } from './source.ts';

/** Words that are nothing else. */
const SURE = new Set(['\\N', '(null)', '(NULL)', '<null>', '<NULL>', '[null]', '[NULL]', '#N/A', '#NULL!']);
const LIKELY = new Set(['NULL', 'null', 'None', 'NONE', 'N/A', 'n/a', 'nan', 'NaN', 'NAN', 'nil', '<NA>', 'undefined']);

export interface NullWords {
  /** Call it with every record before the first `clean`. */
  see(record: Fields): void;
  /** The record with empty values in place of the words for null. */
  clean(record: Fields): Fields;
}

interface Column {
  words: Set<string>;
  count: number;
  isSure: boolean;
}

export function openNullWords(): NullWords {
  const columns = new Map<string, Column>();
  let found: ReadonlyMap<string, ReadonlySet<string>> | undefined;
  return {
    see(record) {
      for (const name of Object.keys(record)) {
        const word = wordOf(record[name]);
        if (word === undefined) continue;
        const column = columns.get(name) ?? { words: new Set(), count: 0, isSure: false };
        columns.set(name, column);
        column.words.add(word);
        column.count++;
        column.isSure ||= SURE.has(word);
      }
    },
    clean(record) {
      found ??= nullsOf(columns);
      return found.size === 0 ? record : without(record, found);
    },
  };
}

/** The word for null that a value may be. */
function wordOf(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > 12) return undefined;
  const text = value.trim();
  return SURE.has(text) || LIKELY.has(text) ? text : undefined;
}

/** The words that are no value, by column. */
function nullsOf(columns: ReadonlyMap<string, Column>): Map<string, Set<string>> {
  const places = new Map<string, number>();
  for (const { words } of columns.values()) for (const word of words) places.set(word, (places.get(word) ?? 0) + 1);
  const nulls = new Map<string, Set<string>>();
  for (const [name, { words, count, isSure }] of columns) {
    const isClear = isSure || count > 1;
    const none = [...words].filter((word) => isClear || (places.get(word) ?? 0) > 1);
    if (none.length > 0) nulls.set(name, new Set(none));
  }
  return nulls;
}

function without(record: Fields, nulls: ReadonlyMap<string, ReadonlySet<string>>): Fields {
  const cleaned = { ...record };
  for (const [name, words] of nulls) {
    const word = Object.hasOwn(record, name) ? wordOf(record[name]) : undefined;
    if (word !== undefined && words.has(word)) cleaned[name] = '';
  }
  return cleaned;
}

/** The record without words that may mean null, for questions about a whole column. */
export function withoutNullWords(record: Fields): Fields {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => wordOf(value) === undefined));
}
