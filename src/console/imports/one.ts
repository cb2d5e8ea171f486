/** One import: progress, speed, mails, users, organizations, who did what. */
import { type Html, html } from '../../html.ts';
import type { At } from '../page/at.ts';
import { count, duration, percent, time } from '../page/format.ts';
import { type LiveState, liveMark } from '../page/live.ts';
import { FIX } from '../texts/fix.ts';
import { ONE } from '../texts/import.ts';
import { IMPORTS } from '../texts/imports.ts';
import { actionsFor } from './actions.ts';
import { bar, importBadge, widths } from './bar.ts';
import { chart, draw } from './chart.ts';
import type { ItemsView } from './items.ts';
import { itemsSection } from './items.ts';
import { open, type Progress, type RatePoint, type Result, settled, stateOf } from './shapes.ts';
import { downloads, events, type ImportEvent, organizations, organizationsState, warnings } from './side.ts';

export interface OneView {
  result: Result;
  points: RatePoint[];
  items: ItemsView;
  events: ImportEvent[];
  names: ReadonlyMap<string, string>;
  /** The id of the person who looks. */
  userId: string;
  /** What was just done. */
  notice: string | undefined;
}

export function onePage(at: At, view: OneView): Html {
  const { result, points, notice } = view;
  const id = result.importId;
  return html`<p class="crumb"><a href="${at('/imports')}">${IMPORTS.title}</a></p>
<div class="headline"><h1>${ONE.title(id)}</h1><div id="badge" data-swap>${importBadge(result)}</div>
${liveMark(at(`/imports/${id}/live`), oneState(result, points).shape)}
<div class="buttons" id="actions" data-swap>${
    result.counts.failed > 0 && !result.dryRun
      ? html`<a class="button" href="${at(`/imports/${id}/fix`)}">${FIX.button}</a>`
      : undefined
  }${actionsFor(result).map(
    ({ name, button, isDanger }) =>
      html`<a class="button ${isDanger ? 'danger' : 'quiet'}" href="${at(`/imports/${id}/${name}`)}">${button}</a>\n`,
  )}</div></div>
${notice && html`<p class="notice" role="status">${notice}</p>`}
<div id="notes" data-swap>${result.dryRun ? html`<p class="notice warn">${ONE.dryRun}</p>` : undefined}
${result.missingRoles && html`<p class="notice warn">${ONE.missingRoles(result.missingRoles.join(', '))}</p>`}</div>
<section class="card" id="progress" data-swap aria-label="${ONE.progress}">${bar('all', result.counts, 'tall')}
${facts(result)}</section>
<section class="card" id="chart" data-swap><h2>${ONE.chart}</h2>${chart(points)}</section>
<div class="columns"><div>${itemsSection(at, result, view.items)}</div>
<div id="side" data-swap>${organizations(result, view.names)}${events(view.events, view.userId)}${downloads(at, result)}${warnings(result)}</div></div>`;
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
  const done = settled(counts);
  return {
    done: `${percent(done, counts.total)} of ${count(counts.total)}`,
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

/** Its rate says nothing about the future while nobody works on it. */
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
