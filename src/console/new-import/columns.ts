/** The step Columns: what each column of a file of your own becomes, with examples. */
import { type Html, html } from '../../html.ts';
import { notice } from '../page/blocks.ts';
import { liveMark } from '../page/live.ts';
import { COLUMNS, FIELDS } from '../texts/new-import.ts';
import { exampleUser, statesOf } from './example-user.ts';
import { buttons, type Frame, stepForm } from './frame.ts';
import { isMapped, MOST_MAPPED } from './plan.ts';
import type { Column, Guess, Sample } from './shapes.ts';
import { titleOf } from './source.ts';

/** Before the name of a column, in the names of the form. */
const COLUMN = 'column:';
const METADATA = 'metadata.';

export interface ColumnsView {
  guess: Guess | undefined;
  source: string;
  /** Field by column; the fields of metadata are `metadata`. */
  chosen: ReadonlyMap<string, string>;
  problem: string | undefined;
  live: { href: string; shape: string };
}

/** The columns of the file of users. */
export function columnsOf(guess: Guess): Column[] {
  return (guess.files.find(({ isHashes }) => !isHashes) ?? guess.files[0])?.columns ?? [];
}

/** What each column becomes: as chosen, or as it was recognized. */
export function chosenFields(mapping: Readonly<Record<string, string>>, guess: Guess): Map<string, string> {
  const given = Object.keys(mapping).length > 0;
  const pairs = Object.entries(given ? mapping : guess.mapping).filter(([, column]) => column !== '');
  const chosen = new Map(pairs.map(([field, column]) => [column, field.startsWith(METADATA) ? 'metadata' : field]));
  const hash = columnsOf(guess).find((column) => schemesIn(column).length > 0);
  // The converter finds hashes under any name.
  if (!given && hash && ![...chosen.values()].includes('hash')) chosen.set(hash.name, 'hash');
  return chosen;
}

/** What was chosen in the form. */
export function typedFields(body: unknown): Map<string, string> {
  const pairs = Object.entries((body ?? {}) as Record<string, unknown>).filter(([name]) => name.startsWith(COLUMN));
  return new Map(pairs.map(([name, field]) => [name.slice(COLUMN.length), typeof field === 'string' ? field : '']));
}

/** The mapping for `_convert`; a text when it is not possible. A recognized field that nothing becomes is left out. */
export function mappingOf(chosen: ReadonlyMap<string, string>, guess: Guess): Record<string, string> | string {
  const mapping: Record<string, string> = {};
  for (const [column, field] of chosen) {
    if (field === 'metadata') mapping[METADATA + column] = column;
    else if (Object.hasOwn(mapping, field)) return COLUMNS.twice(FIELDS[field as keyof typeof FIELDS]);
    else if (Object.hasOwn(FIELDS, field)) mapping[field] = column;
  }
  for (const field of Object.keys(guess.mapping)) mapping[field] ??= '';
  return Object.keys(mapping).length > MOST_MAPPED ? COLUMNS.tooMany(MOST_MAPPED) : mapping;
}

export function columnsStep(frame: Frame, view: ColumnsView): Html {
  const { guess, source, problem, live } = view;
  if (!guess) {
    return html`<div id="guess" data-swap><section class="card"><h2>${COLUMNS.title}</h2><p>${COLUMNS.waiting}</p>${liveMark(live.href, live.shape)}</section>${buttons(frame, undefined)}</div>`;
  }
  const sentence = isMapped(source) ? COLUMNS.map : COLUMNS.known(titleOf(source));
  const noEmail = isMapped(source) && ![...view.chosen.values()].includes('email');
  return stepForm(
    frame,
    html`<section class="card"><h2>${COLUMNS.title}</h2><p>${sentence}</p>${notice(problem, 'bad')}${noEmail ? notice(COLUMNS.noEmail, 'warn') : undefined}
${table(columnsOf(guess), view)}${example(guess, view)}</section>`,
    'options',
  );
}

function table(columns: readonly Column[], view: ColumnsView): Html {
  const hasMap = isMapped(view.source);
  return html`<table class="stack columns-table"><caption class="sr">${COLUMNS.title}</caption><thead><tr><th scope="col">${COLUMNS.column}</th><th scope="col">${COLUMNS.examples}</th>${
    hasMap ? html`<th scope="col">${COLUMNS.becomes}</th><th scope="col">${COLUMNS.check}</th>` : undefined
  }</tr></thead>
<tbody>${columns.map((column) => row(column, view, hasMap))}</tbody></table>`;
}

function row(column: Column, { chosen, source }: ColumnsView, hasMap: boolean): Html {
  const { name, samples } = column;
  const field = chosen.get(name) ?? '';
  return html`<tr><th scope="row">${name}</th>
<td data-label="${COLUMNS.examples}"><span class="small">${samples.length === 0 ? COLUMNS.none : samples.map(shown).join(' · ')}</span></td>${
    hasMap
      ? html`<td data-label="${COLUMNS.becomes}">${select(name, field)}</td>
<td data-label="${COLUMNS.check}"><span class="small soft">${remark(source, field, column)}</span></td>`
      : undefined
  }</tr>\n`;
}

function shown({ text, hidden = '' }: Sample): string {
  return text ?? COLUMNS.hidden[hidden] ?? hidden;
}

function select(column: string, chosen: string): Html {
  const options = [['', COLUMNS.leaveOut], ...Object.entries(FIELDS), ['metadata', COLUMNS.metadata]] as [
    string,
    string,
  ][];
  return html`<select name="${COLUMN}${column}" aria-label="${COLUMNS.becomesOf(column)}">
${options.map(([value, text]) => html`<option value="${value}"${value === chosen ? html` selected` : undefined}>${text}</option>`)}</select>`;
}

function remark(source: string, field: string, column: Column): string {
  if (field === 'email') return COLUMNS.required;
  if (field === 'userId') return COLUMNS.unique;
  if (field === 'hash') return schemesIn(column).join(', ') || COLUMNS.noHash;
  return statesOf(source, field, column).join(', ');
}

/** The schemes of the hashes in a column. */
function schemesIn({ samples }: Column): string[] {
  const found = samples.map(({ hidden }) => hidden).filter((one) => one !== undefined && !(one in COLUMNS.hidden));
  return [...new Set(found as string[])];
}

function example(guess: Guess, { source, chosen }: ColumnsView): Html | undefined {
  if (!isMapped(source)) return undefined;
  const mapping = mappingOf(chosen, guess);
  const user = typeof mapping === 'string' ? undefined : exampleUser(source, mapping, columnsOf(guess));
  if (!user) return undefined;
  const { name, email, state, login } = user;
  return html`<p class="example">${COLUMNS.one} <strong>${[name, email, state].filter(Boolean).join(' · ')}</strong>${login && html` · ${COLUMNS.logsIn(login)}`}</p>`;
}
