/** ZITADEL's field names: programs send `user_name` as well as `userName`, and its API accepts both. */
import { camelCase } from '../../../fields/names.ts';
import { CONTEXT } from '../../read/json.ts';
import type { Fields } from '../../source.ts';
import { isFields } from '../../values.ts';

/** A record, its user, the user's profile: deeper levels hold no known names, and may be nested without limit. */
const LEVELS = 3;

/**
 * Converts field names to camelCase, nested ones included. Keys of metadata are values in ZITADEL, so they stay
 * unchanged.
 */
export function camelCased(record: Fields, levels = LEVELS): Fields {
  const inner = (value: unknown) => (levels > 1 && isFields(value) ? camelCased(value, levels - 1) : value);
  return Object.fromEntries(
    Object.entries(record).map(([name, value]) => [
      name === CONTEXT ? name : camelCase(name),
      Array.isArray(value) ? value.map(inner) : inner(value),
    ]),
  );
}
