/** The frame of every step, with the heading, the steps and the files; and the request for a step. */
import type { Request, Response } from 'express';
import type { Caller } from '../../contract/permissions.ts';
import { ApiError } from '../../platform/errors.ts';
import { type Html, html } from '../../platform/html/html.ts';
import type { Api } from '../api.ts';
import type { ScreenDeps } from '../deps.ts';
import { type Draft, type DraftFile, type Guess, importOf, isRecognizable, type ShownDraft } from '../shapes.ts';
import { crumb, time } from '../shell/blocks.ts';
import type { ConsoleUrl } from '../shell/show.ts';
import { uploadFiles } from '../shell/upload.ts';
import { IMPORTS } from '../texts/imports.ts';
import { STEPS } from '../texts/new-import.ts';
import type { Plan } from './plan.ts';

export const STEP_NAMES = ['files', 'source', 'columns', 'options', 'check', 'decide'] as const;
export type StepName = (typeof STEP_NAMES)[number];

export interface Frame {
  consoleUrl: ConsoleUrl;
  /** Empty before the first file. */
  importId: string;
  step: StepName;
  files: readonly DraftFile[];
  /** Whether the other steps can be visited. */
  isOpen: boolean;
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
<p class="soft small">${STEPS.nothing}${expiresAt && html` ${STEPS.expires} ${time(expiresAt)}.`}</p></div>`;
}

function entry(frame: Frame, name: StepName): Html {
  const text = STEPS[name];
  if (name === frame.step) return html`<li><a href="${hrefOf(frame, name)}" aria-current="step">${text}</a></li>\n`;
  if (!frame.isOpen) return html`<li>${text}</li>\n`;
  return html`<li><a href="${hrefOf(frame, name)}">${text}</a></li>\n`;
}

/** A form of a step: its fields, and the way back and on. */
export function stepForm(frame: Frame, fields: Html, next: StepName): Html {
  return html`<form method="post" action="${hrefOf(frame, frame.step)}">${fields}${buttons(frame, html`<button>${STEPS.next(STEPS[next])}</button>`)}</form>`;
}

export function buttons(frame: Frame, more: Html | undefined): Html {
  const before = STEP_NAMES.slice(0, STEP_NAMES.indexOf(frame.step)).findLast((step) => !frame.skips?.includes(step));
  return html`<div class="buttons act">${before && html`<a class="button quiet" href="${hrefOf(frame, before)}">${STEPS.back}</a>`}
${more}</div>`;
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
}

/**
 * What the files look like, read as the source that was chosen, if one was; undefined while they have not begun to
 * arrive, or why they cannot be recognized.
 */
export async function readGuess({
  api,
  req,
  draft,
  plan: { encoding, source },
}: WizardStep): Promise<Guess | string | undefined> {
  if (!isRecognizable(draft.files.filter(({ kind }) => kind !== 'hash_parameters'))) return undefined;
  try {
    const query = { ...(encoding ? { encoding } : {}), ...(source ? { source } : {}) };
    return await api.call('guessImport', importOf(req), { query });
  } catch (error) {
    if (error instanceof ApiError && error.id === 'DRAFT-UNREADABLE') return error.message;
    throw error;
  }
}
