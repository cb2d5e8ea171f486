/** The users of a cause with a cell each for the invalid value. With scripts, a cell is saved when it is left. */
import { type Html, html } from '../../html.ts';
import type { CountedCause } from '../../imports/answers.ts';
import type { At } from '../page/at.ts';
import { count } from '../page/format.ts';
import { FIX } from '../texts/fix.ts';
import { sendAgain } from './causes-page.ts';
import { fieldName, nameOf } from './shapes.ts';

/** A user of the cause. */
export interface Cell {
  index: number;
  userName: string;
  userId: string;
  value: string;
  /** What is wrong with the value that was typed. */
  problem?: string | undefined;
  isGood?: boolean;
}

export interface CellsView {
  importId: string;
  cause: CountedCause;
  field: string;
  cells: Cell[];
  /** Index to continue at. */
  next: number | undefined;
  corrected: number;
  /** The import has not started. */
  isDraft: boolean;
}

export function cellsPage(at: At, view: CellsView): Html {
  const { importId, cause, field, cells, next, corrected, isDraft } = view;
  const path = `/imports/${importId}/fix`;
  const name = fieldName(field);
  return html`<p class="crumb"><a href="${at(path)}">${FIX.heading}</a></p>
<div class="headline"><h1>${nameOf(cause)}</h1><span class="soft">${FIX.count(cause.count, count(cause.count))}</span>${sendAgain(at, importId, corrected, isDraft)}</div>
${
  cells.length === 0
    ? html`<p class="card">${FIX.gone}</p>`
    : html`<fix-cells src="${at(`/api/admin/v1/imports/${importId}/items`)}" field="${field}" good="${FIX.good}" failed="${FIX.failed}" ended="${FIX.signIn}">
<form method="post" action="${at(`${path}/${cause.cause}`)}"><div class="card flush"><table class="stack"><caption class="sr">${nameOf(cause)}</caption>
<thead><tr><th scope="col" class="number">${FIX.row}</th><th scope="col">${FIX.user}</th><th scope="col">${name}</th></tr></thead>
<tbody>${cells.map((cell) => row(cell, name))}</tbody></table></div>
<div class="buttons"><button>${FIX.save}</button>
${next === undefined ? undefined : html`<a class="button quiet" href="${at(`${path}/${cause.cause}?from=${next}`)}">${FIX.next}</a>`}</div></form></fix-cells>`
}`;
}

function row({ index, userName, userId, value, problem, isGood }: Cell, name: string): Html {
  const id = `v${index}`;
  const wrong = problem ? html` aria-invalid="true"` : undefined;
  return html`<tr><td class="number soft" data-label="${FIX.row}">${count(index + 1)}</td>
<td data-label="${FIX.user}"><div>${userName || '–'}<div class="soft small mono">${userId}</div></div></td>
<td data-label="${name}"><div class="grow"><input class="cell" id="${id}" name="${id}" value="${value}" data-index="${index}" autocomplete="off" spellcheck="false"
 aria-label="${FIX.value(name)}, ${FIX.row} ${index + 1}" aria-describedby="${id}-said"${wrong}>
<p class="said small ${isGood ? 'good' : ''}" id="${id}-said" role="status">${problem ?? (isGood ? FIX.good : '')}</p></div></td></tr>\n`;
}
