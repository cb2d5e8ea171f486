/** The step Source: which system the files come from, as recognized from their beginning, or another one. */
import { type Html, html } from '../../html.ts';
import { SOURCES } from '../../sources/registry.ts';
import { notice } from '../page/blocks.ts';
import { liveMark } from '../page/live.ts';
import { SOURCE } from '../texts/new-import.ts';
import { buttons, type Frame, hrefOf, stepForm } from './frame.ts';
import { isMapped } from './plan.ts';
import type { Guess } from './shapes.ts';

export interface SourceView {
  /** Undefined while the files have not begun to arrive. */
  guess: Guess | undefined;
  /** Why the files cannot be recognized. */
  problem: string | undefined;
  /** Of the plan; empty: as recognized. */
  source: string;
  live: { href: string; shape: string };
}

export function sourceStep(frame: Frame, { guess, problem, source, live }: SourceView): Html {
  if (frame.files.length === 0) {
    return html`<section class="card"><p>${SOURCE.none}</p><p><a class="button" href="${hrefOf(frame, 'files')}">${SOURCE.add}</a></p></section>`;
  }
  const chosen = source || guess?.source || guess?.candidates[0]?.source || '';
  const isWaiting = !guess && !problem;
  const waits = html`<section class="card"><h2>${SOURCE.title}</h2><p>${SOURCE.waiting}</p>${liveMark(live.href, live.shape)}</section>${buttons(frame, undefined)}`;
  return html`<div id="guess" data-swap>${isWaiting ? waits : stepForm(frame, recognized(guess, problem, chosen), isMapped(chosen) || chosen === '' ? 'columns' : 'options')}</div>`;
}

function recognized(guess: Guess | undefined, problem: string | undefined, chosen: string): Html {
  const candidates = guess?.candidates ?? [];
  const isCertain = guess !== undefined && guess.source !== '';
  const sentence = isCertain
    ? SOURCE.certain(titleOf(guess.source))
    : candidates.length > 0
      ? SOURCE.uncertain
      : SOURCE.unknown;
  return html`<section class="card"><h2>${problem ? SOURCE.title : sentence}</h2>
${problem && notice(`${SOURCE.unreadable} ${problem}`, 'bad')}
${guess?.files.map(({ problem }) => notice(problem, 'bad'))}
${guess && files(guess)}
<details${isCertain && chosen === guess.source ? undefined : html` open`}><summary>${SOURCE.choose}</summary>
<div class="field"><label for="source">${SOURCE.source}</label><select id="source" name="source">
${candidates.length > 0 ? html`<optgroup label="${SOURCE.recognized}">${candidates.map((one) => option(one.source, one.title, chosen))}</optgroup>` : undefined}
<optgroup label="${SOURCE.all}">${SOURCES.filter(({ name }) => !candidates.some((one) => one.source === name)).map(({ name, title }) => option(name, title, chosen))}</optgroup></select></div></details></section>`;
}

function option(name: string, title: string, chosen: string): Html {
  return html`<option value="${name}"${name === chosen ? html` selected` : undefined}>${title}</option>`;
}

function files({ files: all }: Guess): Html {
  return html`<table class="stack"><caption class="sr">${SOURCE.file}</caption><thead><tr><th scope="col">${SOURCE.file}</th><th scope="col">${SOURCE.content}</th><th scope="col">${SOURCE.format}</th></tr></thead>
<tbody>${all.map(
    ({ name, isHashes, format, encoding, delimiter, isGzip }) => html`<tr><th scope="row">${name}</th>
<td data-label="${SOURCE.content}">${isHashes ? SOURCE.ofHashes : SOURCE.ofUsers}</td>
<td data-label="${SOURCE.format}">${[format.toUpperCase(), SOURCE.delimiters[delimiter], encoding, isGzip ? 'gzip' : ''].filter(Boolean).join(', ')}</td></tr>\n`,
  )}</tbody></table>`;
}

/** The name of a system as people write it. */
export function titleOf(source: string): string {
  return SOURCES.find(({ name }) => name === source)?.title ?? source;
}
