/** Why users of an import failed, with what can be done about each cause. */
import { type Html, html } from '../../html.ts';
import type { Causes, CountedCause } from '../../imports/answers.ts';
import type { At } from '../page/at.ts';
import { count } from '../page/format.ts';
import { FIX, REMEDIES } from '../texts/fix.ts';
import { ONE } from '../texts/import.ts';
import { editableField, nameOf } from './shapes.ts';

export function causesPage(at: At, importId: string, causes: Causes, isDraft: boolean): Html {
  const path = `/imports/${importId}`;
  return html`<p class="crumb"><a href="${at(path)}">${ONE.title(importId)}</a></p>
<div class="headline"><h1>${FIX.heading}</h1>${sendAgain(at, importId, causes.corrected, isDraft)}</div>
${causes.causes.length === 0 ? html`<p class="card">${FIX.none}</p>` : table(at, path, causes)}
${causes.moreCauses > 0 ? html`<p class="soft">${FIX.more(count(causes.moreCauses))}</p>` : undefined}`;
}

/** Leads to the action that tries corrected users again; before the start of an import, to the decision. */
export function sendAgain(at: At, importId: string, corrected: number, isDraft: boolean): Html | undefined {
  if (corrected === 0) return undefined;
  const [path, text] = isDraft
    ? [`/imports/new/${importId}/decide`, FIX.decide]
    : [`/imports/${importId}/retry`, FIX.send(count(corrected))];
  return html`<span class="state good">${FIX.corrected(count(corrected))}</span>
<div class="buttons"><a class="button" href="${at(path)}">${text}</a></div>`;
}

function table(at: At, path: string, { causes }: Causes): Html {
  return html`<div class="card flush"><table class="stack"><caption class="sr">${FIX.heading}</caption>
<thead><tr><th scope="col" class="number">${FIX.users}</th><th scope="col">${FIX.cause}</th><th scope="col">${FIX.remedies}</th></tr></thead>
<tbody>${causes.map((cause) => row(at, path, cause))}</tbody></table></div>`;
}

function row(at: At, path: string, cause: CountedCause): Html {
  const href = `${path}/fix/${cause.cause}`;
  const rows = cause.first.map(({ index }) => count(index + 1)).join(', ');
  return html`<tr><td class="number" data-label="${FIX.users}">${count(cause.count)}</td>
<td data-label="${FIX.cause}"><div><strong>${nameOf(cause)}</strong><div class="soft small">${FIX.rows} ${rows}</div></div></td>
<td data-label="${FIX.remedies}"><div class="buttons">${
    editableField(cause) ? html`<a class="button quiet small" href="${at(href)}">${FIX.edit}</a>` : undefined
  }
${cause.remedies.map((remedy) => html`<a class="button quiet small" href="${at(`${href}/${remedy}`)}">${REMEDIES[remedy] ?? remedy}</a>\n`)}</div></td></tr>\n`;
}
