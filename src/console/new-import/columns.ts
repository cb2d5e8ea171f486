/**
 * The steps Source and Columns: which system the files come from, and what each column of a file of your own becomes.
 */
import { invalidArgument } from '../../platform/errors.ts';
import { described, remarks } from '../../platform/html/forms.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { ownValue } from '../../platform/text/names.ts';
import type { Person } from '../../sources/entry.ts';
import { givenMapping, mappingFor } from '../../sources/mapping.ts';
import { ENCODINGS, type Encoding } from '../../sources/read/encoding.ts';
import { SOURCES } from '../../sources/registry.ts';
import type { Convert, Fields } from '../../sources/source.ts';
import { fieldsIn } from '../../sources/states.ts';
import { unclearColumns } from '../../sources/system-survey.ts';
import type { Guess } from '../shapes.ts';
import { type Choice, notice, options, sourceTitle, table } from '../shell/blocks.ts';
import { liveMark } from '../shell/live.ts';
import { decimalText } from '../texts/language.ts';
import { COLUMNS, ENCODING_NAMES, FIELDS, SOURCE } from '../texts/new-import.ts';
import { buttons, type Frame, hrefOf, stepForm } from './frame.ts';
import { isMapped, MOST_MAPPED } from './plan.ts';

/** Before the name of a column, in the names of the form. */
const COLUMN = 'column:';
const METADATA = 'metadata.';

type GuessedFile = Guess['files'][number];
type Column = GuessedFile['columns'][number];

export interface SourceView {
  /** Undefined while the files have not begun to arrive. */
  guess: Guess | undefined;
  /** Why the files cannot be recognized. */
  problem: string | undefined;
  /** The source that was chosen or recognized; empty where a person must choose. */
  source: string;
  /** Why the choice was refused. */
  wrong: string | undefined;
  /** The encoding that the person chose; empty: as recognized. */
  encoding: Encoding | '';
  /** Of workbooks, as the person chose; empty: the first that is not hidden. */
  sheet: string;
  live: { href: string; shape: string };
}

/**
 * The step Source: which system the files come from, and their encoding, as recognized from their beginning, or another
 * one.
 */
export function sourceStep(frame: Frame, view: SourceView): Html {
  const { guess, problem, source, encoding, live } = view;
  if (frame.files.length === 0) {
    return html`<section class="card"><p>${SOURCE.none}</p><p><a class="button" href="${hrefOf(frame, 'files')}">${SOURCE.add}</a></p></section>`;
  }
  const isWaiting = !guess && !problem;
  const waits = html`<section class="card"><h2>${SOURCE.title}</h2><p>${SOURCE.waiting}</p>${liveMark(live.href, live.shape)}</section>${buttons(frame, undefined)}`;
  return html`<div id="guess" data-swap>${isWaiting ? waits : stepForm(frame, html`${recognized(view)}${sheets(view)}${encodings(guess, encoding)}`, isMapped(source) || source === '' || unclearIn(source, guess).length > 0 ? 'columns' : 'options')}</div>`;
}

function recognized({ guess, problem, source: chosen, wrong }: SourceView): Html {
  const candidates = guess?.candidates ?? [];
  const known = candidates.map(({ source }): Choice => [source, sourceTitle(source)]);
  const others = SOURCES.map(({ name }): Choice => [name, sourceTitle(name)]).filter(
    ([name]) => !candidates.some(({ source }) => source === name),
  );
  const about = { name: 'source', wrong };
  const isCertain = guess !== undefined && guess.source !== '';
  const sentence = isCertain
    ? SOURCE.certain(sourceTitle(guess.source))
    : candidates.length > 0
      ? SOURCE.uncertain
      : chosen === ''
        ? SOURCE.unknown
        : SOURCE.unknownTable;
  return html`<section class="card"><h2>${problem || isSheetUnreadable(guess) ? SOURCE.title : sentence}</h2>
${problem && notice(`${SOURCE.unreadable} ${problem}`, 'bad')}
${guess?.files.map(({ problem }) => notice(problem, 'bad'))}
${guess?.files.map(encodingNotices)}
${guess && fileTable(guess)}
<input type="hidden" name="shown" value="${chosen}"><details${isCertain && chosen === guess.source ? undefined : html` open`}><summary>${isCertain || candidates.length > 0 ? SOURCE.choose : SOURCE.chooseUnknown}</summary>
<div class="field"><label for="source">${SOURCE.source}</label><select id="source" name="source" required${described(about)}>
${chosen === '' ? options([['', SOURCE.chooseOne]], '') : undefined}
${known.length > 0 ? html`<optgroup label="${SOURCE.recognized}">${options(known, chosen)}</optgroup>` : undefined}
<optgroup label="${SOURCE.all}">${options(others, chosen)}</optgroup></select>${remarks(about)}</div></details></section>`;
}

/** Whether the sheet that is read cannot be read, so that another one must be chosen. */
export function isSheetUnreadable(guess: Guess | string | undefined): boolean {
  return (
    typeof guess === 'object' &&
    guess.files.some(
      ({ sheet, columns, problem }) => sheet !== undefined && columns.length === 0 && problem !== undefined,
    )
  );
}

/** @throws ApiError 400 when nothing is chosen */
export function requireSource(source: string): void {
  if (source !== '') return;
  throw invalidArgument('CONSOLE-OPTIONS', SOURCE.required, [{ field: 'source', description: SOURCE.required }]);
}

/** Which sheet of a workbook is read. */
function sheets({ guess, sheet }: SourceView): Html | undefined {
  const all = (guess?.files ?? []).flatMap((file) => file.sheets ?? []);
  const read = guess?.files.find((file) => file.sheet !== undefined)?.sheet ?? '';
  if (all.length < 2) return sheet === '' ? undefined : html`<input type="hidden" name="sheet" value="${sheet}">`;
  const names = new Map(all.map(({ name, isHidden }) => [name, isHidden ? SOURCE.hiddenSheet(name) : name]));
  return html`<section class="card"><h2>${SOURCE.sheets}</h2>
<div class="field"><label for="sheet">${SOURCE.sheet}</label><select id="sheet" name="sheet">${options([...names], read)}</select></div>
<button class="quiet" name="read" value="1" formnovalidate>${SOURCE.readSheet}</button></section>`;
}

/** Which encoding the files are read in, with examples of its letters. */
function encodings(guess: Guess | undefined, chosen: Encoding | ''): Html {
  const files = guess?.files ?? [];
  const found = [...new Set(files.map(({ encoding }) => encoding))];
  const fitting = new Set(files.flatMap(({ alsoFits = [] }) => alsoFits));
  const named = (one: string): Choice => [one, encodingName(one)];
  const others = ENCODINGS.filter((one) => !fitting.has(one)).map(named);
  others.sort(([, a], [, b]) => (a < b ? -1 : 1));
  const recognized = found.map(encodingName).join('; ');
  const first: Choice = ['', chosen || !recognized ? SOURCE.asRecognized : SOURCE.asRecognizedAs(recognized)];
  const isDoubtful = !guess || chosen !== '' || files.some(({ alsoFits, doubtful }) => alsoFits || doubtful > 0);
  return html`<section class="card"><details${isDoubtful ? html` open` : undefined}><summary>${SOURCE.chooseEncoding}</summary>
${isDoubtful ? files.map(foreignExamples) : undefined}
<div class="field"><label for="encoding">${SOURCE.encoding}</label><select id="encoding" name="encoding">${options([first], chosen)}
${fitting.size > 0 ? html`<optgroup label="${SOURCE.fits}">${options([...fitting].map(named), chosen)}</optgroup>` : undefined}
<optgroup label="${SOURCE.allEncodings}">${options(others, chosen)}</optgroup></select></div>
<button class="quiet" name="read" value="1" formnovalidate>${SOURCE.readAgain}</button></details></section>`;
}

function encodingName(encoding: string): string {
  return ownValue(ENCODING_NAMES, encoding) ?? encoding;
}

const MOST_EXAMPLES = 8;

/** Values and names of columns with letters beyond ASCII, which look wrong in a wrong encoding. */
function foreignExamples({ name, columns }: GuessedFile): Html | undefined {
  const texts = columns.flatMap(({ name: column, samples }) => [column, ...samples.map(({ text = '' }) => text)]);
  const foreign = [...new Set(texts)].filter((one) => /[^\p{ASCII}]/u.test(one)).slice(0, MOST_EXAMPLES);
  if (foreign.length === 0) return undefined;
  return html`<p class="example">${SOURCE.examples(name)} <strong>${foreign.join(' · ')}</strong></p>`;
}

function encodingNotices({ name, encoding, alsoFits, doubtful }: GuessedFile): Html {
  const percent = decimalText(100 * doubtful);
  return html`${alsoFits && notice(SOURCE.guessed(name, encoding), 'warn')}${doubtful > 0 ? notice(SOURCE.doubtful(name, percent), 'warn') : undefined}`;
}

function fileTable({ files }: Guess): Html {
  const rows = files.map(
    ({ name, isHashes, format, encoding, delimiter, isGzip, sheet }) => html`<tr><th scope="row">${name}</th>
<td data-label="${SOURCE.content}">${isHashes ? SOURCE.ofHashes : SOURCE.ofUsers}</td>
<td data-label="${SOURCE.format}">${(sheet === undefined
      ? [format.toUpperCase(), SOURCE.delimiters[delimiter], encoding]
      : ['XLSX', SOURCE.ofSheet(sheet)]
    )
      .concat(isGzip ? 'gzip' : [])
      .filter(Boolean)
      .join(', ')}</td></tr>\n`,
  );
  return table(SOURCE.file, [SOURCE.file, SOURCE.content, SOURCE.format], rows);
}

export interface ColumnsView {
  guess: Guess | undefined;
  source: string;
  /** Field by column; the fields of metadata are `metadata`. */
  chosen: ReadonlyMap<string, string>;
  problem: string | undefined;
  live: { href: string; shape: string };
}

/** The step Columns: what each column of a file of your own becomes, with examples. */
export function columnsStep(frame: Frame, view: ColumnsView): Html {
  const { guess, source, problem, live } = view;
  if (!guess) {
    return html`<div id="guess" data-swap><section class="card"><h2>${COLUMNS.title}</h2><p>${COLUMNS.waiting}</p>${liveMark(live.href, live.shape)}</section>${buttons(frame, undefined)}</div>`;
  }
  const unclear = unclearIn(source, guess);
  const known = unclear.length > 0 ? COLUMNS.unclear : COLUMNS.known;
  const sentence = isMapped(source) ? COLUMNS.map : known(sourceTitle(source));
  const mapping = isMapped(source) ? mappingOf(view.chosen, guess) : {};
  const wrong = problem ?? (typeof mapping === 'string' ? mapping : undefined);
  const noEmail = isMapped(source) && ![...view.chosen.values()].includes('email');
  const content = html`<section class="card"><h2>${COLUMNS.title}</h2><p>${sentence}</p>
<div id="columns-problems" data-follow>${notice(wrong, 'bad')}${noEmail ? notice(COLUMNS.noEmail, 'warn') : undefined}</div>
${columnTable(columnsOf(guess), view, unclear)}<div id="columns-example" data-follow>${example(guess, view)}</div>
${isMapped(source) ? html`<button class="quiet without-script" name="show" value="1">${COLUMNS.show}</button>` : undefined}</section>`;
  const form = stepForm(frame, content, 'options');
  return isMapped(source) ? html`<follow-form>${form}</follow-form>` : form;
}

/** @param unclear columns of a known system that a person has to decide about; they come first */
function columnTable(columns: readonly Column[], view: ColumnsView, unclear: readonly string[]): Html {
  const hasMap = isMapped(view.source);
  const isAsked = ({ name }: Column) => hasMap || unclear.includes(name);
  const heads = [COLUMNS.column, COLUMNS.examples];
  if (hasMap || unclear.length > 0) heads.push(COLUMNS.becomes, COLUMNS.check);
  const ofStates = hasMap ? statesRead(columns, view) : undefined;
  const rows = [...columns.filter(isAsked), ...columns.filter((one) => !isAsked(one))].map((column, i) => {
    const empty = hasMap ? (ofStates?.get(column.name) ?? COLUMNS.leaveOut) : COLUMNS.asRecognized;
    return row(column, view, { id: `column-${i}`, empty: isAsked(column) ? empty : undefined });
  });
  return table(COLUMNS.title, heads, rows, 'columns-table');
}

/** @param empty what becomes of the column without a field; undefined: nothing can be chosen */
function row(
  column: Column,
  { chosen, source }: ColumnsView,
  { id, empty }: { id: string; empty: string | undefined },
): Html {
  const { name, samples } = column;
  const field = chosen.get(name) ?? '';
  return html`<tr><th scope="row">${name}</th>
<td data-label="${COLUMNS.examples}"><span class="small">${samples.length === 0 ? COLUMNS.none : samples.map(shown).join(' · ')}</span></td>${
    empty === undefined
      ? undefined
      : html`<td data-label="${COLUMNS.becomes}">${select(name, field, { id, source, empty })}</td>
<td data-label="${COLUMNS.check}"><span class="small soft" id="${id}-note" data-follow>${remark(source, field, column)}</span></td>`
  }</tr>
`;
}

/**
 * What the converter does with columns that it reads for the state although no field is chosen for them: leaving such a
 * column out could let in whom it keeps out.
 */
function statesRead(columns: readonly Column[], { guess, chosen }: ColumnsView): Map<string, string> {
  const map = guess === undefined ? {} : mappingOf(chosen, guess);
  if (typeof map === 'string') return new Map();
  const { unclear = [], ...states } = mappingFor(firstValues(columns), givenMapping({ map })).states;
  return new Map([
    ...fieldsIn(states).map((name): [string, string] => [name, COLUMNS.ofState]),
    ...unclear.map((name): [string, string] => [name, COLUMNS.asRecognized]),
  ]);
}

function shown({ text, hidden = '' }: Column['samples'][number]): string {
  return text ?? COLUMNS.hidden[hidden] ?? hidden;
}

function select(column: string, chosen: string, at: { id: string; source: string; empty: string }): Html {
  const all = Object.entries(FIELDS);
  const fields: Choice[] = [
    ...(isMapped(at.source) ? all : all.filter(([field]) => OF_SYSTEM.includes(field))),
    ['metadata', COLUMNS.metadata],
  ];
  return html`<select name="${COLUMN}${column}" aria-label="${COLUMNS.becomesOf(column)}">
<option value="" id="${at.id}-empty" data-follow>${at.empty}</option>
${options(fields, chosen)}</select>`;
}

function remark(source: string, field: string, column: Column): string {
  if (field === 'email') return COLUMNS.required;
  if (field === 'userId') return COLUMNS.unique;
  if (field === 'hash') return schemesIn(column).join(', ') || COLUMNS.noHash;
  if (field === '' && column.samples.some(({ hidden }) => hidden === 'secret')) return COLUMNS.plain;
  return statesOf(source, field, column).join(', ');
}

/** The schemes of the hashes in a column. */
function schemesIn({ samples }: Column): string[] {
  const found = samples.map(({ hidden }) => hidden).filter((one) => one !== undefined);
  return [...new Set(found.filter((one) => !(one in COLUMNS.hidden)))];
}

function example(guess: Guess, { source, chosen }: ColumnsView): Html | undefined {
  if (!isMapped(source)) return undefined;
  const mapping = mappingOf(chosen, guess);
  const user = typeof mapping === 'string' ? undefined : exampleUser(source, mapping, columnsOf(guess));
  if (!user) return undefined;
  const { name, email, state, login } = user;
  // A user without anything would only be called active.
  if (!name && !email && !login) return undefined;
  return html`<p class="example">${COLUMNS.one} <strong>${[name, email, state].filter(Boolean).join(' · ')}</strong>${login && html` · ${COLUMNS.logsIn(login)}`}</p>`;
}

/** The columns of the file of users. */
function columnsOf(guess: Guess): Column[] {
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

/** The mapping for `_convert`; what is wrong, when it is not possible. A recognized field that nothing becomes is left out. */
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

/** What a column of a known system can become, beside metadata. */
const OF_SYSTEM = ['state', 'enabled', 'disabled', 'locked', 'deleted'];

/** The columns of a known system that may say who is kept out, and that its reader does not know. */
export function unclearIn(source: string, guess: Guess | string | undefined): string[] {
  const format = SOURCES.find(({ name }) => name === source);
  if (!format || typeof guess !== 'object') return [];
  return unclearColumns(
    format,
    columnsOf(guess).map(({ name }) => name),
  );
}

/** The mapping of a known system's columns for `_convert`; what is wrong, when it is not possible. */
export function systemMapping(chosen: ReadonlyMap<string, string>): Record<string, string> | string {
  const mapping: Record<string, string> = {};
  for (const [column, field] of chosen) {
    if (field === 'metadata') mapping[METADATA + column] = column;
    else if (Object.hasOwn(mapping, field)) return COLUMNS.twice(FIELDS[field as keyof typeof FIELDS]);
    else if (OF_SYSTEM.includes(field)) mapping[field] = column;
  }
  return mapping;
}

/** One user as they would come in. */
interface ExampleUser {
  name: string;
  email: string;
  state: string;
  login: string;
}

/** Fields whose values decide the state of a user. */
const OF_STATE = new Set(['state', 'enabled', 'disabled', 'locked']);

function converterOf(source: string, map: Readonly<Record<string, string>>): Convert | undefined {
  return SOURCES.find(({ name }) => name === source)?.converter({ map });
}

function personOf(convert: Convert | undefined, record: Fields): Person | undefined {
  const found = convert?.(record);
  return found && !('skip' in found) ? found : undefined;
}

/**
 * The user that the first value of each column makes, by the converter that reads the whole file; undefined when no user
 * can be made of them.
 */
function exampleUser(
  source: string,
  mapping: Readonly<Record<string, string>>,
  columns: readonly Column[],
): ExampleUser | undefined {
  const values = Object.entries(firstValues(columns)).filter(([, value]) => value !== undefined);
  const person = personOf(converterOf(source, mapping), Object.fromEntries(values));
  if (!person) return undefined;
  const { email = '', userName, displayName, firstName = '', lastName = '', state = 'active' } = person;
  const login = userName ?? email;
  return { name: displayName ?? `${firstName} ${lastName}`.trim(), email, state: COLUMNS.states[state], login };
}

function firstValues(columns: readonly Column[]): Fields {
  return Object.fromEntries(columns.map(({ name, samples }) => [name, samples[0]?.text]));
}

/** `ja → active` for the examples of a column that decides the state. */
function statesOf(source: string, field: string, { name, samples }: Column): string[] {
  if (!OF_STATE.has(field)) return [];
  const convert = converterOf(source, { [field]: name });
  return samples
    .map(({ text }) => text)
    .filter((text) => text !== undefined)
    .map((text) => `${text} → ${COLUMNS.states[personOf(convert, { [name]: text })?.state ?? 'active']}`);
}
