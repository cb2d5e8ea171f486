/** The users of an import, with filters, page by page. */
import { type Html, html } from '../../html.ts';
import { violationsOf } from '../../imports/fix/cause.ts';
import { fieldName } from '../fix/shapes.ts';
import type { At } from '../page/at.ts';
import { count } from '../page/format.ts';
import { ONE } from '../texts/import.ts';
import { ITEM_STATES, KEPT } from '../texts/imports.ts';
import { userPath } from '../users/shapes.ts';
import { badge } from './bar.ts';
import { type Item, type Progress, stateOf } from './shapes.ts';

export interface ItemsFilter {
  state: string;
  orgId: string;
  /** What the address, the user name or the id begins with. */
  query: string;
  from: string;
}

export interface ItemsView {
  items: Item[];
  next: string;
  filter: ItemsFilter;
}

export function itemsSection(at: At, of: Progress, { items, next, filter }: ItemsView): Html {
  const path = `/imports/${of.importId}`;
  const link = (change: Partial<ItemsFilter>, text: string) =>
    html`<a href="${at(itemsPath(path, { ...filter, ...change }))}">${text}</a>\n`;
  return html`<section class="card" id="items" data-swap><h2>${ONE.items}</h2>
<form class="filters" method="get" action="${at(path)}#items">
<div><label for="state">${ONE.outcome}</label><select id="state" name="state"><option value="">${ONE.anyState}</option>
${Object.entries(ITEM_STATES).map(
  ([state, { name }]) =>
    html`<option value="${state}"${state === filter.state ? html` selected` : undefined}>${name}</option>`,
)}</select></div>
<div><label for="query">${ONE.search}</label><input id="query" name="query" type="search" value="${filter.query}" autocomplete="off"></div>
${of.orgs.length > 1 ? orgFilter(of, filter) : undefined}
<button class="quiet">Filter</button></form>
${items.length === 0 ? html`<p class="soft">${next ? ONE.noItemsYet(count(Number(next))) : ONE.noItems}</p>` : table(at, of, items)}
${next || filter.from ? html`<p class="pages">${filter.from && link({ from: '' }, ONE.firstItems)}${next && link({ from: next }, items.length === 0 ? ONE.searchOn : ONE.nextItems)}</p>` : undefined}
</section>`;
}

function orgFilter({ orgs }: Progress, { orgId: chosen }: ItemsFilter): Html {
  return html`<div><label for="orgId">Organization</label><input id="orgId" name="orgId" value="${chosen}" list="orgs" autocomplete="off">
<datalist id="orgs">${orgs.slice(0, 100).map(({ orgId }) => html`<option value="${orgId}"></option>`)}</datalist></div>`;
}

export function itemsPath(path: string, filter: ItemsFilter): string {
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value));
  return `${path}${query.size > 0 ? `?${query}` : ''}#items`;
}

function table(at: At, of: Progress, items: readonly Item[]): Html {
  return html`<table class="stack items"><caption class="sr">${ONE.items}</caption>
<thead><tr><th scope="col" class="number">${ONE.row}</th><th scope="col">${ONE.user}</th><th scope="col">${ONE.outcome}</th></tr></thead><tbody>
${items.map((item) => row(at, of, item))}</tbody></table>`;
}

function row(at: At, of: Progress, item: Item): Html {
  const where = of.orgs.length > 1 ? ` · ${item.orgId}` : '';
  return html`<tr><td class="number soft" data-label="${ONE.row}">${count(item.index + 1)}</td>
<td data-label="${ONE.user}"><div>${name(at, of, item)}<div class="soft small mono">${item.userId}${where}</div></div></td>
<td data-label="${ONE.outcome}"><div>${badge(item, ITEM_STATES)}${reasons(item).map((text) => html`<div class="small">${text}</div>`)}</div></td></tr>\n`;
}

/** The user name; of a user who was written, it leads to the page of the user. */
function name(at: At, { dryRun }: Progress, { userName, userId, state }: Item): Html {
  if (dryRun || stateOf({ state }) !== 'SUCCEEDED') return html`${userName || '–'}`;
  return html`<a href="${at(userPath(userId))}">${userName || userId}</a>`;
}

/** Why the user failed, was kept, or what was changed. */
function reasons({ error, kept, changed, state }: Item): string[] {
  const violations = violationsOf(error ?? null);
  return [
    ...violations.map(({ field, description }) => `${fieldName(field)} ${description}`),
    ...(error && violations.length === 0 ? [error.message] : []),
    ...(kept ? [ONE.kept(KEPT[kept] ?? kept)] : []),
    ...(changed && stateOf({ state }) === 'SUCCEEDED'
      ? [ONE.changed(changed.map((field) => fieldName(`user.${field}`)).join(', '))]
      : []),
  ];
}
