/** One import: progress, speed, mails, users, organizations, who did what. */
import { violationsOf } from '../../contract/causes.ts';
import { type Answer, requestOf } from '../../contract/client.ts';
import type { Counts, RatePoint } from '../../contract/import-types.ts';
import { CAUSES, CHANGES } from '../../contract/sign-in.ts';
import { type Html, html } from '../../platform/html/html.ts';
import { fieldName, type Item, open, type Progress, type Result, settled, stateOf, userPath } from '../shapes.ts';
import {
  badge,
  bar,
  type Choice,
  clock,
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
import { SIGN_INS } from '../texts/sign-ins.ts';
import { actionsFor } from './actions.ts';
import { signInsCard, sinceCard, WAY_CHOICES } from './sign-ins.ts';

const WIDTH = 600;
const HEIGHT = 120;
/** The table for screen readers shows every point of a short import, and evenly chosen ones of a long one. */
const TABLE_ROWS = 30;

/** Organizations that are shown. */
const MOST = 50;

export interface OneView {
  result: Result;
  points: RatePoint[];
  /** Of an import that has written users. */
  since: Answer<'getImportSignIns'> | undefined;
  items: ItemsView;
  events: ImportEvent[];
  names: ReadonlyMap<string, string>;
  /** The id of the person who looks. */
  userId: string;
  /** What was just done. */
  notice: string | undefined;
}

export function onePage(consoleUrl: ConsoleUrl, view: OneView): Html {
  const { result, points } = view;
  const id = result.importId;
  return html`${crumb({ href: consoleUrl('/imports'), text: IMPORTS.title })}
<div class="headline"><h1>${ONE.title(id)}</h1><div id="badge" data-swap>${importBadge(result)}</div>
${liveMark(consoleUrl(`/imports/${id}/live`), oneState(result, points).shape)}
<div class="buttons" id="actions" data-swap>${
    result.counts.failed > 0 && !result.dryRun
      ? html`<a class="button" href="${consoleUrl(`/imports/${id}/fix`)}">${FIX.button}</a>`
      : undefined
  }${actionsFor(result).map(
    ({ name, button, isDanger }) =>
      html`<a class="button ${isDanger ? 'danger' : 'quiet'}" href="${consoleUrl(`/imports/${id}/${name}`)}">${button}</a>\n`,
  )}</div></div>
<div id="said"${isUnderWay(result) ? html` data-swap` : undefined}>${notice(view.notice)}</div>
<div id="notes" data-swap>${result.dryRun ? html`<p class="notice warn">${ONE.dryRun}</p>` : undefined}
${result.missingRoles && html`<p class="notice warn">${ONE.missingRoles(result.missingRoles.join(', '))}</p>`}</div>
<section class="card" id="progress" data-swap aria-label="${ONE.progress}">${bar('all', result.counts, 'tall')}
${facts(result)}</section>
<div id="sign-ins" data-swap>${signIns(consoleUrl, result)}</div>
<div id="since" data-swap>${view.since && sinceCard(view.since, (signedIn) => consoleUrl(itemsPath(`/imports/${id}`, { signedIn: String(signedIn) })))}</div>
<section class="card" id="chart" data-swap><h2>${ONE.chart}</h2>${chart(points)}</section>
<div class="columns"><div>${itemsSection(consoleUrl, result, view.items)}</div>
<div id="side" data-swap>${organizations(result, view.names)}${events(view.events, view.userId)}${downloads(consoleUrl, result)}${warnings(result)}</div></div>`;
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

/** What was just done goes on, so that the page says something else when it ends. */
function isUnderWay(result: Result): boolean {
  return ['RUNNING', 'UNDOING'].includes(stateOf(result));
}

const FACTS = ['done', 'left', 'speed', 'succeeded', 'skipped', 'failed', 'open', 'undone'] as const;
const MAILS = ['mailsSent', 'mailsPending', 'mailsHeld', 'mailsFailed'] as const;

function facts(result: Result): Html {
  const text = textOf(result);
  const fact = (name: keyof typeof text) =>
    html`<div><dt>${ONE[name]}</dt><dd data-text="${name}">${text[name]}</dd></div>\n`;
  const isUndo = ['UNDOING', 'UNDONE'].includes(stateOf(result));
  return html`<dl class="facts">${FACTS.filter((name) => name !== (isUndo ? 'open' : 'undone')).map(fact)}</dl>
<dl class="facts minor wide"><div><dt>${ONE.started}</dt><dd>${time(result.startDate)}</dd></div>
<div><dt>${ONE.deadline}</dt><dd data-text="deadline">${text.deadline}</dd></div></dl>
<h2>${ONE.mails}</h2><dl class="facts minor">${MAILS.map(fact)}</dl>`;
}

type Texts = Record<(typeof FACTS)[number] | (typeof MAILS)[number] | 'deadline', string>;

function textOf(progress: Progress): Texts {
  const { counts, mails, usersPerSecond, deadline } = progress;
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
    deadline: `${deadline.slice(0, 10)} ${deadline.slice(11, 16)} UTC`,
  };
}

/** When it will be done; the rate says nothing about the future while nobody works on the import. */
function leftOf({ eta, missingRoles = [] }: Progress): string {
  if (missingRoles.some((role) => role === 'import' || role === 'dispatch')) return ONE.noWorker;
  return eta ? duration(Date.parse(eta) - Date.now()) : '–';
}

/** What changes on the page while the import runs. */
export function oneState(progress: Progress, points: readonly RatePoint[]): LiveState {
  const { line, area, max } = draw(points);
  const end = points.at(-1)?.at.slice(11, 19);
  const orgs = organizationsState(progress);
  return {
    // The actions, and whether there is a chart.
    shape: `${stateOf(progress)} ${progress.missingRoles} ${points.length > 0} ${progress.counts.failed > 0} ${actionsFor(progress).map(({ name }) => name)}`,
    text: {
      ...textOf(progress),
      ...orgs.text,
      'chart.max': count(max),
      'chart.half': count(max / 2),
      ...(end ? { 'chart.end': `${end} UTC` } : {}),
    },
    bars: { all: widths(progress.counts), ...orgs.bars },
    points: { 'chart.line': line, 'chart.area': area },
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

const SINCE: readonly Choice[] = [
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
${selectField(SIGN_INS.way, 'signIn', WAY_CHOICES, filter.signIn)}
${of.dryRun ? undefined : selectField(SIGN_INS.has, 'signedIn', SINCE, filter.signedIn)}
<div><label for="query">${ONE.search}</label><input id="query" name="query" type="search" value="${filter.query}" autocomplete="off"></div>
${of.orgs.length > 1 ? orgFilter(of, filter) : undefined}
<button class="quiet">${IMPORTS.filter}</button></form>
${items.length === 0 ? html`<p class="soft">${next ? ONE.noItemsYet(count(Number(next))) : ONE.noItems}</p>` : itemTable(consoleUrl, of, items)}
${pages(
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
  const why = [...(cause ? [CAUSES[cause]] : []), ...changes.map((change) => CHANGES[change])];
  return html`<div class="small">${SIGN_INS.way}: ${SIGN_INS.ways[way]}</div>${why.map((text) => html`<div class="soft small">${text}</div>`)}`;
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

interface Drawing {
  line: string;
  area: string;
  max: number;
}

/** Where the last interval is shorter than this share of the one before it, their users are counted together. */
const SHORT = 0.5;

/**
 * The points with the last interval, which ends now or with the import, as a part of the one before it if it is short: a
 * batch that ends in it would be a peak that the import never had.
 */
function evened(points: readonly RatePoint[]): readonly RatePoint[] {
  const [before, last] = points.slice(-2);
  if (!before || !last || last.seconds >= before.seconds * SHORT || isAfterGap(before, last)) return points;
  const seconds = before.seconds + last.seconds;
  const succeeded = before.succeeded + last.succeeded;
  const skipped = before.skipped + last.skipped;
  const failed = before.failed + last.failed;
  const usersPerSecond = Math.round(((succeeded + skipped + failed) / seconds) * 10) / 10;
  return [...points.slice(0, -2), { at: last.at, seconds, succeeded, skipped, failed, usersPerSecond }];
}

/** When the interval of a point begins, in ms: the import ran in it without a break. */
function beginOf({ at, seconds }: RatePoint): number {
  return Date.parse(at) - seconds * 1000;
}

/** Whether the import did not run between two points: paused, or ended and started again. Times are rounded. */
function isAfterGap(before: RatePoint, point: RatePoint): boolean {
  return beginOf(point) - Date.parse(before.at) > 1000;
}

/** Points of the line and the area, over the time since the import began; nobody was imported while it stood still. */
function draw(given: readonly RatePoint[]): Drawing {
  const points = evened(given);
  const max = niceMax(Math.max(0, ...points.map((p) => p.usersPerSecond)));
  const [first, last] = [points[0], points.at(-1)];
  const begin = first ? beginOf(first) : 0;
  const total = (last ? Date.parse(last.at) : 0) - begin || 1;
  const spot = (ms: number, rate: number) =>
    `${round(((ms - begin) / total) * WIDTH)},${round(HEIGHT - (rate / max) * HEIGHT)}`;
  const line = points.flatMap((point, i) => {
    const before = points[i - 1];
    const rate = point.usersPerSecond;
    const end = spot(Date.parse(point.at), rate);
    if (!before) return [spot(begin, rate), end];
    if (!isAfterGap(before, point)) return [end];
    return [spot(Date.parse(before.at), 0), spot(beginOf(point), 0), spot(beginOf(point), rate), end];
  });
  const all = line.length > 0 ? line : [`0,${HEIGHT}`];
  return { line: all.join(' '), area: `0,${HEIGHT} ${all.join(' ')} ${WIDTH},${HEIGHT}`, max };
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** 1, 2 or 5 times a power of ten. */
function niceMax(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return ([1, 2, 5, 10].find((step) => step * power >= value) ?? 10) * power;
}

/**
 * The speed of an import over time as a drawing of the server, which needs no script; with a table for screen readers.
 * Live updates replace its points.
 */
function chart(points: readonly RatePoint[]): Html {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return html`<p class="soft">${ONE.noChart}</p>`;
  const { line, area, max } = draw(points);
  const label = ONE.chartLabel(count(max), clock(first.at), clock(last.at));
  return html`<div class="chart">
<div class="scale small soft" aria-hidden="true"><span data-text="chart.max">${count(max)}</span><span data-text="chart.half">${count(max / 2)}</span><span>0</span></div>
<svg role="img" aria-label="${label}" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none">
<path class="grid" d="M0 .5H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT - 0.5}H${WIDTH}"/>
<polygon data-points="chart.area" points="${area}"/><polyline data-points="chart.line" points="${line}"/></svg>
<div class="times small soft" aria-hidden="true"><span>${clock(first.at)}</span><span data-text="chart.end">${clock(last.at)} UTC</span></div>
</div>
<details><summary>${ONE.chartTable}</summary><div class="scroll" tabindex="0" role="region" aria-label="${ONE.chart}">${pointTable(points)}</div></details>`;
}

function pointTable(given: readonly RatePoint[]): Html {
  const points = evened(given);
  const every = Math.ceil(points.length / TABLE_ROWS);
  const shown = points.filter((_, i) => i % every === 0 || i === points.length - 1);
  return html`<table><thead><tr><th scope="col">${ONE.time}</th><th scope="col" class="number">${ONE.chart}</th>
<th scope="col" class="number">${ONE.users}</th><th scope="col" class="number">${ONE.failed}</th></tr></thead><tbody>
${shown.map(
  (p) => html`<tr><td>${clock(p.at)}</td><td class="number">${count(p.usersPerSecond)}</td>
<td class="number">${count(p.succeeded + p.skipped + p.failed)}</td><td class="number">${count(p.failed)}</td></tr>`,
)}</tbody></table>`;
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
function events(all: readonly ImportEvent[], userId: string): Html {
  const who = ({ actor }: ImportEvent) =>
    actor.id === userId ? ONE.you : actor.kind === 'system' ? ONE.system : actor.id;
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
