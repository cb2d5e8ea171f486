/**
 * Schemas and texts of the OpenAPI document as HTML: the fields of an object as a list, below each field those of the
 * object that it holds. A `$ref` is a link.
 */
import { type Html, html } from '../../platform/text/html.ts';

/** Where pages find what others name. Undefined: nothing has this name. */
export interface Links {
  schema(name: string): string | undefined;
  /** An operation, the id of an error or a schema. */
  named(name: string): string | undefined;
}

/** A schema of the document (JSON Schema 2020-12), as far as operations use it. */
export interface Schema {
  $ref?: string;
  type?: string | readonly string[];
  description?: string;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: boolean | Schema;
  propertyNames?: Schema;
  items?: Schema;
  anyOf?: readonly Schema[];
  oneOf?: readonly Schema[];
  not?: Schema;
  enum?: readonly unknown[];
  const?: unknown;
  default?: unknown;
  examples?: readonly unknown[];
  format?: string;
  contentEncoding?: string;
  pattern?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  maxProperties?: number;
  writeOnly?: boolean;
}

/** What `Schema` has: pages leave nothing out that a schema says, so a test compares this with the document. */
export const KEYWORDS: readonly string[] = [
  '$ref, type, description, properties, required, additionalProperties, propertyNames, items, anyOf, oneOf, not, enum',
  'const, default, examples, format, contentEncoding, pattern, minLength, maxLength, minimum, maximum, minItems',
  'maxItems, minProperties, maxProperties, writeOnly',
].flatMap((line) => line.split(', '));

/** A schema: in words, and its fields. */
export function schemaBlock(schema: Schema, links: Links): Html {
  return html`<p class="type">${typeOf(schema, links)}</p>${prose(schema.description, links)}${fieldsOf(schema, links)}`;
}

/** A field or a parameter, as an entry of a list. */
export function fieldEntry(
  name: string,
  schema: Schema,
  { isRequired, description = schema.description }: { isRequired: boolean; description?: string | undefined },
  links: Links,
): Html {
  const required = isRequired ? html` <strong class="must">required</strong>` : undefined;
  return html`<li><code class="name">${name}</code>${required} <span class="type">${typeOf(schema, links)}</span>
${prose(description, links)}${fieldsOf(schema, links)}</li>`;
}

/** The fields of an object, of the objects in a list, and of each alternative. */
function fieldsOf(schema: Schema, links: Links): Html | undefined {
  const parts = [
    propertiesOf(schema, links),
    ...[schema.items, valuesOf(schema)].map((inner) => inner && fieldsOf(inner, links)),
    ...alternativesOf(schema).map((one) => fieldsOf(one, links)),
  ].filter((part) => part !== undefined);
  return parts.length > 0 ? html`${parts}` : undefined;
}

function propertiesOf({ properties, required = [] }: Schema, links: Links): Html | undefined {
  const fields = Object.entries(properties ?? {});
  if (fields.length === 0) return undefined;
  return html`<ul class="fields">
${fields.map(([name, field]) => html`${fieldEntry(name, field, { isRequired: required.includes(name) }, links)}\n`)}</ul>`;
}

/** The schema of the values of an object whose fields may have any name. */
function valuesOf({ additionalProperties }: Schema): Schema | undefined {
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

function alternativesOf({ anyOf = [], oneOf = [] }: Schema): readonly Schema[] {
  return [...anyOf, ...oneOf];
}

/** A type with its limits: "string, 1 to 200 characters". */
function typeOf(schema: Schema, links: Links): Html {
  if (schema.$ref !== undefined) return reference(schema.$ref, links);
  const limits = limitsOf(schema, links).map((limit) => html`, ${limit}`);
  return html`${kindOf(schema, links)}${limits}`;
}

function reference(ref: string, links: Links): Html {
  const name = ref.split('/').at(-1) as string;
  const url = links.schema(name);
  return url === undefined ? html`${name}` : html`<a href="${url}">${name}</a>`;
}

function kindOf(schema: Schema, links: Links): Html {
  const { type, items, enum: values } = schema;
  if (schema.const !== undefined) return html`always ${literal(schema.const)}`;
  if (values !== undefined) return html`one of ${joined(values.map(literal))}`;
  const alternatives = alternativesOf(schema);
  if (alternatives.length > 0)
    return joined(
      alternatives.map((one) => typeOf(one, links)),
      ' or ',
    );
  if (type === 'array' && items) return html`array of: ${typeOf(items, links)}`;
  const value = valuesOf(schema);
  if (type === 'object' && value && Object.keys(value).length > 0) return html`object of: ${typeOf(value, links)}`;
  return html`${type === undefined ? 'any value' : [type].flat().join(' or ')}`;
}

function limitsOf(schema: Schema, links: Links): (Html | string)[] {
  const { format, contentEncoding, pattern, not, propertyNames, examples } = schema;
  return [
    ...[format, contentEncoding].filter((one) => one !== undefined),
    range(schema.minLength, schema.maxLength, 'characters'),
    range(schema.minimum, schema.maximum),
    range(schema.minItems, schema.maxItems, 'items'),
    range(schema.minProperties, schema.maxProperties, 'fields'),
    pattern === undefined ? undefined : html`matches <code>${pattern}</code>`,
    not === undefined ? undefined : html`not ${typeOf(not, links)}`,
    propertyNames && isLimited(propertyNames) ? html`names: ${typeOf(propertyNames, links)}` : undefined,
    schema.writeOnly ? 'never in an answer' : undefined,
    schema.default === undefined ? undefined : html`default ${literal(schema.default)}`,
    examples === undefined ? undefined : html`such as ${joined(examples.map(literal))}`,
  ].filter((limit) => limit !== undefined);
}

/** Every name of a field is a string. */
const isLimited = (names: Schema) => Object.keys(names).some((keyword) => keyword !== 'type');

/** Limits that only say that a number is an exact integer are left out. */
function range(least: number | undefined, most: number | undefined, unit = ''): string | undefined {
  const from = least === undefined || least <= Number.MIN_SAFE_INTEGER ? undefined : least;
  const to = most === undefined || most >= Number.MAX_SAFE_INTEGER ? undefined : most;
  const after = unit && ` ${unit}`;
  if (from !== undefined && to !== undefined) return from === to ? `${to}${after}` : `${from} to ${to}${after}`;
  if (from !== undefined) return `at least ${from}${after}`;
  return to === undefined ? undefined : `at most ${to}${after}`;
}

const literal = (value: unknown) => html`<code>${typeof value === 'string' ? value : JSON.stringify(value)}</code>`;

function joined(parts: readonly Html[], between = ', '): Html {
  return html`${parts.map((part, i) => html`${i > 0 ? between : ''}${part}`)}`;
}

/** A description: paragraphs, lists of lines that begin with "- ", and code between backticks, which may be a link. */
export function prose(text: string | undefined, links: Links): Html | undefined {
  if (!text) return undefined;
  return html`${text.split(/\n{2,}/).map((block) => {
    if (!block.startsWith('- ')) return html`<p>${inline(block, links)}</p>`;
    const entries = block.slice(2).split('\n- ');
    return html`<ul>${entries.map((entry) => html`<li>${inline(entry, links)}</li>`)}</ul>`;
  })}`;
}

/** A line of a description. */
export function inline(line: string, links: Links): Html {
  const parts = line.split('`').map((part, i) => {
    if (i % 2 === 0) return html`${part}`;
    const url = links.named(part);
    return url === undefined ? html`<code>${part}</code>` : html`<a href="${url}"><code>${part}</code></a>`;
  });
  return html`${parts}`;
}

/** On a narrow screen, a path goes on below at a slash and not within a word. */
export function pathText(path: string): Html {
  return html`${path.split(/(?=\/)/).map((part, i) => (i === 0 ? html`${part}` : html`<wbr>${part}`))}`;
}
