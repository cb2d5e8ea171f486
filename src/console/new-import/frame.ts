import { type Html, html } from '../../platform/html/layout.ts';
import type { DraftFile } from '../shapes.ts';
import { time } from '../shell/blocks.ts';
import type { At } from '../shell/show.ts';
import { uploadFiles } from '../shell/upload.ts';
import { IMPORTS } from '../texts/imports.ts';
import { STEPS } from '../texts/new-import.ts';
/** The frame of every step: the heading, the steps, the files. */

export const STEP_NAMES = ['files', 'source', 'columns', 'options', 'check', 'decide'] as const;
export type StepName = (typeof STEP_NAMES)[number];

export interface Frame {
  at: At;
  /** Empty before the first file. */
  importId: string;
  step: StepName;
  files: readonly DraftFile[];
  /** Whether the other steps can be visited. */
  isOpen: boolean;
  /** What was chosen and is not kept yet, with a question mark. */
  query: string;
  expiresAt?: string | undefined;
  /** Steps with nothing to do: the way back passes them, and they can be visited. */
  skips?: readonly StepName[];
}

export function stepPath(importId: string, step: StepName, query = ''): string {
  return `/imports/new/${importId}/${step}${query}`;
}

/** The address of a step of this draft, with what was chosen. */
export function hrefOf({ at, importId, query }: Frame, step: StepName): string {
  return at(stepPath(importId, step, query));
}

export function stepPage(frame: Frame, content: Html | undefined): Html {
  const { at, importId, step, files, expiresAt } = frame;
  const hasZone = step === 'files';
  return html`<div data-steps><p class="crumb"><a href="${at('/imports')}">${IMPORTS.title}</a></p>
<div class="headline"><h1>${STEPS.title}</h1></div>
<nav class="steps" aria-label="${STEPS.steps}"><ol>${STEP_NAMES.map((name) => entry(frame, name))}</ol></nav>
${hasZone || files.some(({ size, offset }) => offset < size) ? uploadFiles(at, { importId, files, hasZone }) : undefined}
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
