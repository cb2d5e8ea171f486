/** The list of organizations, and the form for a new one. */
import { type Html, html } from '../../html.ts';
import type { At } from '../page/at.ts';
import { headline, notice, queryOf, textField } from '../page/blocks.ts';
import { count } from '../page/format.ts';
import type { Refusal } from '../page/refusal.ts';
import { ORGS } from '../texts/organizations.ts';

export interface OrgView {
  id: string;
  name: string;
  primaryDomain: string;
}

export interface OrgList {
  orgs: readonly OrgView[];
  total: number;
  offset: number;
  /** What was searched for. */
  text: string;
  maySearch: boolean;
  mayCreate: boolean;
}

export const PAGE = 50;

export function orgPath(id: string): string {
  return `/organizations/${encodeURIComponent(id)}`;
}

export function listBody(at: At, { orgs, total, offset, text, maySearch, mayCreate }: OrgList): Html {
  const to = (from: number) => at(`/organizations${queryOf({ q: text, from: from > 0 ? String(from) : '' })}`);
  const create = mayCreate ? html`<a class="button" href="${at('/organizations/new')}">${ORGS.create}</a>` : undefined;
  const pages = html`<p class="pages">${offset > 0 ? html`<a href="${to(offset - PAGE)}">${ORGS.before}</a>` : undefined}
${offset + PAGE < total ? html`<a href="${to(offset + PAGE)}">${ORGS.next}</a>` : undefined}</p>`;
  return html`${headline(ORGS.title, undefined, create)}
${maySearch ? searchForm(at, text) : undefined}
${orgs.length === 0 ? html`<section class="card empty"><h2>${ORGS.none}</h2><p>${ORGS.noneHint}</p></section>` : table(at, orgs, total)}
${pages}`;
}

function searchForm(at: At, text: string): Html {
  return html`<form class="filters" role="search" method="get" action="${at('/organizations')}">
<div><label for="q">${ORGS.search}</label><input id="q" name="q" type="search" value="${text}" size="32" maxlength="200"></div>
<button type="submit">${ORGS.find}</button></form>`;
}

function table(at: At, orgs: readonly OrgView[], total: number): Html {
  return html`<p class="soft">${ORGS.found(count(total), total === 1)}</p>
<section class="card flush"><table class="stack"><caption class="sr">${ORGS.title}</caption>
<thead><tr><th scope="col">${ORGS.name}</th><th scope="col">${ORGS.domain}</th><th scope="col">${ORGS.id}</th></tr></thead>
<tbody>${orgs.map(
    ({ id, name, primaryDomain }) => html`<tr><th scope="row"><a href="${at(orgPath(id))}">${name}</a></th>
<td data-label="${ORGS.domain}">${primaryDomain}</td><td data-label="${ORGS.id}"><code>${id}</code></td></tr>\n`,
  )}</tbody></table></section>`;
}

export function createBody(at: At, values: Readonly<Record<string, string>>, refusal?: Refusal): Html {
  return html`${headline(ORGS.create, { href: at('/organizations'), text: ORGS.title })}
${notice(refusal?.message, 'bad')}
<form class="card confirm" method="post" action="${at('/organizations/new')}">
${textField({ name: 'name', label: ORGS.name, value: values.name, isRequired: true, wrong: refusal?.wrong('name') })}
${textField({ name: 'domain', label: ORGS.domain, value: values.domain, hint: ORGS.domainHint, wrong: refusal?.wrong('domain') })}
<p>${ORGS.createEffect}</p>
<div class="buttons"><button type="submit">${ORGS.create}</button></div></form>`;
}
