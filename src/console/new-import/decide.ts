import type { Causes, CountedCause } from '../../contract/import-types.ts';
import { type Html, html } from '../../platform/html/layout.ts';
import { editableField, type Group, nameOf, type Result, type ShownDraft } from '../shapes.ts';
import { bar, count, duration, notice } from '../shell/blocks.ts';
import { FIX, REMEDIES } from '../texts/fix.ts';
import { DECIDE } from '../texts/new-import.ts';
import { buttons, type Frame, hrefOf } from './frame.ts';
import { choices, pepperForm } from './options.ts';
import type { Plan } from './plan.ts';
/** The step Decide: on one page what the import would do, and the button that starts it. */

/** What a dry run says in addition to an import. */
export interface DryRun extends Result {
  hashes?: { scheme: string; users: number; verifiable: boolean }[];
  mailKinds?: { verification: number; initialisation: number };
}

export interface DecideView {
  draft: ShownDraft;
  plan: Plan;
  check: DryRun;
  causes: Causes;
  /** Existing users that would be updated; they are among those that succeed. */
  updates: number;
  /** Names that people sign in with. */
  names: readonly string[];
  /** The name of the password source; undefined: none. */
  passwordSource: string | undefined;
  /** Emails per second; 0: no limit. */
  mailRate: number;
  command: string;
  problem: string | undefined;
}

export function decideStep(frame: Frame, view: DecideView): Html {
  const { draft, check, problem, command } = view;
  const files = draft.files.filter(({ kind }) => kind === 'users').map(({ name }) => name);
  return html`${notice(problem, 'bad')}<section class="card" aria-labelledby="result"><h2 id="result">${files.length > 0 ? DECIDE.title(files.join(', ')) : DECIDE.titleOfUsers}</h2>
${bar('all', check.counts, 'tall')}${numbers(view)}${corrected(frame, view)}</section>
<div class="columns even"><section class="card"><h2>${DECIDE.passwords}</h2>${list(passwords(view))}${pepperForm(frame, draft)}</section>
<section class="card"><h2>${DECIDE.login}</h2>${login(view)}</section></div>
${failures(frame, view)}${notes(draft)}
${draft.files.length > 0 ? commandBox(command) : undefined}
${startForm(frame, view)}`;
}

function commandBox(command: string): Html {
  return html`<section class="card"><h2>${DECIDE.command}</h2><copy-text said="${DECIDE.copied}"><pre tabindex="0" role="region" aria-label="${DECIDE.command}"><code>${command}</code></pre><button type="button" class="quiet small" hidden>${DECIDE.copy}</button></copy-text></section>`;
}

function numbers({ check: { counts }, causes, updates }: DecideView): Html {
  const created = counts.succeeded - updates;
  const failing = failingOf(causes);
  return html`<dl class="facts">${[
    [DECIDE.read, count(counts.total)],
    [DECIDE.create, count(created)],
    [DECIDE.update, count(updates)],
    [DECIDE.skip, count(counts.total - counts.succeeded - failing - causes.corrected)],
    [DECIDE.fail, count(failing)],
    ...(causes.corrected > 0 ? [[DECIDE.corrected, count(causes.corrected)]] : []),
  ].map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>\n`)}</dl>`;
}

/** Those that were not corrected since the check. */
function failingOf({ failed, corrected: fixed }: Causes): number {
  return failed - fixed;
}

function corrected(frame: Frame, { causes }: DecideView): Html | undefined {
  if (causes.corrected === 0) return undefined;
  return html`<form method="post" action="${hrefOf(frame, 'check')}"><p>${DECIDE.correctedHint}</p><button class="quiet">${DECIDE.again}</button></form>`;
}

function list(lines: readonly string[]): Html {
  return html`<ul class="plain">${lines.map((line) => html`<li>${line}</li>\n`)}</ul>`;
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

function login({ names, draft }: DecideView): Html {
  const typed = draft.summary?.typeUserName ?? 0;
  return html`${names.length > 0 ? html`<p>${DECIDE.byThis}</p>${list(names)}` : undefined}
<p class="soft small">${typed > 0 ? DECIDE.typeUserName(typed, count(typed)) : DECIDE.sameAsToday}</p>`;
}

function failures({ at, importId }: Frame, { causes }: DecideView): Html | undefined {
  const failing = count(failingOf(causes));
  if (causes.failed === 0) return html`<p class="notice">${DECIDE.noFailures}</p>`;
  const head = [DECIDE.users, DECIDE.cause, DECIDE.examples, DECIDE.remedies];
  return html`<section class="card"><h2>${DECIDE.causes(failing)}</h2><table class="stack causes-table"><caption class="sr">${DECIDE.causes(failing)}</caption>
<thead><tr>${head.map((name, i) => html`<th scope="col"${i === 0 ? html` class="number"` : undefined}>${name}</th>`)}</tr></thead>
<tbody>${causes.causes.map(
    (
      cause,
    ) => html`<tr><td class="number" data-label="${DECIDE.users}">${count(cause.count)}</td><td data-label="${DECIDE.cause}"><strong>${nameOf(cause)}</strong></td>
<td data-label="${DECIDE.examples}"><span class="small">${cause.first.map(({ index, userName, userId }) => `${userName || userId || '–'} (${DECIDE.line(count(index + 1))})`).join(' · ')}</span></td>
<td data-label="${DECIDE.remedies}"><div class="buttons">${remedies(at(`/imports/${importId}/fix/${cause.cause}`), cause)}</div></td></tr>\n`,
  )}</tbody></table>${causes.moreCauses > 0 ? html`<p class="soft">${DECIDE.more(causes.moreCauses)}</p>` : undefined}
<p class="soft small">${DECIDE.fixLater}</p></section>`;
}

/** The same as after an import, with the entries of the draft. */
function remedies(href: string, cause: CountedCause): Html {
  return html`${editableField(cause) ? html`<a class="button quiet small" href="${href}">${FIX.edit}</a>` : undefined}
${cause.remedies.map((remedy) => html`<a class="button quiet small" href="${href}/${remedy}">${REMEDIES[remedy] ?? remedy}</a>\n`)}`;
}

/** What the conversion changed, left out or could not read. */
function notes({ summary }: ShownDraft): Html | undefined {
  const groups: Group[] = summary ? [...summary.broken, ...summary.skipped, ...summary.notes] : [];
  if (groups.length === 0) return undefined;
  return html`<details class="card"><summary>${DECIDE.notes} (${count(groups.reduce((sum, group) => sum + group.count, 0))})</summary><table class="stack">
<thead><tr><th scope="col" class="number">${DECIDE.count}</th><th scope="col">${DECIDE.reason}</th><th scope="col">${DECIDE.places}</th></tr></thead>
<tbody>${groups.map(
    (
      group,
    ) => html`<tr><td class="number" data-label="${DECIDE.count}">${count(group.count)}</td><td data-label="${DECIDE.reason}">${group.message}</td>
<td data-label="${DECIDE.places}"><span class="small">${group.examples.map(({ file, line }) => DECIDE.place(file, line)).join(' · ')}</span></td></tr>\n`,
  )}</tbody></table></details>`;
}

function startForm(frame: Frame, view: DecideView): Html {
  const { plan, check, draft, mailRate } = view;
  const { verification = 0, initialisation = 0 } = check.mailKinds ?? {};
  const due = verification + initialisation;
  const broken = (draft.summary?.broken ?? []).reduce((sum, group) => sum + group.count, 0);
  const mails = html`<section class="card"><h2>${DECIDE.mails}</h2>${
    due === 0
      ? html`<p>${DECIDE.noMails}</p><input type="hidden" name="mails" value="${plan.mails}">`
      : html`${list([
          ...(verification > 0 ? [DECIDE.verification(count(verification))] : []),
          ...(initialisation > 0 ? [DECIDE.initialisation(count(initialisation))] : []),
        ])}
<p class="soft small">${mailRate > 0 ? DECIDE.takes(duration((due / mailRate) * 1000), count(mailRate)) : DECIDE.unlimited}</p>
${choices(DECIDE.whenDue, 'mails', { none: DECIDE.hold, auto: DECIDE.send }, plan.mails)}`
  }</section>`;
  const leave = html`<div class="field"><label><input type="checkbox" name="skipBroken" value="1" required>${DECIDE.broken(count(broken))}</label></div>`;
  return html`<form method="post" action="${hrefOf(frame, 'decide')}">${mails}${broken > 0 ? leave : undefined}
${check.counts.succeeded + view.causes.corrected === 0 ? notice(DECIDE.nobody, 'warn') : undefined}<p class="soft">${DECIDE.atMost(plan.timeout)} <a href="${hrefOf(frame, 'options')}">${DECIDE.limit}</a></p>
${buttons(
  frame,
  html`${startButtons(frame, view)}
<a class="button danger" href="${frame.at(`/imports/new/${frame.importId}/discard`)}">${DECIDE.discard}</a>`,
)}</form>`;
}

/** Says how many will be imported: those who passed the check, and those who were corrected since. */
function startButtons({ at, importId }: Frame, { check: { counts }, causes }: DecideView): Html {
  const users = counts.succeeded + causes.corrected;
  if (users > 0) return html`<button>${DECIDE.start(users, count(users), count(counts.total))}</button>`;
  const fix = html`<a class="button" href="${at(`/imports/${importId}/fix`)}">${DECIDE.correctFirst}</a>`;
  return html`${counts.failed > 0 ? fix : undefined}<button class="quiet">${DECIDE.startAnyway}</button>`;
}

export function discardPage(at: Frame['at'], importId: string): Html {
  return html`<section class="message" data-steps><h1>${DECIDE.discardTitle}</h1><p>${DECIDE.discardDoes}</p>
<form method="post" action="${at(`/imports/new/${importId}/discard`)}"><div class="buttons"><button class="danger">${DECIDE.discard}</button>
<a class="button quiet" href="${at(`/imports/new/${importId}`)}">${DECIDE.keepIt}</a></div></form></section>`;
}
