import { type Html, html } from '../../platform/html/layout.ts';
import { type Draft, isReadable } from '../shapes.ts';
import { bar, count, notice } from '../shell/blocks.ts';
import { liveMark } from '../shell/live.ts';
import { CHECK, DECIDE, STEPS } from '../texts/new-import.ts';
import { buttons, type Frame, hrefOf } from './frame.ts';
import { draftState, isChecked, isConverted, type Plan, share } from './plan.ts';
/** The step Check: the files are read, then every user is compared with those who exist. Each part begins by itself. */

export interface CheckView {
  result: Draft;
  plan: Plan;
  liveHref: string;
  /** Why the service refused to read or check. */
  problem: string | undefined;
}

export function checkStep(frame: Frame, view: CheckView): Html {
  const { problem, result, liveHref } = view;
  const { content, next } = problem ? refused(frame, problem) : partOf(frame, view);
  const noWorker = result.missingRoles?.includes('convert') ? notice(CHECK.noWorker, 'warn') : undefined;
  return html`<div id="check" data-swap><section class="card"><h2>${CHECK.title}</h2>${noWorker}${content}</section>
${buttons(frame, next)}</div><div class="live-line">${liveMark(liveHref, draftState(result).shape)}</div>`;
}

interface Part {
  content: Html;
  next?: Html;
}

function partOf(frame: Frame, { result, plan }: CheckView): Part {
  const { state, draft, counts } = result;
  const { files, error, check } = draft;
  const { text } = draftState(result);
  if (state === 'IMPORT_STATE_CONVERTING') {
    const { bytes, totalBytes } = draft.progress ?? { bytes: 0, totalBytes: 0 };
    return {
      content: html`<p role="status">${CHECK.reading}</p>${oneBar('convert', share(bytes, totalBytes), text.convert ?? '')}`,
    };
  }
  if (state === 'IMPORT_STATE_CHECKING') {
    const shown = check
      ? html`${bar('check', check.counts, 'tall')}<p class="small soft" data-text="check">${text.check}</p>`
      : undefined;
    return { content: html`<p role="status">${CHECK.checking}</p>${shown}` };
  }
  if (!isReadable(result)) {
    if (!files.some(({ kind }) => kind === 'users')) return { content: html`<p>${CHECK.noUsers}</p>` };
    const sent = files.reduce((sum, { offset }) => sum + offset, 0);
    const size = files.reduce((sum, one) => sum + one.size, 0);
    return {
      content: html`<p role="status">${CHECK.uploading}</p>${oneBar('upload', share(sent, size), text.upload ?? '')}`,
    };
  }
  if (!isConverted(plan, draft)) return byItself(frame, html`<p>${CHECK.uploaded}</p>`, CHECK.begin);
  if (state === 'IMPORT_STATE_UNREADABLE') return unreadable(frame, error?.message ?? '');
  if (state === 'IMPORT_STATE_UPLOADING') return byItself(frame, html`<p>${CHECK.uploaded}</p>`, CHECK.begin);
  if (error) return refused(frame, error.message);
  if (!isChecked(plan, result)) return byItself(frame, html`<p>${CHECK.ready(count(counts.total))}</p>`, CHECK.check);
  return {
    content: html`<p role="status">${CHECK.checked}</p>${check && bar('check', check.counts, 'tall')}<p class="small soft">${text.check}</p>`,
    next: html`<a class="button" href="${hrefOf(frame, 'decide')}">${STEPS.next(STEPS.decide)}</a>`,
  };
}

/** Needs no decision: scripts press the button. */
function byItself(frame: Frame, content: Html, text: string): Part {
  return { content, next: html`<send-form>${form(frame, text)}</send-form>` };
}

function form(frame: Frame, text: string): Html {
  return html`<form method="post" action="${hrefOf(frame, 'check')}"><button>${text}</button></form>`;
}

function unreadable(frame: Frame, message: string): Part {
  return {
    content: html`<div class="notice bad" role="alert"><strong>${CHECK.unreadable}</strong><br>${message}</div><p>${CHECK.unreadableHint}</p>`,
    next: html`<a class="button quiet" href="${hrefOf(frame, 'source')}">${STEPS.source}</a><a class="button quiet" href="${hrefOf(frame, 'files')}">${STEPS.files}</a>${form(frame, CHECK.again)}`,
  };
}

function refused(frame: Frame, message: string): Part {
  return {
    content: html`<div class="notice bad" role="alert"><strong>${CHECK.failed}</strong><br>${message}</div>`,
    next: html`<a class="button quiet" href="${hrefOf(frame, 'options')}">${DECIDE.limit}</a>${form(frame, CHECK.check)}`,
  };
}

function oneBar(name: string, width: number, text: string): Html {
  return html`<svg class="bar tall" role="img" aria-label="${text || CHECK.title}" data-bar="${name}" preserveAspectRatio="none" viewBox="0 0 100 10"><rect class="succeeded" x="0" y="0" width="${width}" height="10"/></svg>
<p class="small soft" data-text="${name}">${text}</p>`;
}
