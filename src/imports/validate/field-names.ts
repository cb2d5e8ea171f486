/**
 * Normalises the field names of an entry: snake_case becomes camelCase, aliases become the names of an import, null
 * becomes absent, and unknown fields are reported, never dropped silently. An entry in camelCase without nulls or
 * unknown fields is not changed.
 */

import { z } from 'zod';
import { camelCase } from '../../fields/names.ts';

/** The known fields of an object; `true` for a value, a shape for an object or the objects of an array. */
export type Shape = Map<string, Shape | true>;

/** Derives the shape from a schema, so that there is a single list of fields. */
export function shapeOf(schema: z.ZodType): Shape | true {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return shapeOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodPipe) return shapeOf(schema.out as z.ZodType);
  if (schema instanceof z.ZodArray) return shapeOf(schema.element as z.ZodType);
  if (!(schema instanceof z.ZodObject)) return true;
  return new Map(Object.entries(schema.shape).map(([key, value]) => [key, shapeOf(value as z.ZodType)]));
}

/**
 * @param value an entry as JSON.parse made it; changed in place where names differ
 * @param onUnknown called with the path of each unknown field, array indices left out: `user.hashedPassword.algorithm`
 */
export function renameFields(
  value: unknown,
  shape: Shape | true,
  path: string,
  onUnknown: (path: string) => void,
): void {
  if (shape === true || typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) renameFields(item, shape, `${path}[]`, onUnknown);
    return;
  }
  const object = value as Record<string, unknown>;
  for (const key of Object.keys(object)) {
    const known = shape.get(key) !== undefined ? key : rename(object, key, shape);
    const inner = known === undefined ? undefined : shape.get(known);
    if (known === undefined || inner === undefined) onUnknown(join(path, key));
    else if (object[known] === null)
      object[known] = undefined; // null means absent, as in the JSON format of protobuf
    else if (inner !== true) renameFields(object[known], inner, join(path, known), onUnknown);
  }
}

/**
 * Names of the calls for users (`/v2beta/users`), by what they mean in an import. Ignored, `isVerified` would send a
 * mail to each user whose address is verified.
 */
const ALIASES: Readonly<Record<string, readonly string[]>> = { isVerified: ['isEmailVerified', 'isPhoneVerified'] };

function rename(object: Record<string, unknown>, key: string, shape: Shape): string | undefined {
  const camel = camelCase(key);
  const alias = Object.hasOwn(ALIASES, camel) ? ALIASES[camel]?.find((name) => shape.has(name)) : undefined;
  const known = shape.has(camel) ? camel : alias;
  // If both spellings are given, the camelCase one counts, and the other is an unknown field.
  if (known === undefined || Object.hasOwn(object, known)) return undefined;
  object[known] = object[key];
  if (alias !== undefined) delete object[key];
  return known;
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}
