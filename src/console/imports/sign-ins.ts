/** How the users of an import sign in: on the page Decide before it, on its own page afterwards. */
import type { Answer } from '../../contract/client.ts';
import {
  changesIn,
  countPasskeys,
  type GroupedSignIns,
  groupSignIns,
  type SignInCounts,
  type UnknownLink,
  WAYS,
  type Way,
} from '../../contract/sign-in.ts';
import { type Html, html } from '../../platform/text/html.ts';
import type { Summary } from '../../sources/summary.ts';
import { type Choice, count, list, numbers, table, time } from '../shell/blocks.ts';
import { DIFFERENT, SIGN_INS as TEXTS, WHY } from '../texts/sign-ins.ts';

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
  /** The form that adds a provider for these links; undefined: the person may not. */
  setUpHref?(link: UnknownLink): string | undefined;
  /** What the export does not contain. */
  missing?: Summary['missing'] | undefined;
  /** What else keeps users out. */
  more?: Html | undefined;
  title: string;
}

/** The columns of the table that are not always there. */
interface Has {
  why: boolean;
  remedies: boolean;
}

/** The counts in the order in which people ask, with the lists of the users; nothing where no user is imported. */
export function signInsCard(view: SignInsView): Html | undefined {
  const { counts, title } = view;
  const groups = counts ? groupSignIns(counts) : [];
  if (!counts || groups.every(({ users }) => users === 0)) return undefined;
  const shown = groups.filter(({ users }) => users > 0);
  // A column in which no row says anything is left out.
  const has: Has = {
    why: shown.some(({ causes }) => causes.length > 0),
    remedies: shown.some((group) => (view.remediesOf?.(group) ?? []).length > 0),
  };
  const rows = shown.map((group) => row(view, group, has));
  const columns = [
    numbers(TEXTS.users),
    TEXTS.how,
    ...(has.why ? [TEXTS.why] : []),
    ...(has.remedies ? [TEXTS.remedies] : []),
  ];
  return html`<section class="card" aria-labelledby="sign-ins-title"><h2 id="sign-ins-title">${title}</h2>
<dl class="facts">${groups.map(({ name, users }) => html`<div><dt>${TEXTS.groups[name]}</dt><dd>${count(users)}</dd></div>\n`)}</dl>
${table(title, columns, rows, 'ways-table')}
${view.more}${changes(counts)}${passkeyNote(counts)}${unknownLinks(view, counts)}${missingNotes(view.missing)}</section>`;
}

/** Days in the table; the chart has all of them. */
const DAYS = 31;
const WIDTH = 600;
const HEIGHT = 120;

/** Who has signed in since, by day, with the lists of those who have and who have not. */
export function sinceCard(since: Answer<'getImportSignIns'>, hrefOf: (signedIn: boolean) => string): Html {
  const { signedIn, notYet, days } = since;
  const fact = (name: string, users: number, has: boolean) =>
    html`<div><dt>${name}</dt><dd>${users > 0 ? html`<a href="${hrefOf(has)}">${count(users)}</a>` : '0'}</dd></div>\n`;
  return html`<section class="card" aria-labelledby="since-title"><h2 id="since-title">${TEXTS.since}</h2>
<dl class="facts">${fact(TEXTS.signedIn, signedIn, true)}${fact(TEXTS.notYet, notYet, false)}</dl>
${since.mails && mailFacts(since.mails)}${days.length > 1 ? curve(since) : undefined}${days.length > 0 ? dayTable(since) : undefined}</section>`;
}

/** The mails to those who have not signed in. */
function mailFacts({ askedAt, state, users, sent, failed }: NonNullable<Answer<'getImportSignIns'>['mails']>): Html {
  const facts = [
    [TEXTS.mailed, count(users)],
    [TEXTS.mailsSent, count(sent)],
    [TEXTS.mailsFailed, count(failed)],
  ];
  return html`<h3>${TEXTS.mailsTitle}</h3><dl class="facts minor">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>\n`)}</dl>
<p class="soft small">${TEXTS.asked} ${time(askedAt)}${state === 'STOPPED' ? html` · ${TEXTS.stopped}` : undefined}</p>`;
}

/** How many had signed in at the end of each day, from the first to the last. */
function curve({ signedIn, notYet, days }: Answer<'getImportSignIns'>): Html {
  const [first, last] = [days[0], days.at(-1)];
  if (!first || !last) return html``;
  const from = Date.parse(first.day);
  const span = Math.max(1, Date.parse(last.day) - from);
  let users = 0;
  const spots = days.map(({ day, ways }) => {
    const more = usersOf(ways);
    users += more;
    const x = Math.round(((Date.parse(day) - from) / span) * WIDTH);
    return {
      x,
      y: Math.round((1 - users / (signedIn + notYet)) * HEIGHT),
      text: TEXTS.onDay(day, count(more), count(users)),
    };
  });
  const points = spots.map(({ x, y }) => `${x},${y}`);
  const label = TEXTS.curve(count(signedIn), count(signedIn + notYet), first.day, last.day);
  return html`<div class="chart">
<div class="scale small soft" aria-hidden="true"><span>${count(signedIn + notYet)}</span><span>0</span></div>
<svg role="img" aria-label="${label}" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none">
<path class="grid" d="M0 .5H${WIDTH}M0 ${HEIGHT - 0.5}H${WIDTH}"/>
<polygon points="0,${HEIGHT} ${points.join(' ')} ${WIDTH},${HEIGHT}"/><polyline points="${points.join(' ')}"/>${spots.map((spot, i) => hover(spots[i - 1], spot, spots[i + 1]))}</svg>
<div class="times small soft" aria-hidden="true"><span>${first.day} UTC</span><span>${last.day} UTC</span></div></div>`;
}

interface Spot {
  x: number;
  text: string;
}

/** The part of the chart around a day, which says its values below the pointer, without a script. */
function hover(before: Spot | undefined, { x, text }: Spot, after: Spot | undefined): Html {
  const from = before ? (before.x + x) / 2 : 0;
  const to = after ? (after.x + x) / 2 : WIDTH;
  return html`<rect class="hover" x="${from}" y="0" width="${to - from}" height="${HEIGHT}"><title>${text}</title></rect>`;
}

function dayTable({ ways, days }: Answer<'getImportSignIns'>): Html {
  const used = WAYS.filter((way) => ways[way] !== undefined);
  const cell = (of: typeof ways) => (way: Way) =>
    html`<td class="number" data-label="${TEXTS.ways[way]}">${count(of[way] ?? 0)}</td>`;
  const rows = days
    .slice(-DAYS)
    .map(({ day, ways: of }) => html`<tr><td data-label="${TEXTS.day}">${day}</td>${used.map(cell(of))}</tr>\n`);
  return table(TEXTS.since, [TEXTS.day, ...used.map((way) => numbers(TEXTS.ways[way]))], rows, 'days-table');
}

function usersOf(ways: Answer<'getImportSignIns'>['ways']): number {
  return Object.values(ways).reduce((sum, users) => sum + users, 0);
}

/** The filter of a list of users, as choices of a field. */
export const wayChoices = (): readonly Choice[] => [
  ['', TEXTS.anyWay],
  ...WAYS.map((way): Choice => [way, TEXTS.ways[way]]),
];

/** In a list of a phone, a cell with nothing to say is left out. */
const NONE = html`<span class="none">–</span>`;

function row({ hrefOf, remediesOf }: SignInsView, group: GroupedSignIns, has: Has): Html {
  const { name, users, ways, causes } = group;
  const how = ways.map(
    ([way, n]) => html`<a href="${hrefOf(way)}">${TEXTS.ways[way]}</a> <span class="soft small">${count(n)}</span>`,
  );
  const why = causes.map(([cause, n]) => html`${WHY[cause]} <span class="soft small">${count(n)}</span>`);
  const remedies = remediesOf?.(group) ?? [];
  return html`<tr><td class="number" data-label="${TEXTS.users}">${count(users)}</td>
<td data-label="${TEXTS.how}"><div><strong>${TEXTS.groups[name]}</strong>${list(how, 'plain')}</div></td>
${has.why ? html`<td data-label="${TEXTS.why}">${why.length > 0 ? list(why, 'plain') : NONE}</td>` : undefined}
${
  has.remedies
    ? html`<td data-label="${TEXTS.remedies}">${
        remedies.length > 0
          ? html`<div class="buttons">${remedies.map(({ href, text }) => html`<a class="button quiet small" href="${href}">${text}</a>\n`)}</div>`
          : NONE
      }</td>`
    : undefined
}</tr>\n`;
}

function changes(counts: SignInCounts): Html | undefined {
  const all = changesIn(counts);
  if (all.length === 0) return undefined;
  const items = all.map(([change, n]) => html`<strong>${count(n)}</strong> ${DIFFERENT[change]}`);
  return html`<h3>${TEXTS.different}</h3>${list(items, 'plain')}`;
}

/** How many passkeys come along, and how many of them work here. */
function passkeyNote({ passkeys }: SignInCounts): Html | undefined {
  const counts = countPasskeys(passkeys);
  if (!counts) return undefined;
  const { here, domain, elsewhere, otherDomain } = counts;
  const works = here > 0 && TEXTS.passkeysHere(here, count(here), domain);
  const fails = elsewhere > 0 && TEXTS.passkeysElsewhere(elsewhere, count(elsewhere), otherDomain ?? '');
  return html`<p>${[works, fails].filter(Boolean).join(' ')}</p>`;
}

/** The links that lead to no provider yet, and what to add. */
function unknownLinks({ setUpHref }: SignInsView, { links = [], moreLinks = 0 }: SignInCounts): Html | undefined {
  if (links.length === 0) return undefined;
  const items = links.map((link) => {
    const { name, users, preset } = link;
    const href = setUpHref?.(link);
    const hint = preset && html` <span class="soft small">${TEXTS.preset(preset)}</span>`;
    const button = html` <a class="button quiet small" href="${href}">${TEXTS.setUp}<span class="sr"> ${name}</span></a>`;
    return html`<strong>${count(users)}</strong> ${name}${href ? button : hint}`;
  });
  const more = moreLinks > 0 ? html`<p class="soft small">${TEXTS.moreLinks(count(moreLinks))}</p>` : undefined;
  return html`<h3>${TEXTS.unknownLinks}</h3>${list(items, 'plain')}${more}`;
}

function missingNotes(missing: SignInsView['missing'] = []): Html | undefined {
  if (missing.length === 0) return undefined;
  const items = missing.map(({ message, remedy }) => html`${message}<div class="soft small">${remedy}</div>`);
  return html`<h3>${TEXTS.missing}</h3>${list(items, 'plain')}`;
}
