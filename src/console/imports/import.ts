/** One import: progress, speed, mails, users, organizations, who did what. */
import { violationsOf } from '../../contract/causes.ts';
import { type Answer, requestOf } from '../../contract/client.ts';
import type { Causes, Counts, RatePoint } from '../../contract/import-types.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { fieldName, type Item, open, type Progress, type Result, settled, stateOf, userPath } from '../shapes.ts';
import {
  badge,
  bar,
  type Choice,
  count,
  crumb,
  duration,
  importBadge,
  list,
  notice,
  numbers,
  pages,
  percent,
  selectField,
  table,
  time,
  widths,
} from '../shell/blocks.ts';
import { type LiveState, liveMark } from '../shell/live.ts';
import type { ConsoleUrl } from '../shell/show.ts';
import { FIX } from '../texts/fix.ts';
import { EVENTS, ONE } from '../texts/import.ts';
import { IMPORTS, ITEM_STATES, KEPT } from '../texts/imports.ts';
import { problemText } from '../texts/problems.ts';
import { DIFFERENT, SIGN_INS, WHY } from '../texts/sign-ins.ts';
import { type ActionName, actionsFor } from './actions.ts';
import { chart, chartState } from './chart.ts';
import { causeList } from './fix.ts';
import { signInsCard, sinceCard, wayChoices } from './sign-ins.ts';

/** Organizations that are shown. */
const MOST = 50;

export interface OneView {
  result: Result;
  points: RatePoint[];
  /** Why users failed, of an import that is at rest. */
  causes: Causes | undefined;
  /** Of an import that has written users. */
  since: Answer<'getImportSignIns'> | undefined;
  items: ItemsView;
  events: ImportEvent[];
  names: ReadonlyMap<string, string>;
  /** The id of the person who looks. */
  userId: string;
  /** The name of a user, by id. */
  nameOf(userId: string): string;
  /** What was just done. */
  notice: string | undefined;
}

export function onePage(consoleUrl: ConsoleUrl, view: OneView): Html {
  const { result, points } = view;
  const id = result.importId;
  const next = nextAction(result);
  return html`${crumb({ href: consoleUrl('/imports'), text: IMPORTS.title })}
<div class="headline"><h1>${ONE.title(id)}</h1><div id="badge" data-swap>${importBadge(result)}</div>
${liveMark(consoleUrl(`/imports/${id}/live`), oneState(result, points).shape)}
<div class="buttons" id="actions" data-swap>${
    mayFix(result) ? html`<a class="button" href="${consoleUrl(`/imports/${id}/fix`)}">${FIX.button}</a>` : undefined
  }${actionsFor(result).map(
    ({ name, button, isDanger }) =>
      html`<a class="${['button', isDanger ? 'danger' : name === next ? '' : 'quiet'].filter(Boolean).join(' ')}" href="${consoleUrl(`/imports/${id}/${name}`)}">${button}</a>\n`,
  )}</div></div>
<div id="said"${isUnderWay(result) ? html` data-swap` : undefined}>${notice(view.notice)}</div>
<div id="notes" data-swap>${result.dryRun ? html`<p class="notice warn">${ONE.dryRun}</p>` : undefined}
${notice(waitingFor(result), 'warn')}</div>
<section class="card" id="progress" data-swap aria-label="${ONE.progress}">${bar('all', result.counts, 'tall')}
${facts(consoleUrl, result)}</section>
<div id="causes" data-swap>${causesCard(consoleUrl, result, view.causes)}</div>
<div id="sign-ins" data-swap>${signIns(consoleUrl, result)}</div>
<div id="since" data-swap>${view.since && sinceCard(view.since, (signedIn) => consoleUrl(itemsPath(`/imports/${id}`, { signedIn: String(signedIn) })))}</div>
<section class="card" id="chart" data-swap><h2>${ONE.chart}</h2>${chart(points, deadlineOf(result))}</section>
<div class="columns"><div>${itemsSection(consoleUrl, result, view.items)}</div>
<div id="side" data-swap>${organizations(result, view.names)}${events(view)}${downloads(consoleUrl, result)}${warnings(result)}</div></div>`;
}

/** The action that stands out, unless users can be corrected first. */
function nextAction(result: Result): ActionName | undefined {
  if (mayFix(result)) return undefined;
  const names = actionsFor(result).map(({ name }) => name);
  return (['resume', 'send_mails'] as const).find((name) => names.includes(name));
}

/** What waits for a worker that does not run: the import, its undo, or the mails of an import that has ended. */
function waitingFor(result: Result): string | undefined {
  const { missingRoles, mails } = result;
  if (!missingRoles) return undefined;
  const roles = missingRoles.join(', ');
  if (stateOf(result) === 'UNDOING') return ONE.missing.undo(roles);
  return missingRoles.includes('mail')
    ? ONE.missing.mails(mails.pending, count(mails.pending))
    : ONE.missing.import(roles);
}

function signIns(consoleUrl: ConsoleUrl, result: Result): Html | undefined {
  const { dryRun, importId, mails, signIn: counts } = result;
  const send = { href: consoleUrl(`/imports/${importId}/send_mails`), text: SIGN_INS.sendMails };
  return signInsCard({
    title: dryRun ? SIGN_INS.before : SIGN_INS.after,
    counts,
    hrefOf: (signIn) => consoleUrl(itemsPath(`/imports/${importId}`, { signIn })),
    ...(mails.held > 0
      ? { remediesOf: ({ causes }) => (causes.some(([cause]) => cause === 'MAILS_HELD') ? [send] : []) }
      : {}),
  });
}

/** Nobody is sent again after an undo, so there is nothing to correct. */
function mayFix(progress: Progress): boolean {
  const { counts, dryRun } = progress;
  return counts.failed > 0 && !dryRun && !['UNDOING', 'UNDONE'].includes(stateOf(progress));
}

/** Whether the page says why users failed: not while their number changes by itself. */
export function showsCauses(progress: Progress): boolean {
  return mayFix(progress) && !isUnderWay(progress);
}

/** Causes that are shown; the others have a page. */
const CAUSES_SHOWN = 5;

function causesCard(consoleUrl: ConsoleUrl, { importId }: Result, causes: Causes | undefined): Html | undefined {
  if (!causes || causes.causes.length === 0) return undefined;
  const path = `/imports/${importId}`;
  const number = causes.causes.length + causes.moreCauses;
  const all = html`<p><a href="${consoleUrl(`${path}/fix`)}">${FIX.all(count(number))}</a></p>`;
  return html`<section class="card"><h2>${FIX.heading}</h2>${causeList(consoleUrl, path, causes.causes.slice(0, CAUSES_SHOWN))}
${number > CAUSES_SHOWN ? all : undefined}</section>`;
}

/** What was just done goes on, so that the page says something else when it ends. */
function isUnderWay(result: Progress): boolean {
  return ['RUNNING', 'UNDOING'].includes(stateOf(result));
}

const FACTS = ['done', 'left', 'speed', 'succeeded', 'skipped', 'failed', 'open', 'undone'] as const;
const MAILS = ['mailsSent', 'mailsPending', 'mailsHeld', 'mailsFailed'] as const;
type FactName = (typeof FACTS)[number] | (typeof MAILS)[number];

/** What a tile shows beside its value. */
interface Tile {
  /** Whether there is something to show: a zero is not. */
  isShown: boolean;
  /** A class: `bad` or `warn` where somebody has to look. */
  look?: 'bad' | 'warn';
  /** The users of this state. */
  state?: string;
}

function tilesOf(progress: Progress): Record<FactName, Tile> {
  const { counts, mails } = progress;
  const left = open(progress);
  const isOver = !['RUNNING', 'PAUSED', 'UNDOING'].includes(stateOf(progress));
  const openState = counts.timedOut > 0 ? 'TIMED_OUT' : counts.cancelled > 0 ? 'CANCELLED' : 'PENDING';
  return {
    done: { isShown: true },
    left: { isShown: leftOf(progress) !== NONE },
    speed: { isShown: progress.usersPerSecond > 0 },
    succeeded: { isShown: true, state: 'SUCCEEDED' },
    skipped: { isShown: counts.skipped > 0, state: 'SKIPPED' },
    failed: { isShown: counts.failed > 0, look: 'bad', state: 'FAILED' },
    open: { isShown: left > 0, ...(isOver ? { look: 'warn' } : {}), state: openState },
    undone: { isShown: counts.undone > 0, state: 'UNDONE' },
    mailsSent: { isShown: mails.sent > 0 },
    mailsPending: { isShown: mails.pending > 0 },
    mailsHeld: { isShown: mails.held > 0, look: 'warn' },
    mailsFailed: { isShown: mails.failed > 0, look: 'bad' },
  };
}

/** The tiles of the page: figures that are not zero, with a colour and a link where something is wrong. */
function facts(consoleUrl: ConsoleUrl, result: Result): Html {
  const text = textOf(result);
  const tiles = tilesOf(result);
  const fact = (name: FactName) => {
    const { look, state: of } = tiles[name];
    const value = html`<span data-text="${name}">${text[name]}</span>`;
    const href = of && consoleUrl(itemsPath(`/imports/${result.importId}`, { state: of }));
    return html`<div${look && html` class="${look}"`}><dt>${ONE[name]}</dt><dd>${href ? html`<a href="${href}">${value}</a>` : value}</dd></div>\n`;
  };
  const shown = (names: readonly FactName[]) => names.filter((name) => tiles[name].isShown).map(fact);
  const mails = shown(MAILS);
  const deadline = deadlineOf(result);
  return html`<dl class="facts">${shown(FACTS)}</dl>
<dl class="facts minor wide">${result.startDate && html`<div><dt>${ONE.started}</dt><dd>${time(result.startDate)}</dd></div>`}
${deadline && html`<div><dt>${ONE.deadline}</dt><dd>${time(deadline)}</dd></div>`}</dl>
${mails.length > 0 ? html`<h2>${ONE.mails}</h2><dl class="facts">${mails}</dl>` : undefined}`;
}

type Texts = Record<FactName, string>;

/** In place of a value that is not known. */
const NONE = '–';

function textOf(progress: Progress): Texts {
  const { counts, mails, usersPerSecond } = progress;
  return {
    done: progressOf(counts),
    left: leftOf(progress),
    speed: IMPORTS.perSecond(count(Math.round(usersPerSecond))),
    succeeded: count(counts.succeeded),
    skipped: count(counts.skipped),
    failed: count(counts.failed),
    undone: count(counts.undone),
    open: count(open(progress)),
    mailsSent: count(mails.sent),
    mailsPending: count(mails.pending),
    mailsHeld: count(mails.held),
    mailsFailed: count(mails.failed),
  };
}

/** Empty while the import is paused: its time limit stands still, so that the moment of its end moves on. */
function deadlineOf(progress: Progress): string {
  return stateOf(progress) === 'PAUSED' ? '' : progress.deadline;
}

/** When it will be done; the rate says nothing about the future while nobody works on the import. */
function leftOf({ eta, missingRoles = [] }: Progress): string {
  if (missingRoles.some((role) => role === 'import' || role === 'dispatch')) return ONE.noWorker;
  return eta ? duration(Date.parse(eta) - Date.now()) : NONE;
}

/** What changes on the page while the import runs. */
export function oneState(progress: Progress, points: readonly RatePoint[]): LiveState {
  const drawn = chartState(points, deadlineOf(progress));
  const orgs = organizationsState(progress);
  const tiles = Object.entries(tilesOf(progress)).filter(([, { isShown }]) => isShown);
  return {
    // The actions, the tiles, and whether there is a chart.
    shape: `${stateOf(progress)} ${progress.missingRoles} ${points.length > 0} ${deadlineOf(progress)} ${tiles.map(([name]) => name)} ${actionsFor(progress).map(({ name }) => name)}`,
    text: {
      ...textOf(progress),
      ...orgs.text,
      ...drawn.text,
    },
    bars: { all: widths(progress.counts), ...orgs.bars },
    points: drawn.points,
    times: drawn.times,
  };
}

export interface ItemsFilter {
  state: string;
  orgId: string;
  /** What the address, the user name or the id begins with. */
  query: string;
  /** The way that the user signs in. */
  signIn: string;
  /** Whether the user has signed in since: `true` or `false`. */
  signedIn: string;
  from: string;
}

export interface ItemsView {
  items: Item[];
  next: string;
  filter: ItemsFilter;
}

const sinceChoices = (): readonly Choice[] => [
  ['', SIGN_INS.anyone],
  ['true', SIGN_INS.signedIn],
  ['false', SIGN_INS.notYet],
];

/** The users of an import, with filters, page by page. */
export function itemsSection(consoleUrl: ConsoleUrl, of: Progress, { items, next, filter }: ItemsView): Html {
  const path = `/imports/${of.importId}`;
  const link = (from: string, text: string) => ({ href: consoleUrl(itemsPath(path, { ...filter, from })), text });
  const states = Object.entries(ITEM_STATES).map(([state, { name }]): Choice => [state, name]);
  return html`<section class="card" id="items" data-swap><h2>${ONE.items}</h2>
<form class="filters" method="get" action="${consoleUrl(path)}#items">
${selectField(ONE.outcome, 'state', [['', ONE.anyState], ...states], filter.state)}
${selectField(SIGN_INS.way, 'signIn', wayChoices(), filter.signIn)}
${of.dryRun ? undefined : selectField(SIGN_INS.has, 'signedIn', sinceChoices(), filter.signedIn)}
<div><label for="query">${ONE.search}</label><input id="query" name="query" type="search" value="${filter.query}" autocomplete="off"></div>
${of.orgs.length > 1 ? orgFilter(of, filter) : undefined}
<button class="quiet">${IMPORTS.filter}</button></form>
${items.length === 0 ? html`<p class="soft">${next ? ONE.noItemsYet(count(Number(next))) : ONE.noItems}</p>` : itemTable(consoleUrl, of, items)}
${items.length > 0 ? html`<p class="soft small">${FIX.counted}</p>` : undefined}${pages(
  filter.from ? link('', ONE.firstItems) : undefined,
  next ? link(next, items.length === 0 ? ONE.searchOn : ONE.nextItems) : undefined,
)}
</section>`;
}

function orgFilter({ orgs }: Progress, { orgId: chosen }: ItemsFilter): Html {
  return html`<div><label for="orgId">${IMPORTS.organization}</label><input id="orgId" name="orgId" value="${chosen}" list="orgs" autocomplete="off">
<datalist id="orgs">${orgs.slice(0, 100).map(({ orgId }) => html`<option value="${orgId}"></option>`)}</datalist></div>`;
}

/** The list of users of an import. @param path of the import, below `/console` or from the root */
export function itemsPath(path: string, filter: Partial<ItemsFilter>): string {
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value));
  return `${path}${query.size > 0 ? `?${query}` : ''}#items`;
}

function itemTable(consoleUrl: ConsoleUrl, of: Progress, items: readonly Item[]): Html {
  const rows = items.map((item) => row(consoleUrl, of, item));
  return table(ONE.items, [numbers(ONE.row), ONE.user, ONE.outcome], rows, 'items');
}

function row(consoleUrl: ConsoleUrl, of: Progress, item: Item): Html {
  const where = of.orgs.length > 1 ? ` · ${item.orgId}` : '';
  return html`<tr><td class="number soft" data-label="${ONE.row}">${count(item.index + 1)}</td>
<td data-label="${ONE.user}"><div>${name(consoleUrl, of, item)}<div class="soft small mono">${item.userId}${where}</div></div></td>
<td data-label="${ONE.outcome}"><div>${badge(item, ITEM_STATES)}${waysOf(item)}${reasons(item).map((text) => html`<div class="small">${text}</div>`)}</div></td></tr>\n`;
}

/** The user name; of a user who was written, it leads to the page of the user. */
function name(consoleUrl: ConsoleUrl, { dryRun }: Progress, { userName, userId, state }: Item): Html {
  if (dryRun || stateOf({ state }) !== 'SUCCEEDED') return html`${userName || '–'}`;
  return html`<a href="${consoleUrl(userPath(userId))}">${userName || userId}</a>`;
}

/** How the user signs in, and what is different; a password alone is not said. */
function waysOf({ signIn }: Item): Html | undefined {
  if (!signIn || (signIn.way === 'PASSWORD' && !signIn.cause && signIn.changes.length === 0)) return undefined;
  const { way, cause, changes } = signIn;
  const why = [...(cause ? [WHY[cause]] : []), ...changes.map((change) => DIFFERENT[change])];
  return html`<div class="small">${SIGN_INS.way}: ${SIGN_INS.ways[way]}</div>${why.map((text) => html`<div class="soft small">${text}</div>`)}`;
}

/** Why the user failed, was kept, or what was changed. */
function reasons({ error, kept, changed, state }: Item): string[] {
  const violations = violationsOf(error ?? null);
  return [
    ...violations.map(({ field, description }) => FIX.ofField(fieldName(field), problemText(description))),
    ...(error && violations.length === 0 ? [problemText(error.message)] : []),
    ...(kept ? [ONE.kept(KEPT[kept] ?? kept)] : []),
    ...(changed && stateOf({ state }) === 'SUCCEEDED'
      ? [ONE.changed(changed.map((field) => fieldName(`user.${field}`)).join(', '))]
      : []),
  ];
}

export type ImportEvent = Answer<'searchEvents'>['result'][number];

/** The organizations of an import, with how far each is. */
export function organizations({ orgs }: Result, names: ReadonlyMap<string, string>): Html {
  return html`<section class="card"><h2>${ONE.organizations(orgs.length, count(orgs.length))}</h2>${list(
    orgs
      .slice(0, MOST)
      .map(
        ({ orgId, counts }) =>
          html`<div>${names.get(orgId) ?? orgId} <span class="soft small" data-text="${keyOf(orgId)}">${progressOf(counts)}</span></div>${bar(keyOf(orgId), counts)}`,
      ),
    'plain',
  )}</section>`;
}

/** What changes of the organizations while the import runs. */
function organizationsState({ orgs }: Progress): {
  text: Record<string, string>;
  bars: Record<string, number[]>;
} {
  const shown = orgs.slice(0, MOST);
  return {
    text: Object.fromEntries(shown.map(({ orgId, counts }) => [keyOf(orgId), progressOf(counts)])),
    bars: Object.fromEntries(shown.map(({ orgId, counts }) => [keyOf(orgId), widths(counts)])),
  };
}

/** The name of an organization's text and bar in live updates. */
function keyOf(orgId: string): string {
  return `org.${orgId}`;
}

function progressOf(counts: Counts): string {
  return IMPORTS.of(percent(settled(counts), counts.total), count(counts.total));
}

/** Who did what. */
function events({ events: all, userId, nameOf }: OneView): Html {
  const who = ({ actor }: ImportEvent) =>
    actor.id === userId ? ONE.you : actor.id === undefined || actor.kind === 'system' ? ONE.system : nameOf(actor.id);
  return html`<section class="card"><h2>${ONE.events}</h2>
${
  all.length === 0
    ? html`<p class="soft">${ONE.noEvents}</p>`
    : html`<ol class="log">${all.map(
        (event) =>
          html`<li><span><strong>${who(event)}</strong> ${EVENTS[event.type] ?? event.type}</span>${time(event.creationDate)}</li>\n`,
      )}</ol>`
}</section>`;
}

function downloads(consoleUrl: ConsoleUrl, { importId }: Result): Html {
  const href = (format: 'csv' | 'ndjson') =>
    consoleUrl(`/api${requestOf('getImportReport', { importId }, { query: { format } }).path}`);
  return html`<section class="card"><h2>${ONE.downloads}</h2><p class="buttons">
${(['csv', 'ndjson'] as const).map((format) => html`<a class="button quiet small" href="${href(format)}" download>${format.toUpperCase()}</a>\n`)}</p></section>`;
}

function warnings({ warnings: all, webhook }: Result): Html {
  const fields = all.filter((w) => w.path);
  const others = all.filter((w) => !fields.includes(w));
  return html`${
    all.length === 0
      ? undefined
      : html`<section class="card"><h2>${ONE.warnings}</h2>${others.map((w) => html`<p>${w.message}</p>`)}${
          fields.length === 0
            ? undefined
            : html`<p class="soft">${ONE.fields}</p>${list(
                fields.map(
                  (w) =>
                    html`<code>${w.path}</code>${w.count ? html` <span class="soft small">${ONE.ignored(count(w.count))}</span>` : undefined}`,
                ),
                'plain',
              )}`
        }</section>`
  }${webhook && html`<section class="card"><h2>${ONE.webhook}</h2><p>${webhook.state}${webhook.lastError && html`: ${webhook.lastError}`}</p></section>`}`;
}
