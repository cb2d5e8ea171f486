/** The screens that fix an import: its causes, the users of a cause with editable cells, a remedy for all of them. */
import { type Request, type Response, Router } from 'express';
import { causesOf, LEAVING_OUT, violationsOf } from '../../contract/causes.ts';
import { requestOf } from '../../contract/client.ts';
import type { Causes, CountedCause, Counts, FixAnswer, ItemView } from '../../contract/import-types.ts';
import { REMEDIES as REMEDY_NAMES, type Remedy } from '../../contract/remedies.ts';
import { ApiError } from '../../platform/errors.ts';
import { field, hidden, text } from '../../platform/html/forms.ts';
import { type Html, html } from '../../platform/text/html.ts';
import type { Api } from '../api.ts';
import type { ScreenDeps } from '../deps.ts';
import { sessionOf } from '../session.ts';
import { editableField, fieldName, importOf, nameOfCause, patchOf, textIn } from '../shapes.ts';
import { count, crumb, type Link, list, notice, numbers, state, table } from '../shell/blocks.ts';
import type { ConsoleUrl } from '../shell/show.ts';
import { FIX, REMEDIES } from '../texts/fix.ts';
import { ONE } from '../texts/import.ts';
import { problemText } from '../texts/problems.ts';
import { sentAgain } from './actions.ts';

const ROWS = 25;
/** Failed users that are read at most to find those of a cause. */
const PAGES = 10;
const PAGE_SIZE = 1000;

export function fixScreens(deps: ScreenDeps): Router {
  const { show, consoleUrl } = deps;
  const router = Router();
  router.get('/console/imports/:importId/fix', async (req, res) => {
    const id = String(req.params.importId);
    const { api } = sessionOf(res);
    const [causes, outcomes] = await Promise.all([readCauses(api, req), readOutcomes(api, req)]);
    show(req, res, { title: FIX.title(id), body: causesPage(consoleUrl, id, causes, outcomes) });
  });
  router.get('/console/imports/:importId/fix/:cause', (req, res) => showCells(deps, req, res));
  router.post('/console/imports/:importId/fix/:cause', (req, res) => showCells(deps, req, res));
  router.get('/console/imports/:importId/fix/:cause/:remedy', (req, res) => showRemedy(deps, req, res));
  router.post('/console/imports/:importId/fix/:cause/:remedy', (req, res) => apply(deps, req, res));
  return router;
}

function readCauses(api: Api, req: Request): Promise<Causes> {
  return api.call('listImportCauses', importOf(req));
}

interface Outcomes {
  isDraft: boolean;
  importId: string;
  counts: Counts;
}

/** The import with the outcomes of users: of a draft, the dry run of its check. */
async function readOutcomes(api: Api, req: Request): Promise<Outcomes> {
  const { draft, importId, counts } = await api.call('getImport', importOf(req));
  return { isDraft: draft !== undefined, importId: draft?.check?.importId ?? importId, counts };
}

/** The cause of the address. @returns undefined when nobody fails for it any more */
function causeOf({ causes }: Causes, req: Request): CountedCause | undefined {
  return causes.find(({ cause }) => cause === req.params.cause);
}

function listPath(req: Request): string {
  return `/imports/${String(req.params.importId)}/fix`;
}

/** Saves what was typed, if the request is a form, and shows the users; users who were just corrected stay in view. */
async function showCells({ consoleUrl, show }: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { api, kept } = sessionOf(res);
  const before = await readCauses(api, req);
  const cause = causeOf(before, req);
  if (!cause) return res.redirect(303, consoleUrl(listPath(req)));
  const field = editableField(cause);
  if (!field) throw new ApiError('FAILED_PRECONDITION', 'CONSOLE-FIX', FIX.noEdit);
  const from = Number(/^\d{1,9}$/.exec(text(req.query, 'from'))?.[0] ?? 0);
  const outcomes = await readOutcomes(api, req);
  const { items, next } = await itemsOf(api, outcomes.importId, cause.cause, from);
  const typed = req.method === 'POST' ? (req.body as Record<string, unknown>) : kept;
  const rows: Cell[] = [];
  for (const { index, userName, userId } of items) {
    const { entry, earlier } = await api.call('getImportItem', { ...importOf(req), index: String(index) });
    const old = textIn(entry, field);
    const value = typeof typed[`v${index}`] === 'string' ? (typed[`v${index}`] as string) : old;
    const isNew = req.method === 'POST' && value !== old;
    rows.push({
      index,
      who: whoIs(entry, userName, userId),
      value,
      earlier,
      ...(isNew ? await save(api, req, index, field, value) : {}),
    });
  }
  const causes = req.method === 'POST' ? await readCauses(api, req) : before;
  const body = cellsPage(consoleUrl, {
    importId: String(req.params.importId),
    cause,
    field,
    cells: rows,
    next,
    causes,
    outcomes,
  });
  show(req, res, { title: FIX.title(String(req.params.importId)), body, scripts: ['fix-cells.ts', 'live.ts'] });
}

async function save(
  api: Api,
  req: Request,
  index: number,
  field: string,
  value: string,
): Promise<{ problem?: string; isGood?: boolean }> {
  try {
    const body = patchOf(field, value);
    const { error } = await api.call('fixImportItem', { ...importOf(req), index: String(index) }, { body });
    return violationsOf(error).length > 0 ? { problem: FIX.stillFails } : { isGood: true };
  } catch (error) {
    if (!(error instanceof ApiError) || error.http >= 500 || error.http === 401 || error.http === 403) throw error;
    return {
      problem:
        error.violations.map(({ description }) => problemText(description)).join('; ') || problemText(error.message),
    };
  }
}

/** The next users of a cause, from an index on. */
async function itemsOf(
  api: Api,
  importId: string,
  cause: string,
  from: number,
): Promise<{ items: ItemView[]; next: number | undefined }> {
  const items: ItemView[] = [];
  let token = String(from);
  for (let page = 0; page < PAGES && token !== ''; page++) {
    const query = { state: 'ITEM_STATE_FAILED', pageSize: PAGE_SIZE, pageToken: token };
    const read = await api.call('listImportItems', { importId }, { query });
    for (const item of read.items) {
      const isOfCause = causesOf(item.error).some((c) => c.cause === cause);
      if (isOfCause && items.length === ROWS) return { items, next: item.index };
      if (isOfCause) items.push(item);
    }
    token = read.nextPageToken;
  }
  return { items, next: token === '' ? undefined : Number(token) };
}

/** @throws ApiError 404 for a remedy that does not exist */
function remedyOf({ params }: Request): Remedy {
  const remedy = REMEDY_NAMES.find((one) => one === params.remedy);
  if (!remedy) throw new ApiError('NOT_FOUND', 'CONSOLE-PATH', 'This page does not exist.');
  return remedy;
}

async function showRemedy({ consoleUrl, show }: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { api, kept } = sessionOf(res);
  const cause = causeOf(await readCauses(api, req), req);
  if (!cause) return res.redirect(303, consoleUrl(listPath(req)));
  const remedy = remedyOf(req);
  const domain = text(req.query, 'domain') || (kept.domain ?? '');
  const isReady = remedy !== 'user-name-as-email' || domain !== '';
  let problem: string | undefined;
  let preview: FixAnswer | undefined;
  try {
    const body = { cause: cause.cause, remedy, dryRun: true, ...(domain ? { domain } : {}) };
    preview = isReady ? await api.call('fixImport', importOf(req), { body }) : undefined;
  } catch (error) {
    if (!(error instanceof ApiError) || error.http !== 400) throw error;
    problem = error.message;
  }
  const body = remedyPage(consoleUrl, {
    importId: String(req.params.importId),
    cause,
    remedy,
    domain,
    preview,
    problem,
  });
  show(req, res, { title: FIX.title(String(req.params.importId)), body, status: problem ? 400 : 200 });
}

/** Applies a remedy: one call of the API works for some seconds at most, and the next continues where it ended. */
async function apply({ consoleUrl }: ScreenDeps, req: Request, res: Response): Promise<void> {
  const { api } = sessionOf(res);
  const domain = text(req.body, 'domain');
  const body = { cause: String(req.params.cause), remedy: remedyOf(req), ...(domain ? { domain } : {}) };
  let next: number | null = 0;
  while (next !== null && !res.closed) {
    const more: FixAnswer = await api.call('fixImport', importOf(req), { body: { ...body, from: next } });
    next = more.next;
  }
  res.redirect(303, consoleUrl(listPath(req)));
}

/** Why users of an import failed, with what can be done about each cause. */
function causesPage(consoleUrl: ConsoleUrl, importId: string, causes: Causes, outcomes: Outcomes): Html {
  const path = `/imports/${importId}`;
  return html`${crumb({ href: consoleUrl(path), text: ONE.title(importId) })}
<div class="headline"><h1>${FIX.heading}</h1>${sendAgain(consoleUrl, importId, causes, outcomes)}</div>
${causes.causes.length === 0 ? html`<p class="card">${FIX.none}</p>` : causeTable(consoleUrl, path, causes)}
${causes.moreCauses > 0 ? html`<p class="soft">${FIX.more(count(causes.moreCauses))}</p>` : undefined}`;
}

/**
 * How many users were corrected, with the action that tries them again; before the start of an import, the decision. The
 * script of the cells loads it again.
 */
function sendAgain(consoleUrl: ConsoleUrl, importId: string, causes: Causes, outcomes: Outcomes): Html {
  const { corrected } = causes;
  if (corrected === 0) return html`<div id="corrected" data-swap></div>`;
  const [path, text] = outcomes.isDraft
    ? [`/imports/new/${importId}/decide`, FIX.decide]
    : [`/imports/${importId}/retry`, FIX.send(count(sentAgain(causes, outcomes)))];
  return html`<div class="buttons" id="corrected" data-swap>${state({ name: FIX.corrected(count(corrected)), look: 'good' })}
<a class="button" href="${consoleUrl(path)}">${text}</a></div>`;
}

function causeTable(consoleUrl: ConsoleUrl, path: string, { causes }: Causes): Html {
  return html`<div class="card flush">${causeList(consoleUrl, path, causes)}</div><p class="soft small">${FIX.counted}</p>`;
}

/** Causes with what can be done about each. @param path of the import, below `/console` */
export function causeList(consoleUrl: ConsoleUrl, path: string, causes: readonly CountedCause[]): Html {
  const rows = causes.map((cause) => causeRow(consoleUrl, path, cause));
  return table(FIX.heading, [numbers(FIX.users), FIX.cause, FIX.remedies], rows, 'causes-table');
}

function causeRow(consoleUrl: ConsoleUrl, path: string, cause: CountedCause): Html {
  const rows = cause.first
    .map(({ index, earlier }) => count(index + 1) + (earlier === undefined ? '' : ` ${FIX.asRow(count(earlier + 1))}`))
    .join(', ');
  return html`<tr><td class="number" data-label="${FIX.users}">${count(cause.count)}</td>
<td data-label="${FIX.cause}"><div><strong>${nameOfCause(cause)}</strong><div class="soft small">${FIX.rows} ${rows}</div></div></td>
<td data-label="${FIX.remedies}"><div class="buttons">${remedyLinks(consoleUrl(`${path}/fix/${cause.cause}`), cause)}</div></td></tr>\n`;
}

/** What can be done about a cause: the best as a button, and the others in a menu. @param href its page */
export function remedyLinks(href: string, cause: CountedCause): Html {
  const [best, ...others] = remediesOf(href, cause);
  const button = best && html`<a class="button small" href="${best.href}">${best.text}</a>`;
  if (others.length === 0) return html`${button}`;
  return html`${button}
<details class="more"><summary class="button quiet small">${FIX.others}</summary>${list(
    others.map((other) => html`<a href="${other.href}">${other.text}</a>`),
    'plain',
  )}</details>`;
}

/** What can be done about a cause, the best first. @param href its page */
export function remediesOf(href: string, cause: CountedCause): Link[] {
  const [best, ...others] = cause.remedies.map((remedy) => ({
    href: `${href}/${remedy}`,
    text: remedyText(cause, remedy),
  }));
  const edit = editableField(cause) ? [{ href, text: FIX.edit }] : [];
  // A remedy that corrects all users comes before editing them one by one, which comes before leaving them out.
  const corrects = cause.remedies[0] !== undefined && !LEAVING_OUT.includes(cause.remedies[0]);
  if (!best) return edit;
  return corrects ? [best, ...edit, ...others] : [...edit, best, ...others];
}

/** A remedy, with how many of the users it would fix where that is not all of them. */
export function remedyText({ fixes = [], examined = 0 }: CountedCause, remedy: Remedy): string {
  const users = fixes.find((one) => one.remedy === remedy)?.users;
  const isAll = users === undefined || users === examined;
  return isAll ? REMEDIES[remedy] : `${REMEDIES[remedy]} ${FIX.helps(count(users), count(examined))}`;
}

/** A user of the cause. */
interface Cell {
  index: number;
  /** What identifies the person, the best first. */
  who: readonly string[];
  value: string;
  /** The entry that has the id or the user name already. */
  earlier: number | undefined;
  /** What is wrong with the value that was typed. */
  problem?: string;
  isGood?: boolean;
}

interface CellsView {
  importId: string;
  cause: CountedCause;
  field: string;
  cells: Cell[];
  /** Index to continue at. */
  next: number | undefined;
  causes: Causes;
  outcomes: Outcomes;
}

/** The users of a cause with a cell each for the invalid value. With scripts, a cell is saved when it is left. */
function cellsPage(consoleUrl: ConsoleUrl, view: CellsView): Html {
  const { importId, cause, field, cells, next, causes, outcomes } = view;
  const path = `/imports/${importId}/fix`;
  const name = fieldName(field);
  const good = outcomes.isDraft ? FIX.goodDraft : FIX.good;
  const rows = cells.map((cell) => cellRow(cell, name, good));
  return html`${crumb({ href: consoleUrl(path), text: FIX.heading })}
<div class="headline"><h1>${nameOfCause(cause)}</h1><span class="soft" id="cause-users" data-swap>${FIX.count(cause.count, count(cause.count))}</span>${sendAgain(consoleUrl, importId, causes, outcomes)}</div>
${
  cells.length === 0
    ? html`<p class="card">${FIX.gone}</p>`
    : html`<fix-cells src="${consoleUrl(`/api${requestOf('listImportItems', { importId }).path}`)}" field="${field}" good="${good}" fails="${FIX.stillFails}" failed="${FIX.failed}" ended="${FIX.signIn}">
<form method="post" action="${consoleUrl(`${path}/${cause.cause}`)}"><div class="card flush">${table(nameOfCause(cause), [numbers(FIX.row), FIX.user, name], rows, 'cells-table')}</div>
<p class="soft small">${FIX.counted}</p><div class="buttons"><button>${FIX.save}</button>
${next === undefined ? undefined : html`<a class="button quiet" href="${consoleUrl(`${path}/${cause.cause}?from=${next}`)}">${FIX.next}</a>`}</div></form></fix-cells>`
}`;
}

/** The name, the user name, the address, the phone number and the id of a person, as far as the entry has them. */
function whoIs(entry: Record<string, unknown> | undefined, userName: string, userId: string): string[] {
  const [first, last] = ['user.profile.firstName', 'user.profile.lastName'].map((path) => textIn(entry, path));
  const name = textIn(entry, 'user.profile.displayName') || [first, last].filter(Boolean).join(' ');
  const others = ['user.userName', 'user.email.email', 'user.phone.phone'].map((path) => textIn(entry, path));
  return [...new Set([name, userName, ...others, userId])].filter(Boolean);
}

/** @param good what is said of a value that was saved */
function cellRow({ index, who, value, earlier, problem, isGood }: Cell, name: string, good: string): Html {
  const [best = FIX.unnamed, ...others] = who;
  const id = `v${index}`;
  const wrong = problem ? html` aria-invalid="true"` : undefined;
  return html`<tr><td class="number soft" data-label="${FIX.row}">${count(index + 1)}</td>
<td data-label="${FIX.user}"><div>${best}${others.length > 0 ? html`<div class="soft small">${others.join(' · ')}</div>` : undefined}${earlier === undefined ? undefined : html`<div class="small">${FIX.sameAs(count(earlier + 1))}</div>`}</div></td>
<td data-label="${name}"><div class="grow"><input class="cell" id="${id}" name="${id}" value="${value}" data-index="${index}" autocomplete="off" spellcheck="false"
 aria-label="${FIX.value(name)}, ${FIX.row} ${index + 1}" aria-describedby="${id}-said"${wrong}>
<p class="said small ${isGood ? 'good' : ''}" id="${id}-said" role="status">${problem ?? (isGood ? good : '')}</p></div></td></tr>\n`;
}

interface RemedyView {
  importId: string;
  cause: CountedCause;
  remedy: Remedy;
  domain: string;
  /** Absent until the domain is known. */
  preview: FixAnswer | undefined;
  problem: string | undefined;
}

/** Remedies that import fewer users. */
const LEAVES_OUT: ReadonlySet<string> = new Set(['keep-first', 'leave-out']);

/** What one remedy would do to all users of a cause, and the button that does it. */
export function remedyPage(consoleUrl: ConsoleUrl, view: RemedyView): Html {
  const { importId, cause, remedy, domain, preview, problem } = view;
  const causes = consoleUrl(`/imports/${importId}/fix`);
  const path = `${causes}/${cause.cause}/${remedy}`;
  return html`${crumb({ href: causes, text: FIX.heading })}
<section class="message"><h1>${REMEDIES[remedy]}</h1><p>${nameOfCause(cause)}</p><p class="soft">${FIX.concerns(count(cause.count))}</p>
${notice(problem, 'bad', 'problem')}
${remedy === 'user-name-as-email' ? domainForm(path, domain, problem) : undefined}
${preview && (preview.changed === 0 && preview.next === null ? helpsNobody(causes) : effects(path, view, preview))}</section>`;
}

function helpsNobody(causes: string): Html {
  return html`<p>${FIX.helpsNobody}</p><p><a class="button quiet" href="${causes}">${FIX.back}</a></p>`;
}

function effects(path: string, { remedy, domain }: RemedyView, preview: FixAnswer): Html {
  const { changed, unchanged } = preview;
  const does = LEAVES_OUT.has(remedy) ? FIX.omitted : FIX.changed;
  const sentences = [does(count(changed)), ...(unchanged > 0 ? [FIX.unchanged(count(unchanged))] : [])];
  return html`${list(sentences, 'does')}
${examples(preview)}<form method="post" action="${path}">${hidden({ domain })}
<div class="buttons"><button>${FIX.apply(count(changed))}</button></div></form>`;
}

function domainForm(path: string, domain: string, problem: string | undefined): Html {
  const about = problem === undefined ? undefined : { message: problem };
  return html`<form method="get" action="${path}">${field({ name: 'domain', label: FIX.domain, value: domain, hint: FIX.domainHint, problem: about })}
<p><button class="quiet">${FIX.preview}</button></p></form>`;
}

function examples({ examples: all = [] }: FixAnswer): Html | undefined {
  if (all.length === 0) return undefined;
  // Users who are left out have no value that changes.
  const changes = all.some(({ before, after }) => before !== undefined || after !== undefined);
  const rows = all.map(({ index, userId, userName, before, after }) => {
    // Users with the same user name are told apart.
    const which = [FIX.line(count(index + 1)), ...(userId && userId !== userName ? [userId] : [])].join(' · ');
    const was = changes ? html`<td data-label="${FIX.before}">${shown(before)}</td>` : undefined;
    return html`<tr><th scope="row"><div>${userName || '–'}<div class="soft small">${which}</div></div></th>${was}
<td data-label="${FIX.after}">${after === undefined ? FIX.leftOut : shown(after)}</td></tr>\n`;
  });
  return html`<h2>${FIX.examples}</h2>${table(FIX.examples, [FIX.user, ...(changes ? [FIX.before] : []), FIX.after], rows, 'examples-table')}`;
}

/** A value of at most so many characters is shown whole. */
const MOST_SHOWN = 80;
const ENDS = [30, -20] as const;

/** The beginning and the end of a long value, with its length, as a remedy that shortens it changes only the end. */
function abridged(value: string): string {
  const characters = Array.from(value);
  if (characters.length <= MOST_SHOWN) return value;
  const [begin, end] = [characters.slice(0, ENDS[0]), characters.slice(ENDS[1])].map((part) => part.join(''));
  return FIX.long(`${begin} … ${end}`, count(characters.length));
}

/** A value of an example; of a hash, its scheme. */
function shown(value: unknown): string {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'string') return abridged(value);
  const { scheme } = value as { scheme?: string };
  return scheme ? FIX.hashOf(scheme) : FIX.withheld;
}
