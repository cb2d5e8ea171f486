/** The list of imports: live, with filters in the address. */
import type { Answer } from '../../contract/client.ts';
import { hidden } from '../../platform/html/forms.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { isComplete, type Progress, settled } from '../shapes.ts';
import {
  ago,
  bar,
  type Choice,
  count,
  duration,
  empty,
  importBadge,
  numbers,
  options,
  pages,
  percent,
  sourceTitle,
  table,
  widths,
} from '../shell/blocks.ts';
import { type LiveState, liveMark } from '../shell/live.ts';
import type { ConsoleUrl } from '../shell/show.ts';
import { uploadFiles } from '../shell/upload.ts';
import { IMPORT_STATES, IMPORTS } from '../texts/imports.ts';
import { guideList } from './guide.ts';

export interface ListView {
  imports: Progress[];
  next: string;
  /** How many imports the organization of the filter has. */
  counts: Answer<'listImports'>['counts'];
  filter: { state: string; orgId: string; from: string; drafts: string; dryRuns: string };
  /** The names of the organizations, by id. */
  names: ReadonlyMap<string, string>;
  /** Organizations to choose from; undefined: any id can be entered. */
  choices: string[] | undefined;
  mayCreate: boolean;
}

/** The address of the list with a filter. */
export function listPath({ state, orgId, from, drafts, dryRuns }: Partial<ListView['filter']>): string {
  const query = new URLSearchParams(
    Object.entries({ state, drafts, dryRuns, orgId, from }).filter(([, v]) => v) as [string, string][],
  );
  return `/imports${query.size > 0 ? `?${query}` : ''}`;
}

export function listPage(consoleUrl: ConsoleUrl, view: ListView): Html {
  const { imports, filter, next } = view;
  const link = (text: string, from: string) => ({ href: consoleUrl(listPath({ ...filter, from })), text });
  const none = empty(IMPORTS.noneHeading, html`<a href="${consoleUrl('/imports')}">${IMPORTS.showAll}</a>`);
  const isFiltered = Object.values(filter).some((value) => value !== '');
  return html`<div class="headline"><h1>${IMPORTS.title}</h1>
${liveMark(consoleUrl(`${listPath(filter).replace('/imports', '/imports/live')}`), listState(imports).shape)}
${view.mayCreate ? html`<div class="buttons"><a class="button" href="${consoleUrl('/imports/new')}">${IMPORTS.start}</a></div>` : undefined}</div>
${imports.length > 0 || isFiltered ? filters(consoleUrl, view) : NO_FILTERS}
<div id="list" data-swap>
${imports.length > 0 ? importTable(consoleUrl, view) : isFiltered ? none : begin(consoleUrl, view)}
${pages(filter.from ? link(IMPORTS.first, '') : undefined, next ? link(IMPORTS.next, next) : undefined)}
</div>`;
}

/** Live updates replace them when the first import begins. */
const NO_FILTERS = html`<div id="states" data-swap></div><div id="filter" data-swap></div>`;

function filters(consoleUrl: ConsoleUrl, view: ListView): Html {
  const { filter, names, choices } = view;
  const known = (choices ?? [...names.keys()]).map((id): Choice => [id, names.get(id) ?? id]);
  const select = html`<select id="orgId" name="orgId">${options([['', IMPORTS.anyOrganization], ...known], filter.orgId)}</select>`;
  const typed = html`<input id="orgId" name="orgId" value="${filter.orgId}" list="orgs" autocomplete="off" placeholder="${IMPORTS.anyOrganization}">
<datalist id="orgs">${options(known, '')}</datalist>`;
  return html`${chips(consoleUrl, view)}
<div id="filter"><form class="filters" method="get" action="${consoleUrl('/imports')}">
${hidden(Object.fromEntries(Object.entries({ state: filter.state, drafts: filter.drafts, dryRuns: filter.dryRuns }).filter(([, value]) => value)))}
<div><label for="orgId">${IMPORTS.organization}</label>${choices ? select : typed}</div>
<button class="quiet">${IMPORTS.filter}</button></form></div>`;
}

/**
 * The states with the number of their imports; a state without any is left out, unless it is chosen. Checks, which
 * import nobody, are counted apart.
 */
function chips(consoleUrl: ConsoleUrl, { filter, counts }: ListView): Html {
  const { drafts = 0, dryRuns = 0 } = counts ?? {};
  const all = Object.values(counts?.states ?? {}).reduce((sum, one) => sum + one, drafts);
  const chip = (of: Partial<typeof ALL>, name: string, imports: number, more = '') => {
    const chosen = { ...ALL, ...of };
    const isChosen = Object.entries(chosen).every(([part, value]) => filter[part as keyof typeof ALL] === value);
    const current = isChosen ? html` aria-current="true"` : undefined;
    return imports === 0 && !isChosen
      ? undefined
      : html`<li><a href="${consoleUrl(listPath({ ...filter, ...chosen, from: '' }))}"${current}>${name} <span class="small">${count(imports)}${more}</span></a></li>\n`;
  };
  return html`<div id="states" data-swap><ul class="chips" aria-label="${IMPORTS.state}">
${chip({}, IMPORTS.all, all, counts?.isCapped ? '+' : '')}${chip({ drafts: 'true' }, IMPORTS.drafts, drafts)}${Object.entries(
  IMPORT_STATES,
).map(([state, { name }]) =>
  chip({ state }, name, counts?.states[`IMPORT_STATE_${state}`] ?? 0),
)}${chip({ dryRuns: 'true' }, IMPORTS.checks, dryRuns)}</ul>${counts?.isCapped ? html`<p class="soft small">${IMPORTS.capped}</p>` : undefined}</div>`;
}

/** A chip chooses one of them. */
const ALL = { state: '', drafts: '', dryRuns: '' };

function importTable(consoleUrl: ConsoleUrl, { imports, names }: ListView): Html {
  const { caption, import: title, source, state, progress, rate, failed, started } = IMPORTS;
  const columns = [title, source, state, progress, numbers(rate), numbers(failed), started];
  const rows = nested(imports).map((one) => row(consoleUrl, one, names));
  return html`<div class="card flush">${table(caption, columns, rows, 'whole-words')}</div>`;
}

/** A check belongs under its import, if that is on the page. */
type Listed = Progress & { isNested?: boolean };

function nested(imports: readonly Progress[]): Listed[] {
  const shown = new Set(imports.map(({ importId }) => importId));
  const isChild = ({ checkOf }: Progress) => checkOf !== undefined && shown.has(checkOf);
  return imports
    .filter((one) => !isChild(one))
    .flatMap((one): Listed[] => [
      one,
      ...imports.filter(({ checkOf }) => checkOf === one.importId).map((check) => ({ ...check, isNested: true })),
    ]);
}

/** Names that are shown; of more, their number. */
const MOST_NAMES = 2;

function listed(names: readonly string[]): string {
  const more = names.length > MOST_NAMES ? ` + ${names.length - MOST_NAMES}` : '';
  return names.slice(0, MOST_NAMES).join(', ') + more;
}

/** What people know an import by: its files, or else the organizations of its users. */
function titleOf({ draft, files, orgs, checkOf, isNested }: Listed, names: ReadonlyMap<string, string>): string {
  if (isNested) return IMPORTS.check;
  if (checkOf !== undefined) return IMPORTS.checkOf(checkOf);
  const ofDraft = draft?.files.filter(({ kind }) => kind === 'users').map(({ name }) => name);
  const shown = listed(files ?? ofDraft ?? []);
  if (shown !== '') return shown;
  return orgs.length > 0 ? IMPORTS.usersOf(orgNamesOf({ orgs }, names)) : IMPORTS.empty;
}

function orgNamesOf({ orgs }: Pick<Progress, 'orgs'>, names: ReadonlyMap<string, string>): string {
  return listed(orgs.map(({ orgId }) => names.get(orgId) ?? orgId));
}

function row(consoleUrl: ConsoleUrl, one: Listed, names: ReadonlyMap<string, string>): Html {
  const { importId: id, counts, isNested } = one;
  const text = textOf(one);
  const href = consoleUrl(one.draft ? `/imports/new/${id}` : `/imports/${id}`);
  const title = titleOf(one, names);
  const isNamed = isNested || title === IMPORTS.usersOf(orgNamesOf(one, names));
  const about = [id, ...(isNamed ? [] : [orgNamesOf(one, names)])].filter(Boolean).join(' · ');
  return html`<tr${isNested ? html` class="nested"` : undefined}>
<th scope="row"><div><a href="${href}">${title}</a><div class="soft small">${about}</div></div></th>
<td data-label="${IMPORTS.source}">${one.source && !isNested ? sourceTitle(one.source) : undefined}</td>
<td data-label="${IMPORTS.state}"><div>${importBadge(one)}${one.dryRun && !isNested ? html` <span class="soft small">${IMPORTS.dryRun}</span>` : undefined}</div></td>
<td data-label="${IMPORTS.progress}"><div class="grow">${one.draft ? undefined : bar(id, counts)}<div class="small soft" data-text="${id}.done">${text.done}</div></div></td>
<td data-label="${IMPORTS.rate}" class="number">${one.draft ? undefined : html`<div><span data-text="${id}.rate">${text.rate}</span><div class="small soft" data-text="${id}.left">${text.left}</div></div>`}</td>
<td data-label="${IMPORTS.failed}" class="number" data-text="${id}.failed">${text.failed}</td>
<td data-label="${IMPORTS.started}" class="soft small"><div>${startOf(one)}</div></td></tr>\n`;
}

function startOf({ startDate, details }: Progress): Html | undefined {
  return startDate ? ago(startDate) : html`${IMPORTS.notStarted} ${ago(details.creationDate)}`;
}

function textOf(one: Progress): Record<'done' | 'rate' | 'left' | 'failed', string> {
  const { counts, usersPerSecond, eta, draft } = one;
  // Nobody has failed yet: the check of the draft, which is a row of its own, says who will.
  if (draft) return { done: filesOf(draft.files), rate: '', left: '', failed: '' };
  const done = settled(counts);
  return {
    done: `${IMPORTS.of(count(done), count(counts.total))} · ${percent(done, counts.total)}`,
    rate: IMPORTS.perSecond(count(Math.round(usersPerSecond))),
    left: eta ? IMPORTS.left(duration(Date.parse(eta) - Date.now())) : '',
    failed: count(counts.failed),
  };
}

/** The files of a draft, and how far they have arrived. */
function filesOf(files: NonNullable<Progress['draft']>['files']): string {
  const [sent, size] = files.reduce(([a, b], file) => [a + file.offset, b + file.size], [0, 0]);
  return files.length > 0 ? IMPORTS.uploaded(percent(sent, size)) : '';
}

/** What changes on the page while imports run. */
export function listState(imports: readonly Progress[]): LiveState {
  const text: Record<string, string> = {};
  for (const one of imports) {
    for (const [name, value] of Object.entries(textOf(one))) text[`${one.importId}.${name}`] = value;
  }
  return {
    shape: imports.map(({ importId, state, draft }) => `${importId}${state}${draft && isComplete(draft.files)}`).join(),
    text,
    bars: Object.fromEntries(imports.map((one) => [one.importId, widths(one.counts)])),
  };
}

/** Instead of an empty list: where to drop files, and where they come from. */
function begin(consoleUrl: ConsoleUrl, { mayCreate }: ListView): Html {
  const zone = mayCreate ? uploadFiles(consoleUrl, { importId: '', files: [], hasZone: true }) : undefined;
  return html`<h2>${IMPORTS.emptyHeading}</h2>${zone}${guideList(consoleUrl)}
<details class="card"><summary>${IMPORTS.commandLine}</summary><pre class="commands" tabindex="0"><code>${IMPORTS.commands.join('\n')}</code></pre></details>`;
}

/** The organizations of imports, of each at most as many as a page shows. */
export function orgIdsOf(imports: readonly Progress[]): string[] {
  return imports.flatMap(({ orgs }) => orgs.slice(0, 50).map(({ orgId }) => orgId));
}
