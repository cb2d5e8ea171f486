/**
 * The guides to the exports of other systems: pages of docs/sources, and a list of them with pictures for people who
 * begin. A picture is two letters of ours, as logos belong to others.
 */
import { readFile } from 'node:fs/promises';
import { Router } from 'express';
import { lexer, type Token, type Tokens } from 'marked';
import { ApiError } from '../../platform/errors.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { ownValue } from '../../platform/text/names.ts';
import { SOURCES } from '../../sources/registry.ts';
import type { ScreenDeps } from '../deps.ts';
import { headline, sourceTitle, table } from '../shell/blocks.ts';
import type { ConsoleUrl } from '../shell/show.ts';
import { GUIDES, IMPORTS } from '../texts/imports.ts';

const FOLDER = new URL('../../../docs/sources/', import.meta.url);
/** Sources that share a guide. */
const SHARED: Readonly<Record<string, string>> = { ndjson: 'csv' };

export function guideScreens({ show, consoleUrl }: ScreenDeps): Router {
  const router = Router();
  router.get('/console/guides/:source', async (req, res) => {
    const source = SOURCES.find(({ name }) => name === req.params.source);
    if (!source) throw new ApiError('NOT_FOUND', 'CONSOLE-PATH', 'This page does not exist.');
    const name = sourceTitle(source.name);
    const title = source.name in GUIDES.own ? name : GUIDES.of(name);
    const text = await readFile(new URL(`${SHARED[source.name] ?? source.name}.md`, FOLDER), 'utf8');
    const [, ...blocks] = lexer(text);
    const body = html`${headline(title, { href: consoleUrl('/imports'), text: IMPORTS.title })}
<article class="card guide">${blocks.map((token) => block(consoleUrl, token))}</article>`;
    show(req, res, { title, body });
  });
  return router;
}

/** The systems whose exports can be imported, with a link to the guide of each. */
export function guideList(consoleUrl: ConsoleUrl): Html {
  const all = SOURCES.filter(({ name }) => !(name in SHARED)).toSorted((a, b) => a.title.localeCompare(b.title, 'en'));
  return html`<section class="card"><h2>${GUIDES.title}</h2><p class="soft">${GUIDES.hint}</p>
<ul class="pictures">${all.map(
    ({ name, title }) =>
      html`<li><a href="${consoleUrl(guidePath(name))}"><span class="picture" aria-hidden="true">${initials(title)}</span>${sourceTitle(name)}</a></li>\n`,
  )}</ul></section>`;
}

function guidePath(source: string): string {
  return `/guides/${source}`;
}

/** `AI` of `ASP.NET Identity`, `Au` of `Auth0`. */
function initials(title: string): string {
  const [first = '', second] = title.replace(/\(.*| of .*/, '').match(/[A-Za-z][\w.]*/g) ?? [];
  return second ? `${first.charAt(0)}${second.charAt(0)}`.toUpperCase() : first.slice(0, 2);
}

/** The blocks of Markdown that guides have. */
const BLOCKS = {
  space: () => undefined,
  heading(to: ConsoleUrl, { text, depth, tokens }: Tokens.Heading) {
    const id = text
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-');
    const content = inside(to, tokens);
    return depth <= 2 ? html`<h2 id="${id}">${content}</h2>` : html`<h3 id="${id}">${content}</h3>`;
  },
  paragraph: (to: ConsoleUrl, { tokens }: Tokens.Paragraph) => html`<p>${inside(to, tokens)}</p>`,
  text: (to: ConsoleUrl, { tokens, text }: Tokens.Text) => html`${tokens ? inside(to, tokens) : text}`,
  code: (_: ConsoleUrl, { text }: Tokens.Code) => html`<pre tabindex="0"><code>${text}</code></pre>`,
  list(to: ConsoleUrl, { items, ordered }: Tokens.List) {
    const all = items.map(({ tokens }) => html`<li>${tokens.map((one) => block(to, one))}</li>\n`);
    return ordered ? html`<ol>${all}</ol>` : html`<ul>${all}</ul>`;
  },
  table(to: ConsoleUrl, { header, rows }: Tokens.Table) {
    const head = header.map(({ tokens }) => html`<th scope="col">${inside(to, tokens)}</th>`);
    const labels = header.map(({ text }) => text.replaceAll('`', ''));
    const body = rows.map(
      (row) =>
        html`<tr>${row.map(({ tokens }, i) => html`<td data-label="${labels[i]}"><div>${inside(to, tokens)}</div></td>`)}</tr>\n`,
    );
    return table(labels.join(', '), head, body);
  },
};

const INLINE = {
  strong: (to: ConsoleUrl, { tokens }: Tokens.Strong) => html`<strong>${inside(to, tokens)}</strong>`,
  em: (to: ConsoleUrl, { tokens }: Tokens.Em) => html`<em>${inside(to, tokens)}</em>`,
  codespan: (_: ConsoleUrl, { text }: Tokens.Codespan) => html`<code>${text}</code>`,
  text: (_: ConsoleUrl, { text }: Tokens.Text) => html`${text}`,
  escape: (_: ConsoleUrl, { text }: Tokens.Escape) => html`${text}`,
  link(to: ConsoleUrl, { href, tokens }: Tokens.Link) {
    const there = hrefIn(to, href);
    return there ? html`<a href="${there}" rel="noreferrer">${inside(to, tokens)}</a>` : html`${inside(to, tokens)}`;
  },
};

type Render = (to: ConsoleUrl, token: Token) => Html | undefined;

/** What guides do not have is shown as it is written. */
function block(to: ConsoleUrl, token: Token): Html | undefined {
  const render = ownValue(BLOCKS as unknown as Record<string, Render>, token.type);
  return render ? render(to, token) : html`<p>${token.raw}</p>`;
}

function inside(to: ConsoleUrl, tokens: readonly Token[]): Html[] {
  return tokens.map((token) => {
    const render = ownValue(INLINE as unknown as Record<string, Render>, token.type);
    return render?.(to, token) ?? html`${token.raw}`;
  });
}

/** Where a link leads; undefined to pages that the service does not have. */
function hrefIn(consoleUrl: ConsoleUrl, href: string): string | undefined {
  if (/^https:\/\/|^#/.test(href)) return href;
  const source = /^([\w-]+)\.md(#.*)?$/.exec(href);
  return source && SOURCES.some(({ name }) => name === source[1])
    ? `${consoleUrl(guidePath(String(source[1])))}${source[2] ?? ''}`
    : undefined;
}
