/** An operation of the OpenAPI document as a section of its page, with a command that calls it. */
import { type Html, html } from '../../platform/text/html.ts';
import { fieldEntry, type Links, pathText, prose, type Schema, schemaBlock } from './schema.ts';

/** The operation object of the document, as far as it is shown. */
export interface OperationObject {
  operationId: string;
  tags: readonly string[];
  summary: string;
  description?: string;
  security?: readonly Readonly<Record<string, readonly string[]>>[];
  parameters?: readonly (Parameter | Ref)[];
  requestBody?: { required?: boolean; content: Content };
  responses: Readonly<Record<string, Answer | (Ref & { description?: string })>>;
}

interface Ref {
  $ref: string;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema: Schema;
}

interface Media {
  schema?: Schema;
  example?: unknown;
  examples?: Readonly<Record<string, { value?: unknown }>>;
}
type Content = Readonly<Record<string, Media>>;

interface Answer {
  description: string;
  headers?: Readonly<Record<string, { description?: string; schema: Schema }>>;
  content?: Content;
}

export interface Components {
  schemas: Readonly<Record<string, Schema>>;
  parameters: Readonly<Record<string, Parameter>>;
  responses: Readonly<Record<string, Answer>>;
}

/** One operation, with where it is found. */
export interface Located {
  method: string;
  path: string;
  operation: OperationObject;
}

/** What all sections of a page share. */
export interface Setting {
  components: Components;
  links: Links;
  /** The public address of the service, without a slash at its end. */
  server: string;
}

/** The section of an operation; its id is the name of the operation. */
export function operationSection({ method, path, operation }: Located, setting: Setting): Html {
  const { operationId, summary, description } = operation;
  const { links } = setting;
  const parameters = parametersOf(operation, setting);
  return html`<section class="operation" id="${operationId}" aria-labelledby="${operationId}-name">
<h2 id="${operationId}-name"><a href="#${operationId}">${summary}</a></h2>
<p class="call"><span class="method">${method.toUpperCase()}</span> <code>${pathText(path)}</code> <span class="soft">${operationId}</span></p>
${prose(description, links)}<p class="soft">${tokenText(operation)}</p>
${
  parameters.length > 0
    ? html`<h3>Parameters</h3>
<ul class="fields">
${parameters.map((one) => html`${parameterEntry(one, links)}\n`)}</ul>`
    : undefined
}${operation.requestBody && bodyPart(operation.requestBody, links)}
<h3>Call it</h3>
<pre><code>${commandOf({ method, path, operation }, parameters, setting.server)}</code></pre>
${Object.entries(operation.responses).map(([status, answer]) => answerPart(status, answer, setting))}
</section>`;
}

/** What a caller needs beside the role, which the description names. */
function tokenText({ security }: OperationObject): string {
  if (security === undefined) return 'Needs a token.';
  if (security.length === 0) return 'Needs no token.';
  return security.some((way) => Object.keys(way).length === 0)
    ? 'Needs a token, or a code.'
    : 'Needs an access token of a user.';
}

function parametersOf({ parameters = [] }: OperationObject, { components }: Setting): Parameter[] {
  return parameters.map((one) => ('$ref' in one ? (components.parameters[nameOf(one)] as Parameter) : one));
}

const nameOf = ({ $ref }: Ref) => $ref.split('/').at(-1) as string;

function parameterEntry({ name, in: place, required = false, description, schema }: Parameter, links: Links): Html {
  const where = place === 'path' ? 'In the path.' : place === 'header' ? 'A header.' : undefined;
  const text = [where, description ?? schema.description].filter(Boolean).join(' ');
  return fieldEntry(name, schema, { isRequired: required, description: text }, links);
}

function bodyPart({ required = false, content }: { required?: boolean; content: Content }, links: Links): Html {
  return html`<h3>Body${required ? '' : ' (optional)'}</h3>
${mediaParts(content, links)}`;
}

/** The schema of each media type, and its examples. */
function mediaParts(content: Content, links: Links): Html[] {
  return Object.entries(content).map(([type, media]) => {
    const examples = examplesOf(media).map(
      ([name, value]) =>
        html`<details><summary>Example${name && `: ${name}`}</summary><pre><code>${printed(value)}</code></pre></details>`,
    );
    return html`<p class="soft">${type}</p>${media.schema && schemaBlock(media.schema, links)}${examples}`;
  });
}

function examplesOf({ example, examples = {} }: Media): [name: string, value: unknown][] {
  const named = Object.entries(examples).map(([name, { value }]): [string, unknown] => [name, value]);
  return example === undefined ? named : [['', example], ...named];
}

const printed = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value, undefined, 2));

/** An answer. What an error of this status looks like is the same for all operations, so it is on the page of errors. */
function answerPart(status: string, answer: Answer | (Ref & { description?: string }), setting: Setting): Html {
  const { components, links } = setting;
  const shared = '$ref' in answer ? components.responses[nameOf(answer)] : undefined;
  const { description, headers, content } = { headers: undefined, content: undefined, ...shared, ...answer } as Answer;
  return html`<h3>${status === 'default' ? 'Any other answer' : `Answer ${status}`}</h3>
${prose(description, links)}${
  headers &&
  html`<ul class="fields">
${Object.entries(headers).map(([name, { description: text, schema }]) => fieldEntry(name, schema, { isRequired: false, description: text ?? schema.description ?? 'A header.' }, links))}</ul>`
}${content && !shared ? mediaParts(content, links) : undefined}
`;
}

/**
 * A command for a shell that calls the operation with the first example. `$TOKEN` and the ids of the path are variables
 * that its reader sets.
 */
function commandOf({ method, path, operation }: Located, parameters: readonly Parameter[], server: string): string {
  const query = parameters.filter((one) => one.in === 'query' && one.required).map(({ name }) => `${name}=$${name}`);
  const url = server + path.replace(/\{(\w+)\}/g, '$$$1') + (query.length > 0 ? `?${query.join('&')}` : '');
  const body = Object.entries(operation.requestBody?.content ?? {})[0];
  return [
    `curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}"${url}"`,
    ...(operation.security?.length === 0 ? [] : ['-H "Authorization: Bearer $TOKEN"']),
    ...(body ? dataOf(...body) : []),
  ].join(' \\\n  ');
}

/** The options of curl for a body. A form has a variable for each field. */
function dataOf(type: string, media: Media): string[] {
  if (type === 'application/x-www-form-urlencoded') {
    return Object.keys(media.schema?.properties ?? {}).map((name) => `--data-urlencode "${name}=$${name}"`);
  }
  const example = examplesOf(media)[0]?.[1] ?? {};
  return [`-H 'Content-Type: ${type}'`, `--data '${printed(example).replaceAll("'", "'\\''")}'`];
}
