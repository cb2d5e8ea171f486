/** Names of ZITADEL's fields: programs send `user_name` as well as `userName`, and its API takes both. */
import { CONTEXT } from '../../read/json.ts';
import type { Fields } from '../../source.ts';
import { isFields } from '../../values.ts';

/** A record, its user, her profile; deeper down are no names of ours, and a record may be nested without end. */
const LEVELS = 3;

/** The names of an object's fields in camelCase, and of those in it; the keys of metadata are values there, and stay. */
export function camelCased(record: Fields, levels = LEVELS): Fields {
  const inner = (value: unknown) => (levels > 1 && isFields(value) ? camelCased(value, levels - 1) : value);
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      name === CONTEXT ? name : name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
      Array.isArray(value) ? value.map(inner) : inner(value),
    ]),
  );
}
