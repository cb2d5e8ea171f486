/** Random values that match a JSON Schema of the document. */
import fc from '../support/fast-check.ts';
import type { Json } from './judge.ts';

/** A value that the schema allows; it may break rules outside the schema, such as between two fields. */
export function fitting(schema: Json, document: Json): fc.Arbitrary<Json> {
  if (schema.$ref) return fitting(resolve(schema.$ref, document), document);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? (Array.isArray(schema.type) ? typesOf(schema) : undefined);
  if (choices) return fc.oneof(...choices.map((choice: Json) => fitting(choice, document)));
  switch (schema.type) {
    case 'object':
      return objectOf(schema, document);
    case 'array':
      return fc.array(fitting(schema.items ?? {}, document), { minLength: schema.minItems ?? 0, maxLength: 3 });
    case 'string':
      return stringOf(schema);
    case 'integer':
      return integerOf(schema);
    case 'boolean':
      return fc.boolean();
    default:
      return fc.jsonValue({ maxDepth: 2 });
  }
}

function resolve(ref: string, document: Json): Json {
  return ref
    .slice(2)
    .split('/')
    .reduce((at, part) => at[part], document);
}

function typesOf(schema: Json): Json[] {
  return schema.type.map((type: string) => ({ ...schema, type }));
}

function objectOf(schema: Json, document: Json): fc.Arbitrary<Json> {
  const shape = Object.entries<Json>(schema.properties ?? {}).map(([name, s]) => [name, fitting(s, document)] as const);
  if (schema.maxProperties === 1) return fc.oneof(...shape.map(([name, value]) => fc.record({ [name]: value })));
  return fc.record(Object.fromEntries(shape), { requiredKeys: schema.required ?? [] });
}

function integerOf({ minimum, maximum }: Json): fc.Arbitrary<number> {
  const min = Math.max(minimum ?? -(2 ** 53 - 1), -(2 ** 53 - 1));
  const max = Math.min(maximum ?? 2 ** 53 - 1, 2 ** 53 - 1);
  return fc.oneof(fc.integer({ min, max: Math.min(max, min + 20) }), fc.integer({ min, max }));
}

const MOMENT = fc.date({
  min: new Date('2098-01-01T00:00:00Z'),
  max: new Date('2099-01-01T00:00:00Z'),
  noInvalidDate: true,
});

function stringOf(schema: Json): fc.Arbitrary<string> {
  const { examples, format, contentEncoding, pattern, minLength = 0, maxLength = 30 } = schema;
  if (format === 'date-time') return MOMENT.map((date) => date.toISOString());
  const shown = examples ? [fc.constantFrom<string>(...examples)] : [];
  if (format === 'idn-email') shown.push(fc.emailAddress().filter((s) => s.length <= maxLength));
  else if (contentEncoding) shown.push(fc.base64String({ minLength: 4, maxLength: 40 }));
  else if (pattern) shown.push(matching(pattern, maxLength));
  else if (shown.length === 0) shown.push(textOf(minLength, maxLength));
  return fc.oneof(...shown);
}

/** Values cannot be generated from patterns with a lookahead. */
function matching(pattern: string, maxLength: number): fc.Arbitrary<string> {
  const expression = new RegExp(pattern);
  if (pattern.includes('(?!')) return textOf(1, maxLength).filter((s) => expression.test(s));
  return fc.stringMatching(expression).filter((s) => [...s].length <= maxLength);
}

function textOf(minLength: number, maxLength: number): fc.Arbitrary<string> {
  const word = fc.string({ minLength, maxLength: Math.min(maxLength, 20) });
  const anyText = fc.string({ unit: 'binary', minLength, maxLength: Math.min(maxLength, 20) });
  return fc.oneof(
    { arbitrary: word, weight: 4 },
    { arbitrary: anyText.map((s) => s.replaceAll('\0', '-')), weight: 2 },
    { arbitrary: fc.constant('ß'.repeat(maxLength)), weight: 1 },
  );
}

/** An example with some values replaced by other valid ones, and some left out: most of these are accepted. */
export function varied(example: Json, schema: Json, document: Json): fc.Arbitrary<Json> {
  const coins = fc.array(fc.boolean(), { minLength: 50, maxLength: 50 });
  return fc.tuple(fitting(schema, document), coins).map(([other, list]) => {
    let tossed = 0;
    return blend(example, other, () => list[tossed++ % list.length] ?? false);
  });
}

function blend(example: Json, other: Json, coin: () => boolean): Json {
  if (Array.isArray(example) || typeof example !== 'object' || example === null) {
    return typeof example === typeof other && !Array.isArray(example) && coin() ? other : example;
  }
  const kept = Object.entries<Json>(example).filter(([key]) => Object.hasOwn(other ?? {}, key) || coin());
  return Object.fromEntries(kept.map(([key, value]) => [key, blend(value, other?.[key], coin)]));
}
