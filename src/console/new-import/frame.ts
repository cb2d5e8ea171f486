/** The frame of every step, with the heading, the steps and the files; and the request for a step. */
import type { Request, Response } from 'express';
import { errorIdOf } from '../../contract/causes.ts';
import type { Answer } from '../../contract/client.ts';
import type { Caller } from '../../contract/permissions.ts';
import { ApiError } from '../../platform/errors.ts';
import { openFairQueue } from '../../platform/fair-queue.ts';
import { goneSignal } from '../../platform/http/errors.ts';
import { type Html, html } from '../../platform/text/html.ts';
import type { Api } from '../api.ts';
import type { ScreenDeps } from '../deps.ts';
import {
  type Draft,
  type DraftFile,
  type Guess,
  importOf,
  isComplete,
  isRecognizable,
  type ShownDraft,
} from '../shapes.ts';
import { crumb, time } from '../shell/blocks.ts';
import type { ConsoleUrl } from '../shell/show.ts';
import { uploadFiles } from '../shell/upload.ts';
import { IMPORTS } from '../texts/imports.ts';
import { STEPS } from '../texts/new-import.ts';
import { isChecked, isConverted, type Plan } from './plan.ts';

export const STEP_NAMES = ['files', 'source', 'columns', 'options', 'check', 'decide'] as const;
export type StepName = (typeof STEP_NAMES)[number];

/** What is known about a step; a locked one cannot be visited yet. */
type Mark = 'done' | 'wrong' | 'locked';
type Marks = Readonly<Partial<Record<StepName, Mark>>>;

export interface Frame {
  consoleUrl: ConsoleUrl;
  /** Empty before the first file. */
  importId: string;
  step: StepName;
  files: readonly DraftFile[];
  /** How far the steps are; undefined before the first file, when only the first can be visited. */
  marks?: Marks | undefined;
  /** Where the draft is, for the foot of the page. */
  state?: Html;
  /** What was chosen and is not kept yet, with a question mark. */
  query: string;
  expiresAt?: string;
  /** Steps with nothing to do: the way back passes them, and they can be visited. */
  skips?: readonly StepName[];
}

export function stepPath(importId: string, step: StepName, query = ''): string {
  return `/imports/new/${importId}/${step}${query}`;
}

/** The address of a step of this draft, with what was chosen. */
export function hrefOf({ consoleUrl, importId, query }: Frame, step: StepName): string {
  return consoleUrl(stepPath(importId, step, query));
}

export function stepPage(frame: Frame, content: Html | undefined): Html {
  const { consoleUrl, importId, step, files, expiresAt } = frame;
  const hasZone = step === 'files';
  return html`<div data-steps>${crumb({ href: consoleUrl('/imports'), text: IMPORTS.title })}
<div class="headline"><h1>${STEPS.title}</h1></div>
<nav class="steps" aria-label="${STEPS.steps}"><ol>${STEP_NAMES.map((name) => entry(frame, name))}</ol></nav>
${hasZone || files.some(({ size, offset }) => offset < size) ? uploadFiles(consoleUrl, { importId, files, hasZone }) : undefined}
${content}
<p class="soft small">${STEPS.nothing}${expiresAt && html` ${STEPS.expires} ${time(expiresAt)}.`}
${importId && step !== 'decide' ? html`<a href="${consoleUrl(`/imports/new/${importId}/discard`)}">${STEPS.discard}</a>` : undefined}</p></div>`;
}

function entry(frame: Frame, name: StepName): Html {
  const isHere = name === frame.step;
  const mark = frame.marks ? frame.marks[name] : isHere || name === 'files' ? undefined : 'locked';
  const text = html`<span>${STEPS[name]}</span>${mark && html`<span class="sr"> ${STEPS.marks[mark]}</span>`}`;
  if (mark === 'locked' && !isHere) return html`<li class="locked"><span class="step">${text}</span></li>\n`;
  const current = isHere ? html` aria-current="step"` : undefined;
  return html`<li${mark && html` class="${mark}"`}><a class="step" href="${hrefOf(frame, name)}"${current}>${text}</a></li>\n`;
}

/** How far the steps of a draft are, with what was chosen so far. */
export function marksOf(result: Draft, plan: Plan): Marks {
  const { state, draft } = result;
  const { files, error } = draft;
  const isUnread = ['IMPORT_STATE_UPLOADING', 'IMPORT_STATE_UNREADABLE'].includes(state);
  const isRead = !isUnread && isConverted(plan, draft);
  const isOver = isChecked(plan, result);
  const isDone: Partial<Record<StepName, boolean>> = {
    files: files.length === 0 || isComplete(files),
    source: isRead || plan.source !== '',
    columns: isRead || Object.keys(plan.mapping).length > 0,
    options: isRead,
    check: isOver,
  };
  const done = STEP_NAMES.filter((name) => isDone[name]).map((name) => [name, 'done'] as const);
  const isWrong = !isOver && (state === 'IMPORT_STATE_UNREADABLE' || error !== undefined);
  return {
    ...Object.fromEntries(done),
    ...(isWrong ? { check: 'wrong' } : {}),
    ...(isWrong && errorIdOf(error) === 'DRAFT-ORG' ? { options: 'wrong' } : {}),
    ...(isOver ? {} : { decide: 'locked' }),
  };
}

/** A form of a step: its fields, and the way back and on. */
export function stepForm(frame: Frame, fields: Html, next: StepName): Html {
  return html`<form method="post" action="${hrefOf(frame, frame.step)}">${fields}${buttons(frame, html`<button>${STEPS.next(STEPS[next])}</button>`)}</form>`;
}

/** The foot of a step, which stays in view: the way back, where the draft is, and the way on. */
export function buttons(frame: Frame, more: Html | undefined): Html {
  const at = STEP_NAMES.indexOf(frame.step);
  const before = STEP_NAMES.slice(0, at).findLast((step) => !frame.skips?.includes(step));
  return html`<div class="foot"><div class="foot-line">${before && html`<a class="button quiet" href="${hrefOf(frame, before)}">${STEPS.back}</a>`}
<p class="foot-state" id="foot-state" data-swap>${frame.state} <span class="soft small">${STEPS.ofSteps(at + 1, STEP_NAMES.length)}</span></p>
<div class="buttons">${more}</div></div></div>`;
}

/** The password of a user that a person has tried on Decide, and what came of it. */
export interface Tried {
  loginName: string;
  result?: Answer<'tryImportPassword'>['result'];
  problem?: string;
}

/** One request for a step: the draft, what was chosen, and who asks. */
export interface WizardStep extends Omit<ScreenDeps, 'api'> {
  req: Request;
  res: Response;
  api: Api;
  caller: Caller;
  result: Draft;
  draft: ShownDraft;
  plan: Plan;
  frame: Frame;
  /** What was typed into the form of this step, if it was refused or the session had ended. */
  typed: Readonly<Record<string, string>>;
  /** Why the form was refused. */
  problem?: ApiError;
  /** On Decide: the password that a person has just tried. */
  tried?: Tried;
}

/**
 * The guesses of one person, one after the other: what is chosen on a page asks for one each time, and the API refuses to
 * make several at once.
 */
const turns = openFairQueue({ limit: Number.POSITIVE_INFINITY, limitPerKey: 1 });

/**
 * What the files look like, read as the source that was chosen, if one was; undefined while they have not begun to
 * arrive, or why they cannot be recognized.
 */
export async function readGuess({
  api,
  req,
  res,
  caller,
  draft,
  plan: { encoding, sheet, source },
}: WizardStep): Promise<Guess | string | undefined> {
  if (!isRecognizable(draft.files.filter(({ kind }) => kind !== 'hash_parameters'))) return undefined;
  try {
    const query = { ...(encoding ? { encoding } : {}), ...(sheet ? { sheet } : {}), ...(source ? { source } : {}) };
    const guess = () => api.call('guessImport', importOf(req), { query });
    return await turns.run(caller.userId, guess, { signal: goneSignal(res) });
  } catch (error) {
    if (error instanceof ApiError && error.id === 'DRAFT-UNREADABLE') return error.message;
    throw error;
  }
}
