/** How the users of an import sign in: on the page Decide before it, on its own page afterwards. */
import {
  CAUSES,
  CHANGES,
  changesIn,
  type GroupedSignIns,
  groupSignIns,
  type SignInCounts,
  WAYS,
  type Way,
} from '../../contract/sign-in.ts';
import { type Html, html } from '../../platform/html/html.ts';
import type { Summary } from '../../sources/summary.ts';
import { type Choice, count, list, numbers, table } from '../shell/blocks.ts';
import { SIGN_INS as TEXTS } from '../texts/sign-ins.ts';

/** A link to what helps. */
export interface Remedy {
  href: string;
  text: string;
}

export interface SignInsView {
  counts: SignInCounts | undefined;
  /** The list of users with this way. */
  hrefOf(way: Way): string;
  /** What can be done about the users of a group. */
  remediesOf?(group: GroupedSignIns): readonly Remedy[];
  /** What the export does not contain. */
  missing?: Summary['missing'] | undefined;
  /** What else keeps users out. */
  more?: Html | undefined;
  title: string;
}

/** The counts in the order in which people ask, with the lists of the users; nothing where no user is imported. */
export function signInsCard(view: SignInsView): Html | undefined {
  const { counts, title } = view;
  const groups = counts ? groupSignIns(counts) : [];
  if (!counts || groups.every(({ users }) => users === 0)) return undefined;
  const rows = groups.filter(({ users }) => users > 0).map((group) => row(view, group));
  const columns = [numbers(TEXTS.users), TEXTS.how, TEXTS.why, ...(view.remediesOf ? [TEXTS.remedies] : [])];
  return html`<section class="card" aria-labelledby="sign-ins-title"><h2 id="sign-ins-title">${title}</h2>
<dl class="facts">${groups.map(({ name, users }) => html`<div><dt>${TEXTS.groups[name]}</dt><dd>${count(users)}</dd></div>\n`)}</dl>
${table(title, columns, rows, 'causes-table')}
${view.more}${changes(counts)}${missingNotes(view.missing)}</section>`;
}

/** The filter of a list of users, as choices of a field. */
export const WAY_CHOICES: readonly Choice[] = [
  ['', TEXTS.anyWay],
  ...WAYS.map((way): Choice => [way, TEXTS.ways[way]]),
];

function row({ hrefOf, remediesOf }: SignInsView, group: GroupedSignIns): Html {
  const { name, users, ways, causes } = group;
  const how = ways.map(
    ([way, n]) => html`<a href="${hrefOf(way)}">${TEXTS.ways[way]}</a> <span class="soft small">${count(n)}</span>`,
  );
  const why = causes.map(([cause, n]) => html`${CAUSES[cause]} <span class="soft small">${count(n)}</span>`);
  const remedies = remediesOf?.(group) ?? [];
  return html`<tr><td class="number" data-label="${TEXTS.users}">${count(users)}</td>
<td data-label="${TEXTS.how}"><div><strong>${TEXTS.groups[name]}</strong>${list(how, 'plain')}</div></td>
<td data-label="${TEXTS.why}">${why.length > 0 ? list(why, 'plain') : '–'}</td>
${
  remediesOf &&
  html`<td data-label="${TEXTS.remedies}"><div class="buttons">${
    remedies.length > 0
      ? remedies.map(({ href, text }) => html`<a class="button quiet small" href="${href}">${text}</a>\n`)
      : '–'
  }</div></td>`
}</tr>\n`;
}

function changes(counts: SignInCounts): Html | undefined {
  const all = changesIn(counts);
  if (all.length === 0) return undefined;
  const items = all.map(([change, n]) => html`<strong>${count(n)}</strong> ${CHANGES[change]}`);
  return html`<h3>${TEXTS.different}</h3>${list(items, 'plain')}`;
}

function missingNotes(missing: SignInsView['missing'] = []): Html | undefined {
  if (missing.length === 0) return undefined;
  const items = missing.map(({ message, remedy }) => html`${message}<div class="soft small">${remedy}</div>`);
  return html`<h3>${TEXTS.missing}</h3>${list(items, 'plain')}`;
}
