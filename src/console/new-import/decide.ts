/** The step Decide: on one page what the import would do, and the button that starts it. */
import { EARLIER } from '../../contract/causes.ts';
import type { Answer } from '../../contract/client.ts';
import type { Causes } from '../../contract/import-types.ts';
import { PEPPER_MODES } from '../../passwords/marks.ts';
import { field, text } from '../../platform/html/forms.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { remediesOf } from '../imports/fix.ts';
import { itemsPath } from '../imports/import.ts';
import { type Remedy, signInsCard } from '../imports/sign-ins.ts';
import { nameOfCause, open, type ShownDraft } from '../shapes.ts';
import {
  bar,
  type Choice,
  count,
  duration,
  list,
  notice,
  numbers,
  options,
  queryOf,
  table,
  time,
} from '../shell/blocks.ts';
import { AGAIN, OUTLOOK } from '../texts/decide.ts';
import { FIX } from '../texts/fix.ts';
import { DECIDE, PEPPER } from '../texts/new-import.ts';
import { SIGN_INS } from '../texts/sign-ins.ts';
import { buttons, type Frame, hrefOf, type Tried } from './frame.ts';
import { queryOfPlan } from './plan.ts';
import { type MailsView, mailsCard, mailsDue, tryForm } from './proofs.ts';
import { verdict } from './verdict.ts';

export interface DecideView extends MailsView {
  draft: ShownDraft;
  causes: Causes;
  /** Existing users that would be updated; they are among those that succeed. */
  updates: number;
  /** Names that people sign in with. */
  names: readonly string[];
  /** The name of the password source; undefined: none. */
  passwordSource: string | undefined;
  /** Names of the organizations by their ids, as far as they exist. */
  orgNames: ReadonlyMap<string, string>;
  /** How long an ended import can be undone, in milliseconds. */
  undoMs: number;
  /** Where the person may change how its users sign in; undefined: they may not. */
  policyHref: string | undefined;
  /** The list of providers where the person may add one for its users; undefined: they may not. */
  providersHref: string | undefined;
  /** Imports of the same files, newest first. */
  earlier: Answer<'listEarlierImports'>['imports'];
  /** Whether another import has started since the check began. */
  startedSince: boolean;
  /** What a person has just tried. */
  tried: Tried | undefined;
  command: string;
  problem: string | undefined;
}

/** The answers in the order in which a careful manager asks; the command line is last. */
export function decideStep(frame: Frame, view: DecideView): Html {
  const { draft, check, causes, problem, command } = view;
  const files = draft.files.filter(({ kind }) => kind === 'users').map(({ name }) => name);
  return html`${notice(problem, 'bad')}<section class="card" aria-labelledby="result"><h2 id="result">${files.length > 0 ? DECIDE.title(files.join(', ')) : DECIDE.titleOfUsers}</h2>
${verdict(check, causes)}${sameFiles(frame, view)}${bar('all', check.counts, 'tall')}${totals(view)}${unchecked(frame, view)}${corrected(frame, view)}${outdated(frame, view)}</section>
<div class="columns even">${organizations(view)}${existing(frame, view)}</div>
${signIns(frame, view)}
<div class="columns even"><section class="card"><h2>${DECIDE.passwords}</h2>${list(passwords(view), 'plain')}${pepperForm(frame, draft)}${tryForm(frame, view.tried)}</section>
<section class="card"><h2>${DECIDE.login}</h2>${login(view)}</section></div>
${mailsCard(frame, view, START)}
${failures(frame, view)}
${blocked(view)}
<div class="columns even">${speed(view)}${undo(view)}</div>
${startForm(frame, view)}
${notes(draft)}${draft.files.length > 0 ? commandBox(command) : undefined}`;
}

function commandBox(command: string): Html {
  return html`<details class="card"><summary>${DECIDE.command}</summary><copy-text said="${DECIDE.copied}"><pre tabindex="0" role="region" aria-label="${DECIDE.command}"><code>${command}</code></pre><button type="button" class="quiet small" hidden>${DECIDE.copy}</button></copy-text></details>`;
}

function totals({ check, causes, updates }: DecideView): Html {
  const { counts } = check;
  const created = counts.succeeded - updates;
  const failing = failingOf(causes);
  return html`<dl class="facts">${[
    tile(DECIDE.read, counts.total),
    tile(DECIDE.create, created),
    ...tiles(DECIDE.update, updates),
    ...tiles(DECIDE.skip, counts.total - counts.succeeded - failing - causes.corrected - open(check)),
    ...tiles(DECIDE.fail, failing, { look: 'bad', href: `#${FAILING}` }),
    ...tiles(DECIDE.notChecked, open(check), { look: 'warn' }),
    ...tiles(DECIDE.corrected, causes.corrected),
  ]}</dl>`;
}

interface TileMarks {
  look?: 'bad' | 'warn';
  /** Where the users are. */
  href?: string;
}

function tile(name: string, users: number, { look, href }: TileMarks = {}): Html {
  const value = href ? html`<a href="${href}">${count(users)}</a>` : count(users);
  return html`<div${look && html` class="${look}"`}><dt>${name}</dt><dd>${value}</dd></div>\n`;
}

/** A figure, unless it is zero. */
function tiles(name: string, users: number, marks?: TileMarks): Html[] {
  return users > 0 ? [tile(name, users, marks)] : [];
}

/** The id of the section of users who fail. */
const FAILING = 'failing';

const RULES = ['skip', 'update', 'fail'] as const;

/** The same file was imported before: what happens with the users who came by it, as a choice. */
function sameFiles(frame: Frame, view: DecideView): Html | undefined {
  const { earlier, plan, draft, check, updates } = view;
  if (earlier.length === 0) return undefined;
  const taken = existingFailures(view);
  // The rule is about users of the organizations of this import.
  const isElsewhere = !earlier.some(({ orgIds }) => check.orgs.some(({ orgId }) => orgIds.includes(orgId)));
  const items = earlier.map(
    ({ importId, fileName, startDate, users }) =>
      html`${fileName} ${AGAIN.was} <a href="${frame.consoleUrl(`/imports/${importId}`)}">${AGAIN.import(importId)}</a> ${AGAIN.on} ${time(startDate)} (${AGAIN.users(users, count(users))})`,
  );
  const rules = RULES.map((onExisting) => {
    if (onExisting === plan.onExisting) return html`<strong>${AGAIN.chosen(AGAIN.rules[onExisting])}</strong>\n`;
    const query = queryOfPlan({ ...plan, onExisting }, draft);
    return html`<a class="button quiet small" href="${hrefOf({ ...frame, query }, 'check')}">${AGAIN.rules[onExisting]}</a>\n`;
  });
  const isNew = taken + updates + check.counts.skipped + open(check) === 0;
  const choice = html`<p>${AGAIN.what}</p><div class="buttons">${rules}</div>`;
  const known = isElsewhere && taken > 0 ? html`<p>${AGAIN.elsewhere(taken, count(taken))}</p>` : choice;
  return html`<div class="notice warn" role="status"><p><strong>${AGAIN.title}</strong></p>${list(items, 'plain')}${isNew ? html`<p>${AGAIN.none}</p>` : known}</div>`;
}

/** Each organization by its name, with its users who can be imported. */
function organizations({ check: { orgs }, orgNames }: DecideView): Html {
  const items = orgs.map(
    ({ orgId, counts }) =>
      html`<strong>${count(counts.succeeded)}</strong> <bdi>${orgNames.get(orgId) ?? orgId}</bdi> <span class="soft small mono">${orgId}</span>`,
  );
  return html`<section class="card" aria-labelledby="into"><h2 id="into">${OUTLOOK.organization}</h2>${list(items, 'plain')}</section>`;
}

/** The ids of the errors of users who exist already. */
const EXISTS = ['USER-ID-TAKEN', 'USER-NAME-TAKEN'];

/** How many users fail because they exist. */
function existingFailures({ causes }: DecideView): number {
  const failing = causes.causes.filter(({ id, message }) => EXISTS.includes(id) && !message.includes(EARLIER));
  return failing.reduce((sum, cause) => sum + cause.count, 0);
}

/** The rule for users who exist, and how many there are. */
function existing(frame: Frame, view: DecideView): Html {
  const { plan, check, updates } = view;
  const { onExisting } = plan;
  const { skipped } = check.counts;
  const failed = existingFailures(view);
  const items = [
    ...(failed > 0 ? [OUTLOOK.existingFail(failed, count(failed))] : []),
    ...(updates > 0 ? [OUTLOOK.existingUpdate(updates, count(updates))] : []),
    ...(skipped > 0 && onExisting === 'skip' ? [OUTLOOK.existingSkip(skipped, count(skipped))] : []),
    ...(skipped > 0 && onExisting === 'update' ? [OUTLOOK.existingSame(skipped, count(skipped))] : []),
  ];
  return html`<section class="card" aria-labelledby="existing"><h2 id="existing">${OUTLOOK.existing}</h2>
${items.length > 0 ? list(items, 'plain') : html`<p>${OUTLOOK.existingNone}</p>`}
<p class="soft small">${OUTLOOK.existingRule[onExisting]} <a href="${hrefOf(frame, 'options')}">${OUTLOOK.change}</a></p></section>`;
}

/** The check ended at its time limit, or somebody ended it. */
function unchecked(frame: Frame, { check }: DecideView): Html | undefined {
  const users = open(check);
  if (users === 0) return undefined;
  return checkAgain(frame, html`${notice(DECIDE.notCheckedHint(users, count(users)), 'warn')}`);
}

function outdated(frame: Frame, view: DecideView): Html | undefined {
  if (!isOutdated(view)) return undefined;
  return checkAgain(frame, html`${notice(DECIDE.outdated, 'warn')}`, 'main');
}

/** Users may exist by now whom the check did not know, so to check again is better than to start. */
function isOutdated({ causes, check, startedSince }: DecideView): boolean {
  return startedSince && causes.corrected === 0 && open(check) === 0;
}

function checkAgain(frame: Frame, why: Html, look?: 'main'): Html {
  const quiet = look === 'main' ? undefined : html` class="quiet"`;
  return html`<form method="post" action="${hrefOf(frame, 'check')}">${why}<button${quiet}>${DECIDE.again}</button></form>`;
}

/** Users who fail and were not corrected since the check. */
function failingOf({ failed, corrected: fixed }: Causes): number {
  return failed - fixed;
}

function corrected(frame: Frame, { causes, check }: DecideView): Html | undefined {
  if (causes.corrected === 0 || open(check) > 0) return undefined;
  return checkAgain(frame, html`<p>${DECIDE.correctedHint}</p>`);
}

/** Who signs in with what, who they are, and what can be done about those who cannot or need something else. */
function signIns(frame: Frame, view: DecideView): Html | undefined {
  const { check, draft, providersHref } = view;
  return signInsCard({
    title: SIGN_INS.before,
    counts: check.signIn,
    hrefOf: (signIn) => frame.consoleUrl(itemsPath(`/imports/${check.importId}`, { signIn })),
    remediesOf: ({ name, ways, causes }) => {
      if (name === 'known') return [];
      const names: string[] = [...ways, ...causes].map(([id]) => id);
      return remedies(frame, view).filter(({ of }) => of.some((id) => names.includes(id)));
    },
    setUpHref: ({ name, preset }) => providersHref && `${providersHref}/new${queryOf({ type: preset, alias: name })}`,
    missing: draft.summary?.missing,
    more: failWithout(frame, view),
  });
}

/** Users without an address who still fail: others may have got one since the files were read. */
function failWithout(frame: Frame, { draft, plan, causes }: DecideView): Html | undefined {
  const missing = causes.causes.filter(({ field, message }) => isMissingAddress(field, message));
  const users = missing.reduce((sum, cause) => sum + cause.count, 0);
  if (users === 0 || plan.withoutEmail || draft.files.length === 0) return undefined;
  return html`<p>${SIGN_INS.failWithout(users, count(users))} <a class="button quiet small" href="${hrefOf(frame, 'options')}">${SIGN_INS.withoutEmail}</a></p>`;
}

function isMissingAddress(field: string | undefined, message: string): boolean {
  return (field === 'user.email' || field === 'user.email.email') && message === 'is required';
}

/** What helps users with one of these ways or causes. */
function remedies(frame: Frame, { draft, passwordSource, policyHref }: DecideView): (Remedy & { of: string[] })[] {
  const options = hrefOf(frame, 'options');
  const hasFiles = draft.files.length > 0;
  return [
    ...(hasFiles && passwordSource === undefined
      ? [{ of: ['MAIL_CODE', 'INIT_MAIL', 'NO_ADDRESS'], href: options, text: SIGN_INS.passwordSource }]
      : []),
    ...(policyHref ? [{ of: ['MAIL_CODE', 'INIT_MAIL', 'NO_PASSWORD'], href: policyHref, text: SIGN_INS.policy }] : []),
    ...(hasFiles ? [{ of: ['NO_ADDRESS'], href: hrefOf(frame, 'columns'), text: SIGN_INS.columns }] : []),
    { of: ['MAILS_HELD'], href: '#mails', text: SIGN_INS.mails },
    { of: ['ONLY_ENTERPRISE'], href: options, text: SIGN_INS.allowCodes },
  ];
}

function passwords({ check, draft, passwordSource }: DecideView): string[] {
  const { withoutPassword = 0, plainPasswords = 0 } = draft.summary ?? {};
  return [
    ...(check.hashes ?? []).map(({ scheme, users, verifiable }) =>
      verifiable ? DECIDE.keep(count(users), scheme) : DECIDE.cannot(count(users), scheme),
    ),
    ...(plainPasswords > 0 ? [DECIDE.plain(count(plainPasswords))] : []),
    ...(withoutPassword > 0 ? [without(count(withoutPassword), passwordSource)] : []),
  ];
}

function without(users: string, passwordSource: string | undefined): string {
  return passwordSource === undefined ? DECIDE.without(users) : DECIDE.atSource(users, passwordSource);
}

function login({ names, draft, check: { signIn } }: DecideView): Html {
  // What the files say counts users who fail, too.
  const typed = signIn ? (signIn.changes.TYPES_USER_NAME ?? 0) : (draft.summary?.typeUserName ?? 0);
  return html`${names.length > 0 ? html`<p>${DECIDE.byThis}</p>${list(names, 'plain')}` : undefined}
<p class="soft small">${typed > 0 ? DECIDE.typeUserName(typed, count(typed)) : DECIDE.sameAsToday}</p>`;
}

/** Why users fail, each cause with its best remedy; the others are folded. */
function failures({ consoleUrl, importId }: Frame, { causes }: DecideView): Html | undefined {
  const failing = count(failingOf(causes));
  if (causes.failed === 0) return html`<p class="notice">${DECIDE.noFailures}</p>`;
  const rows = causes.causes.map((cause) => {
    const [best, ...others] = remediesOf(consoleUrl(`/imports/${importId}/fix/${cause.cause}`), cause);
    const more = html`<details><summary class="small">${OUTLOOK.otherRemedies}</summary><div class="buttons">${others.map((link) => remedyLink(link, 'quiet small'))}</div></details>`;
    return html`<tr><td class="number" data-label="${DECIDE.users}">${count(cause.count)}</td><td data-label="${DECIDE.cause}"><strong>${nameOfCause(cause)}</strong></td>
<td data-label="${DECIDE.examples}"><span class="small">${cause.first.map(example).join(' · ')}</span></td>
<td data-label="${OUTLOOK.recommended}"><div>${best && remedyLink(best, 'small')}${others.length > 0 ? more : undefined}</div></td></tr>\n`;
  });
  const columns = [numbers(DECIDE.users), DECIDE.cause, DECIDE.examples, OUTLOOK.recommended];
  return html`<section class="card" aria-labelledby="${FAILING}"><h2 id="${FAILING}">${DECIDE.causes(failing)}</h2>${table(DECIDE.causes(failing), columns, rows, 'causes-table')}${
    causes.moreCauses > 0 ? html`<p class="soft">${DECIDE.more(causes.moreCauses)}</p>` : undefined
  }
<p class="soft small">${DECIDE.fixLater} ${FIX.counted}</p></section>`;
}

/** A user of a cause, with the row, and the earlier row that has the id or the user name. */
function example({ index, userName, userId, earlier }: Causes['causes'][number]['first'][number]): string {
  const row = DECIDE.line(count(index + 1), earlier === undefined ? undefined : count(earlier + 1));
  return `${userName || userId || '–'} (${row})`;
}

function remedyLink({ href, text }: Remedy, look: string): Html {
  return html`<a class="button ${look}" href="${href}">${text}</a>\n`;
}

/** Users who come along inactive or locked, and records that are no users to import, such as deleted ones. */
function blocked({ check, draft: { summary } }: DecideView): Html {
  const { INACTIVE: inactive = 0, LOCKED: locked = 0 } = check.signIn?.causes ?? {};
  const items = [
    ...(inactive > 0 ? [OUTLOOK.inactive(inactive, count(inactive))] : []),
    ...(locked > 0 ? [OUTLOOK.locked(locked, count(locked))] : []),
    ...(summary?.skipped ?? []).map(({ count: n, message }) => OUTLOOK.leftOut(n, count(n), message)),
  ];
  return html`<section class="card" aria-labelledby="blocked"><h2 id="blocked">${OUTLOOK.blocked}</h2>${items.length > 0 ? list(items, 'plain') : html`<p>${OUTLOOK.noneBlocked}</p>`}</section>`;
}

/** How many times longer one worker takes to write users than to check them; several workers write faster. */
const WRITES = 4;
/** Shorter times are not told apart. */
const FEW_MS = 10_000;

/** From the speed that the check had; its time limit says nothing about that. */
function speed({ check, draft: { summary } }: DecideView): Html {
  const { usersPerSecond: rate, counts } = check;
  const plain = summary?.plainPasswords ?? 0;
  const ms = rate > 0 ? (counts.total / rate) * 1000 : 0;
  const most = ms * WRITES;
  const about = most < FEW_MS ? OUTLOOK.takesSeconds : OUTLOOK.takesBetween(duration(ms), duration(most));
  return html`<section class="card" aria-labelledby="takes"><h2 id="takes">${OUTLOOK.takes}</h2><p><strong>${about}</strong></p>
<p class="soft small">${rate > 0 ? OUTLOOK.speed(count(Math.round(rate))) : undefined} ${plain > 0 ? OUTLOOK.plain(plain, count(plain)) : undefined}</p></section>`;
}

const DAY_MS = 24 * 3600_000;

/** What an undo removes and until when, and what it cannot take back. */
function undo({ check, updates, undoMs }: DecideView): Html {
  const created = check.counts.succeeded - updates;
  const due = mailsDue(check);
  const days = Math.floor(undoMs / DAY_MS);
  const stays = [
    ...(due > 0 ? [OUTLOOK.cannotMails(due, count(due))] : []),
    ...(updates > 0 ? [OUTLOOK.cannotUpdates(updates, count(updates))] : []),
    OUTLOOK.cannotSignedIn,
  ];
  return html`<section class="card" aria-labelledby="undo"><h2 id="undo">${OUTLOOK.undo}</h2><p>${OUTLOOK.canUndo(created, count(created), OUTLOOK.days(days, count(days)))}</p>
<p>${OUTLOOK.cannotUndo}</p>${list(stays)}<p class="soft small">${OUTLOOK.files}</p></section>`;
}

/** What the conversion changed or could not read. */
function notes({ summary }: ShownDraft): Html | undefined {
  const groups = summary ? [...summary.broken, ...summary.notes] : [];
  if (groups.length === 0) return undefined;
  const rows = groups.map(
    (
      group,
    ) => html`<tr><td class="number" data-label="${DECIDE.count}">${count(group.count)}</td><td data-label="${DECIDE.reason}">${group.message}</td>
<td data-label="${DECIDE.places}"><span class="small">${group.examples.map(({ file, line }) => DECIDE.place(file, line)).join(' · ')}</span></td></tr>\n`,
  );
  const columns = [numbers(DECIDE.count), DECIDE.reason, DECIDE.places];
  return html`<details class="card"><summary>${DECIDE.notes} (${count(groups.reduce((sum, group) => sum + group.count, 0))})</summary>${table(DECIDE.notes, columns, rows)}</details>`;
}

/** The id of the form, of which the choice about mails is a part that is further up. */
const START = 'start';

function startForm(frame: Frame, view: DecideView): Html {
  const { plan, check, draft, causes } = view;
  const broken = (draft.summary?.broken ?? []).reduce((sum, group) => sum + group.count, 0);
  const leave = html`<div class="field"><label><input type="checkbox" name="skipBroken" value="1" required>${DECIDE.broken(count(broken))}</label></div>`;
  const discard = html`<a class="button danger" href="${frame.consoleUrl(`/imports/new/${frame.importId}/discard`)}">${DECIDE.discard}</a>`;
  return html`<form id="${START}" method="post" action="${hrefOf(frame, 'decide')}">${broken > 0 ? leave : undefined}
${check.counts.succeeded + causes.corrected === 0 ? notice(DECIDE.nobody, 'warn') : undefined}<p class="soft">${DECIDE.atMost(plan.timeout)} <a href="${hrefOf(frame, 'options')}">${DECIDE.limit}</a></p>
${buttons(frame, html`${startButtons(frame, view)}\n${discard}`)}</form>`;
}

/** They say how many will be imported: who passed the check, and who was corrected since. */
function startButtons({ consoleUrl, importId }: Frame, view: DecideView): Html {
  const { causes } = view;
  const { counts } = view.check;
  const users = counts.succeeded + causes.corrected;
  const quiet = isOutdated(view) ? html` class="quiet"` : undefined;
  if (users > 0) return html`<button${quiet}>${DECIDE.start(users, count(users), count(counts.total))}</button>`;
  const fix = html`<a class="button" href="${consoleUrl(`/imports/${importId}/fix`)}">${DECIDE.correctFirst}</a>`;
  return html`${counts.failed > 0 ? fix : undefined}<button class="quiet">${DECIDE.startAnyway}</button>`;
}

/** The API takes at most so many. */
const MOST_PEPPER_BYTES = 1024;

/**
 * Asks for the pepper of an old system, on the page that says which passwords keep working. It goes from the form
 * straight to `_convert`, in a header: never into an address, a page or the plan.
 * @returns undefined for users without hashes, and for users who came in a request, which has named it
 */
export function pepperForm(frame: Frame, { files, summary, pepper }: ShownDraft): Html | undefined {
  if (files.length === 0 || !summary || summary.hashes.length === 0) return undefined;
  const modes = PEPPER_MODES.map((mode): Choice => [mode, PEPPER.modes[mode]]);
  return html`<details><summary>${pepper ? PEPPER.given(PEPPER.modes[pepper]) : PEPPER.ask}</summary>
<form method="post" action="${hrefOf(frame, 'check')}" autocomplete="off"><p class="soft small">${PEPPER.hint}</p>
${field({ name: 'pepper', label: PEPPER.label, type: 'password', more: html` maxlength="${MOST_PEPPER_BYTES}"` })}
<div class="field"><label for="pepper-mode">${PEPPER.mode}</label><select id="pepper-mode" name="pepperMode">${options(modes, pepper ?? '')}</select></div><button class="quiet">${PEPPER.use}</button></form></details>`;
}

/** The headers of `_convert`; undefined when no pepper was typed. */
export function pepperHeaders(body: unknown): Record<string, string> | undefined {
  const pepper = text(body, 'pepper');
  if (pepper === '') return undefined;
  return {
    'password-pepper': Buffer.from(pepper).toString('base64'),
    'password-pepper-mode': text(body, 'pepperMode') || 'suffix',
  };
}

/** Asks before a draft is discarded. */
export function discardPage(consoleUrl: Frame['consoleUrl'], importId: string): Html {
  return html`<section class="message" data-steps><h1>${DECIDE.discardTitle}</h1><p>${DECIDE.discardDoes}</p>
<form method="post" action="${consoleUrl(`/imports/new/${importId}/discard`)}"><div class="buttons"><button class="danger">${DECIDE.discard}</button>
<a class="button quiet" href="${consoleUrl(`/imports/new/${importId}`)}">${DECIDE.keepIt}</a></div></form></section>`;
}
