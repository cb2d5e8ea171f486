/** Reads a merge patch of an entry as a caller sent it: known fields alone, in camelCase. Pure. */
import { type ApiError, type FieldViolation, invalidArgument } from '../../errors.ts';
import { camelCase } from '../../fields/names.ts';
import { type Shape, shapeOf } from '../validate/field-names.ts';
import { importEntry } from '../validate/schema.ts';
import { storable } from '../validate/warnings.ts';

type Fields = Record<string, unknown>;
const SHAPE = shapeOf(importEntry);

/** @throws ApiError 400 IMPORT-USER-INVALID naming every field that an entry does not have */
export function readPatch(sent: Fields): Fields {
  const unknown: FieldViolation[] = [];
  const patch = renamed(sent, SHAPE, '', (field) =>
    unknown.push({ field: storable(field), description: 'is not a known field' }),
  );
  if (unknown.length > 0) throw invalidPatch(unknown);
  return patch as Fields;
}

function renamed(value: unknown, shape: Shape | true, path: string, onUnknown: (field: string) => void): unknown {
  if (shape === true || typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((element, i) => renamed(element, shape, `${path}[${i}]`, onUnknown));
  const fields: Fields = {};
  for (const [name, inner] of Object.entries(value)) {
    const field = path === '' ? name : `${path}.${name}`;
    const known = shape.has(name) ? name : camelCase(name);
    const of = shape.get(known);
    if (of === undefined || Object.hasOwn(fields, known)) onUnknown(field);
    else fields[known] = renamed(inner, of, field, onUnknown);
  }
  return fields;
}

/** 400; the message names the first fields, `violations` all. */
export function invalidPatch(violations: FieldViolation[]): ApiError {
  const first = violations.slice(0, 10).map(({ field, description }) => `${field} ${description}`);
  return invalidArgument('IMPORT-USER-INVALID', `The entry was not changed: ${first.join('; ')}.`, violations);
}
