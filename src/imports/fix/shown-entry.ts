/**
 * A stored entry as it may be shown for editing: its known fields, without any hash or secret. Pure.
 *
 * Guarantee: of a password hash only the name of its scheme is shown; passwords, second factors, metadata that looks
 * like a secret, and any text that looks like a password hash, whatever its field, are withheld. Such a value can be
 * replaced, never read. Unknown fields are not shown, as they may hold anything.
 */
import { schemeSeen } from '../../passwords/registry.ts';
import { isSecretName } from '../validate/entry-secrets.ts';
import { type Shape, shapeOf } from '../validate/field-names.ts';
import { importEntry } from '../validate/schema.ts';

/** In place of a value that is not shown. */
export const HIDDEN = { withheld: true } as const;
const SHAPE = shapeOf(importEntry);
/** How hashes begin in the Modular Crypt Format, and in LDAP directories. */
const HASH_LIKE = /^\s*(?:\$[A-Za-z0-9-]{1,20}\$|\{[A-Za-z0-9._-]{1,20}\}.)/;
const HASH_NAME = /hash|salt|digest/i;

type Fields = Record<string, unknown>;

/** @param entry anything JSON can hold, with camelCase names; one that is no object is shown as an empty one */
export function shownEntry(entry: unknown): Fields {
  return isObject(entry) ? (shownValue(entry, SHAPE) as Fields) : {};
}

function shownValue(value: unknown, shape: Shape | true): unknown {
  if (typeof value === 'string') return HASH_LIKE.test(value) ? HIDDEN : value;
  if (Array.isArray(value)) return value.map((element) => shownValue(element, shape));
  if (!isObject(value)) return value;
  if (shape === true) return HIDDEN; // an object where there should be a value
  const known = Object.entries(value).filter(([name]) => shape.has(name));
  if (typeof value.key === 'string' && shape.has('key')) return shownMetadata(value.key, value.value);
  return Object.fromEntries(known.map(([name, inner]) => [name, shownField(name, inner, shape.get(name) ?? true)]));
}

function shownField(name: string, value: unknown, shape: Shape | true): unknown {
  if (value === null || value === undefined) return value;
  if (name === 'hashedPassword') return { scheme: schemeOf(value) };
  if (isSecretName(name)) return HIDDEN;
  return shownValue(value, shape);
}

function schemeOf(hashed: unknown): string {
  const hash = isObject(hashed) ? hashed.value : hashed;
  return typeof hash === 'string' ? schemeSeen(hash) : 'unknown';
}

function shownMetadata(key: string, value: unknown): Fields {
  const shownKey = shownValue(key, true);
  if (value === undefined) return { key: shownKey };
  const isPlain = typeof value === 'string' && !isSecretName(key) && !HASH_NAME.test(key) && !holdsHash(value);
  return { key: shownKey, value: isPlain ? value : HIDDEN };
}

function holdsHash(value: string): boolean {
  return HASH_LIKE.test(value) || HASH_LIKE.test(Buffer.from(value.slice(0, 100), 'base64').toString('latin1'));
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
