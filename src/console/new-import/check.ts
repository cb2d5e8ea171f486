/** The step Check: the files are read, then every user is compared with those who exist. Each part begins by itself. */
import { errorIdOf } from '../../contract/causes.ts';
import type { ApiError } from '../../platform/errors.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { type Draft, isReadable, open } from '../shapes.ts';
import { bar, count, notice } from '../shell/blocks.ts';
import { liveMark } from '../shell/live.ts';
import { CHECK, DECIDE, SOURCE, STEPS } from '../texts/new-import.ts';
import { buttons, type Frame, hrefOf } from './frame.ts';
import { draftState, isChecked, isConverted, type Plan } from './plan.ts';

export interface CheckView {
  result: Draft;
  plan: Plan;
  liveHref: string;
  /** Why the service refused to read or check. */
  problem: Pick<ApiError, 'id' | 'message'> | undefined;
}

export function checkStep(frame: Frame, view: CheckView): Html {
  const { problem, result, liveHref } = view;
  const { content, next } = problem ? refused(frame, problem) : partOf(frame, view);
  const noWorker = isStuck(result) ? notice(CHECK.noWorker, 'warn') : undefined;
  return html`<div id="check" data-swap><section class="card"><h2>${CHECK.title}</h2>${noWorker}${content}</section>
${buttons(frame, next)}</div><div class="live-line">${liveMark(liveHref, draftState(result).shape)}</div>`;
}

/** What is shown of where the draft is, and what can be done. */
interface Part {
  content: Html;
  next?: Html;
}

function partOf(frame: Frame, { result, plan }: CheckView): Part {
  const { state, draft, counts } = result;
  const { error } = draft;
  if (state === 'IMPORT_STATE_CONVERTING') return reading(result);
  if (state === 'IMPORT_STATE_CHECKING') return checking(result);
  if (!isReadable(result)) return arriving(frame, result);
  if (!isConverted(plan, draft)) return byItself(frame, html`<p>${CHECK.uploaded}</p>`, 'read');
  if (state === 'IMPORT_STATE_UNREADABLE') return unreadable(frame, error?.message ?? '');
  if (state === 'IMPORT_STATE_UPLOADING') return byItself(frame, html`<p>${CHECK.uploaded}</p>`, 'read');
  if (error) return refused(frame, { id: errorIdOf(error), message: error.message });
  if (!isChecked(plan, result)) return byItself(frame, html`<p>${CHECK.ready(count(counts.total))}</p>`, 'check');
  return checked(frame, result);
}

/** Whether nobody does the work that is due. */
function isStuck({ missingRoles }: Draft): boolean {
  return missingRoles?.includes('convert') ?? false;
}

function arriving(frame: Frame, result: Draft): Part {
  const { files } = result.draft;
  if (!files.some(({ kind }) => kind === 'users')) {
    const add = html`<a class="button" href="${hrefOf(frame, 'files')}">${SOURCE.add}</a>`;
    return { content: html`<p>${CHECK.noUsers}</p>`, next: add };
  }
  return { content: html`<p role="status">${CHECK.uploading}</p>${oneBar('upload', result)}` };
}

function reading(result: Draft): Part {
  const said = isStuck(result) ? undefined : html`<p role="status">${CHECK.reading}</p>`;
  return { content: html`${said}${oneBar('convert', result)}` };
}

function checking(result: Draft): Part {
  const { check } = result.draft;
  const shown =
    check && html`${bar('check', check.counts, 'tall')}<p class="small soft" data-text="check">${textOf(result)}</p>`;
  const said = isStuck(result) ? undefined : html`<p role="status">${CHECK.checking}</p>`;
  return { content: html`${said}${shown}` };
}

function checked(frame: Frame, result: Draft): Part {
  const { check } = result.draft;
  const isWhole = !check || open(check) === 0;
  const again = isWhole ? undefined : form(frame, CHECK.check);
  return {
    content: html`<p role="status">${isWhole ? CHECK.checked : CHECK.ended}</p>${check && bar('check', check.counts, 'tall')}<p class="small soft">${textOf(result)}</p>`,
    next: html`${again}<a class="button${isWhole ? '' : ' quiet'}" href="${hrefOf(frame, 'decide')}">${STEPS.next(STEPS.decide)}</a>`,
  };
}

function textOf(result: Draft): string | undefined {
  return draftState(result).text.check;
}

/** A button that needs no decision: scripts press it. */
function byItself(frame: Frame, content: Html, part: 'read' | 'check'): Part {
  const text = part === 'read' ? CHECK.begin : CHECK.check;
  return { content, next: html`<send-form>${form(frame, text, part)}</send-form>` };
}

/** @param part what the button does once; without it, the files are read or the users checked, and again if need be */
function form(frame: Frame, text: string, part = ''): Html {
  return html`<form method="post" action="${hrefOf(frame, 'check')}"><input type="hidden" name="part" value="${part}"><button>${text}</button></form>`;
}

function unreadable(frame: Frame, message: string): Part {
  return {
    content: html`<div class="notice bad" role="alert"><strong>${CHECK.unreadable}</strong><br>${message}</div><p>${CHECK.unreadableHint}</p>`,
    next: html`<a class="button quiet" href="${hrefOf(frame, 'source')}">${STEPS.source}</a><a class="button quiet" href="${hrefOf(frame, 'columns')}">${STEPS.columns}</a><a class="button quiet" href="${hrefOf(frame, 'files')}">${STEPS.files}</a>${form(frame, CHECK.again)}`,
  };
}

function refused(frame: Frame, { id, message }: { id: string; message: string }): Part {
  // To check again would say the same.
  const isNameless = id === 'DRAFT-ORG';
  const options = html`<a class="button${isNameless ? '' : ' quiet'}" href="${hrefOf(frame, 'options')}">${DECIDE.limit}</a>`;
  return {
    content: html`<div class="notice bad" role="alert"><strong>${CHECK.failed}</strong><br>${isNameless ? CHECK.noOrganization : message}</div>`,
    next: html`${options}${isNameless ? undefined : form(frame, CHECK.check)}`,
  };
}

/** @param name of what changes while the page is open; see `draftState` */
function oneBar(name: 'upload' | 'convert', result: Draft): Html {
  const { text, bars } = draftState(result);
  return html`<svg class="bar tall" role="img" aria-label="${text[name] || CHECK.title}" data-bar="${name}" preserveAspectRatio="none" viewBox="0 0 100 10"><rect class="succeeded" x="0" y="0" width="${bars?.[name]?.[0]}" height="10"/></svg>
<p class="small soft" data-text="${name}">${text[name]}</p>`;
}
