/**
 * What a Keycloak user has in addition to the common fields: attributes, roles and groups.
 *
 * Attributes keep their names; one that is named like one of the lists becomes `attributes.<name>`, so that none is
 * lost.
 * https://www.keycloak.org/docs/latest/server_admin/index.html#user-profile
 */
import type { Fields } from '../../source.ts';
import { objectAt } from '../../values.ts';

/** Attributes that have a field of their own: the names that Keycloak's own mappers use. */
const TAKEN = ['nickname', 'locale', 'phoneNumber', 'phoneNumberVerified'];
/** Before 1.2, `clientRoles` was called `applicationRoles`. */
const LISTS = ['realmRoles', 'clientRoles', 'applicationRoles', 'groups'];

/** The first value of an attribute; old exports have plain text in place of the list. */
export function firstOf(attributes: Fields, name: string): string | undefined {
  const value = valuesOf(attributes, name)[0];
  const text = typeof value === 'string' ? value.trim() : '';
  return text === '' ? undefined : text;
}

/** Every attribute without a field, and the user's roles and groups. Several values become a list. */
export function metadataOf(record: Fields): Record<string, unknown> {
  const attributes = objectAt(record, 'attributes');
  const others = Object.keys(attributes).filter((name) => !TAKEN.includes(name));
  return Object.fromEntries([
    ...LISTS.map((name) => [name, isEmpty(record[name]) ? undefined : record[name]]),
    ...others.map((name) => {
      const values = valuesOf(attributes, name);
      return [LISTS.includes(name) ? `attributes.${name}` : name, values.length > 1 ? values : values[0]];
    }),
  ]);
}

function valuesOf(attributes: Fields, name: string): unknown[] {
  const value = Object.hasOwn(attributes, name) ? attributes[name] : undefined;
  if (Array.isArray(value)) return value;
  return value === undefined || value === null ? [] : [value];
}

function isEmpty(value: unknown): boolean {
  return typeof value !== 'object' || value === null || Object.keys(value).length === 0;
}
