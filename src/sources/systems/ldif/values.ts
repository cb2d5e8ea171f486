/** Values of an LDIF entry, whose attributes are lists of texts. */
import type { Fields } from '../../source.ts';
import { numberAt, textAt } from '../../values.ts';

/** All values of an attribute, unchanged. */
export function valuesOf(entry: Fields, attribute: string): string[] {
  const values = Object.hasOwn(entry, attribute) ? entry[attribute] : undefined;
  return Array.isArray(values) ? values.filter((value) => typeof value === 'string') : [];
}

/** The first value of the first of these attributes that has one. */
export function firstOf(entry: Fields, ...attributes: string[]): string | undefined {
  for (const attribute of attributes) {
    for (const value of valuesOf(entry, attribute)) {
      const text = textAt({ value }, 'value');
      if (text !== undefined) return text;
    }
  }
  return undefined;
}

/** Boolean of RFC 4517 section 3.3.3. */
export function isTrue(entry: Fields, attribute: string): boolean {
  return firstOf(entry, attribute)?.toUpperCase() === 'TRUE';
}

export function integerOf(entry: Fields, attribute: string): number | undefined {
  return numberAt({ value: firstOf(entry, attribute) }, 'value');
}

/** Object classes in lower case. */
export function classesOf(entry: Fields): Set<string> {
  return new Set(valuesOf(entry, 'objectclass').map((name) => name.trim().toLowerCase()));
}
