/**
 * The OpenAPI document as pages: a list of all operations, a page for each group of them, the schemas and the errors.
 *
 * Everything is in the page that the server sends, so that a browser finds it, a screen reader reads it, and no script is
 * needed.
 */
import type { ErrorId, KnownError } from '../../platform/errors.ts';
import { document, LOGO } from '../../platform/html/layout.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { answerersOf } from '../error-answers.ts';
import { casesOf, ERROR_GROUPS, ERRORS, isErrorId } from '../errors.ts';
import { type Components, type Located, type OperationObject, operationSection } from './operation.ts';
import { inline, type Links, pathText, prose, schemaBlock } from './schema.ts';

/** What the pages show of the document. */
interface Shown {
  info: { title: string; version: string; description: string };
  servers: readonly { url: string }[];
  tags: readonly { name: string; description: string }[];
  paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  components: Components;
}

/** Addresses of what a page loads, and of the pages. */
export interface Addresses {
  style: string;
  /** `/docs`, below the path of the public address. */
  docs: string;
  /** `/openapi.json` */
  source: string;
}

export interface DocsPages {
  /** By path below `/docs`: `''`, `imports`, `schemas`, `errors`. Each is rendered when it is first asked for. */
  page(path: string): string | undefined;
  /** The operations, schemas and errors that contain every word. */
  search(query: string): string;
}

/** Opens the pages of a document. */
export function openDocs(published: object, addresses: Addresses): DocsPages {
  const shown = published as Shown;
  const groups = groupsOf(shown);
  const links = linksOf(shown, groups, addresses);
  const setting = { components: shown.components, links, server: shown.servers[0]?.url ?? '' };
  const frame = (title: string, body: Html, { here, query = '' }: { here?: string; query?: string } = {}) =>
    framed(`${title} – ${shown.info.title} API`, body, { addresses, groups, here, query });

  const bodies = new Map<string, () => string>([
    ['', () => frame('Operations', overview(shown, groups, links), { here: '' })],
    ...groups.map((group): [string, () => string] => [
      group.path,
      () =>
        frame(
          group.name,
          html`<h1>${group.name}</h1>
<p>${group.description}</p>
${operationList(group.operations, links)}
${group.operations.map((one) => operationSection(one, setting))}`,
          { here: group.path },
        ),
    ]),
    [SCHEMAS, () => frame('Schemas', schemas(shown, links), { here: SCHEMAS })],
    [ERROR_PAGE, () => frame('Errors', errors(links), { here: ERROR_PAGE })],
  ]);
  return {
    page: (path) => bodies.get(path)?.(),
    search: (query) => frame('Search', found(query, shown, groups, links), { query }),
  };
}

const SCHEMAS = 'schemas';
const ERROR_PAGE = 'errors';

interface Group {
  name: string;
  description: string;
  /** `email-phone-password` */
  path: string;
  operations: readonly Located[];
}

function groupsOf({ tags, paths }: Shown): Group[] {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): Located => ({ method, path, operation })),
  );
  return tags.map(({ name, description }) => ({
    name,
    description,
    path: name.toLowerCase().replace(/[^a-z0-9]+/g, '-'),
    operations: operations.filter(({ operation }) => operation.tags[0] === name),
  }));
}

function linksOf({ components }: Shown, groups: readonly Group[], { docs }: Addresses): Links {
  const operations = new Map(
    groups.flatMap(({ path, operations: own }) =>
      own.map(({ operation: { operationId } }) => [operationId, `${docs}/${path}#${operationId}`] as const),
    ),
  );
  const schema = (name: string) => (Object.hasOwn(components.schemas, name) ? `${docs}/${SCHEMAS}#${name}` : undefined);
  const error = (name: string) => (isErrorId(name) ? `${docs}/${ERROR_PAGE}#${name}` : undefined);
  return { schema, named: (name) => operations.get(name) ?? error(name) ?? schema(name) };
}

interface FrameOptions {
  addresses: Addresses;
  groups: readonly Group[];
  here: string | undefined;
  query: string;
}

function framed(title: string, body: Html, { addresses, groups, here, query }: FrameOptions): string {
  const entry = (path: string, name: string) =>
    html`<li><a href="${addresses.docs}${path && `/${path}`}"${path === here ? html` aria-current="page"` : undefined}>${name}</a></li>\n`;
  return document(
    title,
    html`<link rel="stylesheet" href="${addresses.style}">`,
    html`<a class="skip" href="#main">Skip to content</a>
<header class="top">
<a class="brand" href="${addresses.docs}">${LOGO}<span>Muster API</span></a>
<form role="search" action="${addresses.docs}"><label class="sr" for="q">Search operations, schemas and errors</label>
<input id="q" name="q" type="search" maxlength="${QUERY_LENGTH}" value="${query}" placeholder="Search"><button type="submit">Search</button></form>
</header>
<div class="columns">
<nav aria-label="Documentation"><ul>
${entry('', 'All operations')}${groups.map(({ path, name }) => entry(path, name))}${entry(SCHEMAS, 'Schemas')}${entry(ERROR_PAGE, 'Errors')}<li><a href="${addresses.source}">openapi.json</a></li>
</ul></nav>
<main id="main" tabindex="-1">
${body}
</main>
</div>`,
  ).markup;
}

function overview({ info }: Shown, groups: readonly Group[], links: Links): Html {
  return html`<h1>${info.title} ${info.version}</h1>
${prose(info.description, links)}
${groups.map(
  ({ name, description, operations }) => html`<section>
<h2>${name}</h2>
<p>${description}</p>
${operationList(operations, links)}
</section>`,
)}`;
}

function operationList(operations: readonly Located[], links: Links): Html {
  return html`<ul class="list">
${operations.map(
  ({ method, path, operation: { operationId, summary } }) =>
    html`<li><a href="${links.named(operationId)}">${summary}</a> <span class="soft"><span class="method">${method.toUpperCase()}</span> <code>${pathText(path)}</code> ${operationId}</span></li>\n`,
)}</ul>`;
}

function schemas({ components }: Shown, links: Links): Html {
  const all = Object.entries(components.schemas).sort(([a], [b]) => a.localeCompare(b, 'en'));
  return html`<h1>Schemas</h1>
<p>What bodies and answers of several operations have in common.</p>
${all.map(
  ([name, schema]) => html`<section class="operation" id="${name}" aria-labelledby="${name}-name">
<h2 id="${name}-name"><a href="#${name}">${name}</a></h2>
${schemaBlock(schema, links)}
</section>`,
)}`;
}

function errors(links: Links): Html {
  return html`<h1>Errors</h1>
<p>Every error of the API has the body ${inline('`Error`', links)}. Its <code>id</code> is stable, so programs can match on it. Errors with status 429 and 503 have the header <code>Retry-After</code>. "What to do" is meant for the caller; what a manager, an owner, an IAM_OWNER or the operator can do follows their name.</p>
${ERROR_GROUPS.map(
  ([title, group]) => html`<h2>${title}</h2>
${Object.keys(group)
  .filter(isErrorId)
  .sort()
  .map((id) => errorSection(id, links))}`,
)}`;
}

function errorSection(id: ErrorId, links: Links): Html {
  return html`<section class="error" id="${id}" aria-labelledby="${id}-name">
<h3 id="${id}-name"><a href="#${id}"><code>${id}</code></a></h3>
${casesOf(id).map(
  ({ http, status, meaning, remedy }) =>
    html`<p><span class="soft">${http} ${status}.</span> ${inline(meaning, links)} <strong>What to do:</strong> ${inline(remedy, links)}</p>`,
)}<p class="soft">Answered by: ${inline(answerersText(id), links)}.</p>
</section>
`;
}

function answerersText(id: ErrorId): string {
  const answerers = answerersOf(id);
  const { stored }: KnownError = ERRORS[id];
  const names = typeof answerers === 'string' ? [answerers] : answerers.map((name) => `\`${name}\``);
  const stores = stored === undefined ? [] : [`stored with a ${stored === 'user' ? 'user of an import' : 'draft'}`];
  return [...names, ...stores].join(', ');
}

const QUERY_LENGTH = 200;

/** What contains every word of a query: operations by anything in them, schemas and errors by what they are and mean. */
function found(query: string, { components }: Shown, groups: readonly Group[], links: Links): Html {
  const words = query.slice(0, QUERY_LENGTH).toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (text: string) => words.length > 0 && words.every((word) => text.toLowerCase().includes(word));
  const all = groups.flatMap(({ operations }) => operations);
  const byName = ({ method, path, operation }: Located) =>
    fits(`${method} ${path} ${operation.operationId} ${operation.summary}`);
  const named = all.filter(byName);
  const inText = all.filter((one) => !byName(one) && fits(JSON.stringify(one)));
  const others = [
    ...Object.entries(components.schemas).filter(([name, schema]) => fits(name + JSON.stringify(schema))),
    ...Object.entries(ERRORS).filter(([id, error]) => fits(id + JSON.stringify(error))),
  ].map(([name]) => name);
  const count = named.length + inText.length + others.length;
  return html`<h1>Search</h1>
<p role="status">${count === 0 ? 'Nothing' : count} found for "${query}".</p>
${named.length > 0 ? html`<h2>Operations</h2>${operationList(named, links)}` : undefined}
${inText.length > 0 ? html`<h2>Operations that mention it</h2>${operationList(inText, links)}` : undefined}
${
  others.length > 0
    ? html`<h2>Schemas and errors</h2><ul class="list">${others.map((name) => html`<li>${inline(`\`${name}\``, links)}</li>\n`)}</ul>`
    : undefined
}`;
}
