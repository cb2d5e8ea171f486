/**
 * Actions on an import. Each has a page that says in numbers what it will do; its button does it. They work without
 * JavaScript. An undo also asks for the number of the import.
 */

import type { Answer } from '../../contract/client.ts';
import type { Causes } from '../../contract/import-types.ts';
import { field, type Problem } from '../../platform/html/forms.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { ownValue } from '../../platform/text/names.ts';
import { open, type Progress, settled, stateOf } from '../shapes.ts';
import { count, crumb, list, notice } from '../shell/blocks.ts';
import type { ConsoleUrl } from '../shell/show.ts';
import { ONE } from '../texts/import.ts';
import { ACTIONS, type FailedUsers, UNMAILED } from '../texts/import-actions.ts';
import { KEPT } from '../texts/imports.ts';

type UndoPreview = Answer<'previewImportUndo'>;
type SignInMailsPreview = Answer<'previewSignInMails'>;
type SignInMails = Answer<'getImportSignIns'>['mails'];
export type ActionName = 'pause' | 'resume' | 'retry' | 'send_mails' | 'sign_in_mails' | 'cancel' | 'undo';

interface Action {
  name: ActionName;
  button: string;
  isDanger: boolean;
}

const ALL: readonly ActionName[] = ['pause', 'resume', 'retry', 'send_mails', 'sign_in_mails', 'cancel', 'undo'];
const DANGEROUS: ReadonlySet<ActionName> = new Set(['cancel', 'undo']);
const FITS: Record<ActionName, (progress: Progress, state: string) => boolean> = {
  pause: (_, state) => state === 'RUNNING',
  cancel: (_, state) => state === 'RUNNING' || state === 'PAUSED',
  resume: (_, state) => ['PAUSED', 'TIMED_OUT', 'CANCELLED'].includes(state),
  retry: ({ counts }, state) =>
    counts.failed > 0 && ['PAUSED', 'COMPLETED_WITH_ERRORS', 'TIMED_OUT', 'CANCELLED'].includes(state),
  send_mails: ({ mails, dryRun }, state) => mails.held > 0 && !dryRun && !['UNDOING', 'UNDONE'].includes(state),
  sign_in_mails: ({ counts, mails, dryRun }, state) =>
    !dryRun &&
    counts.succeeded > 0 &&
    mails.held === 0 &&
    ['SUCCEEDED', 'COMPLETED_WITH_ERRORS', 'TIMED_OUT', 'CANCELLED'].includes(state),
  undo: ({ counts, dryRun }, state) =>
    !dryRun && counts.succeeded > 0 && !['RUNNING', 'UNDOING', 'UNDONE'].includes(state),
};

/** Whether the state of the import allows the action. */
export function fits(name: ActionName, progress: Progress): boolean {
  return FITS[name](progress, stateOf(progress));
}

/** The actions that the import's state allows. */
export function actionsFor(progress: Progress): Action[] {
  return ALL.filter((name) => fits(name, progress)).map((name) => ({
    name,
    button: ACTIONS[name].button,
    isDanger: DANGEROUS.has(name),
  }));
}

/**
 * What the page of the import says about an action that was just done: it may have come to its end already.
 * @param mails the mails to those who have not signed in
 */
export function doneText(name: ActionName, progress: Progress, mails: SignInMails | undefined): string {
  const state = stateOf(progress);
  if (name === 'sign_in_mails' && mails && mails.state !== 'WRITING') {
    const { ended, stopped } = ACTIONS.sign_in_mails;
    return mails.state === 'WRITTEN' ? ended(mails.users) : stopped;
  }
  if (name === 'undo') return state === 'UNDONE' ? ACTIONS.undo.ended(progress.counts.undone) : ACTIONS.undo.done;
  const isOver = !['RUNNING', 'PAUSED'].includes(state);
  return isOver && (name === 'resume' || name === 'retry') ? ACTIONS[name].ended : ACTIONS[name].done;
}

export function isActionName(text: string): text is ActionName {
  return (ALL as readonly string[]).includes(text);
}

/** Whether the action takes a new time limit. */
function isTimed(name: ActionName): boolean {
  return name === 'resume' || name === 'retry';
}

/** What is wrong with the form. */
export interface ActionProblem {
  field?: 'timeout' | 'number' | 'url';
  message: string;
}

export interface ActionView {
  name: ActionName;
  progress: Progress;
  /** What an undo would do. */
  preview: UndoPreview | undefined;
  /** Who would get the mail to those who have not signed in. */
  mailPreview: SignInMailsPreview | undefined;
  /** Why users failed, before they are sent again. */
  causes: Causes | undefined;
  typed: Readonly<Record<string, string>>;
  problem: ActionProblem | undefined;
}

export function actionPage(consoleUrl: ConsoleUrl, view: ActionView): Html {
  const { name, progress, problem } = view;
  const { importId: id } = progress;
  const { title, button } = ACTIONS[name];
  const isPossible = fits(name, progress) && (name !== 'retry' || isOfUse(view));
  const isMail = name === 'sign_in_mails';
  return html`${crumb({ href: consoleUrl(`/imports/${id}`), text: ONE.title(id) })}
<section class="message"><h1>${title}</h1>
${notice(problem?.message, 'bad', 'problem')}
${
  isPossible
    ? html`${list(sentences(view), 'does')}${reasons(view)}
<form method="post" action="${consoleUrl(`/imports/${id}/${name}`)}">
${isTimed(name) ? timeoutField(view) : undefined}${name === 'undo' ? numberField(view) : undefined}${isMail ? urlField(view) : undefined}
<div class="buttons"><button${DANGEROUS.has(name) ? html` class="danger"` : undefined}>${button}</button>
<a class="button quiet" href="${consoleUrl(`/imports/${id}`)}">${ACTIONS.back}</a></div></form>`
    : html`<p>${name === 'retry' && fits(name, progress) ? ACTIONS.retry.nobody : ACTIONS.unavailable}</p><p><a class="button quiet" href="${consoleUrl(`/imports/${id}`)}">${ACTIONS.back}</a></p>`
}</section>`;
}

/** Whether sending failed users again sends anybody. */
function isOfUse({ causes, progress }: ActionView): boolean {
  return sentAgain(causes, progress) > 0;
}

/** How many users an import sends again. */
export function sentAgain(causes: Causes | undefined, progress: Pick<Progress, 'counts'>): number {
  const { corrected, refused } = failedUsers(causes, progress);
  return corrected + refused + open(progress);
}

/** What `_retry` does with the failed users. */
function failedUsers(causes: Causes | undefined, { counts }: Pick<Progress, 'counts'>): FailedUsers {
  if (!causes) return { corrected: 0, refused: counts.failed, invalid: 0 };
  const { failed, corrected } = causes;
  // Other users are valid, and failed for one cause each.
  const refused = causes.causes.reduce((sum, { id, count }) => sum + (id === 'IMPORT-USER-INVALID' ? 0 : count), 0);
  return { corrected, refused, invalid: Math.max(0, failed - corrected - refused) };
}

function sentences({ name, progress, preview, mailPreview, causes }: ActionView): string[] {
  const { counts, mails } = progress;
  if (name === 'pause' || name === 'cancel') return ACTIONS[name].does(settled(counts), open(progress));
  if (name === 'resume') return ACTIONS.resume.does(open(progress));
  if (name === 'retry') return ACTIONS.retry.does(failedUsers(causes, progress), open(progress));
  if (name === 'send_mails') return ACTIONS.send_mails.does(mails.held);
  if (name === 'sign_in_mails') return ACTIONS.sign_in_mails.does(mailPreview?.users ?? 0);
  const unsent = mails.pending + mails.held;
  return ACTIONS.undo.does(preview?.removed ?? 0, preview?.kept ?? 0, { sent: mails.sent, unsent });
}

function reasons({ preview, mailPreview }: ActionView): Html | undefined {
  if (mailPreview && mailPreview.reasons.length > 0) {
    const others = mailPreview.reasons.map(({ reason, users }) => `${count(users)} ${UNMAILED[reason]}`);
    return html`<p>${ACTIONS.sign_in_mails.others}</p>${list(others)}`;
  }
  if (!preview || preview.reasons.length === 0) return undefined;
  return list(preview.reasons.map(({ reason, users }) => `${count(users)} ${ownValue(KEPT, reason) ?? reason}`));
}

function timeoutField({ progress, typed, problem }: ActionView): Html {
  const isOver = Date.parse(progress.deadline) <= Date.now();
  return field({
    name: 'timeout',
    label: ACTIONS.timeout,
    value: typed.timeout,
    hint: isOver ? ACTIONS.timeoutNeeded : ACTIONS.timeoutHint,
    isOptional: !isOver,
    problem: problemOf(problem),
  });
}

function urlField({ typed, problem }: ActionView): Html {
  const { url: label, urlHint: hint } = ACTIONS.sign_in_mails;
  return field({ name: 'url', label, hint, value: typed.url, isOptional: true, problem: problemOf(problem) });
}

function numberField({ progress, typed, problem }: ActionView): Html {
  return field({
    name: 'number',
    label: ACTIONS.confirm(progress.importId),
    value: typed.number,
    problem: problemOf(problem),
    more: html` inputmode="numeric"`,
  });
}

function problemOf(problem: ActionProblem | undefined): Problem | undefined {
  return problem && { message: problem.message, fields: problem.field ? [problem.field] : [] };
}
