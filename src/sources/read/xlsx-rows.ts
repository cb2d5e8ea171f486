/**
 * The rows of a sheet as lines of CSV, with as many cells as the first row. A row is on the line of its number, unless a
 * cell before it has line breaks.
 */
import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { FileError, MAX_RECORD_BYTES } from './records.ts';

/** What a number means by the format of its cell. */
export type NumberKind = 'number' | 'date' | 'time';

/** The texts that cells refer to by their number. */
export interface Texts {
  at(index: number): string | undefined;
}

export interface SheetContext {
  texts: Texts;
  /** By the number of the style. */
  formats: readonly NumberKind[];
  isFrom1904: boolean;
}

export interface RowReader {
  /** @returns lines of CSV @throws FileError for a cell that cannot be read as it is shown */
  push(text: string): string;
  end(): string;
}

const MOST_ROWS = 2 ** 20;
const MOST_COLUMNS = 2 ** 14;

interface Cell {
  /** Such as `C7`. */
  place: string;
  column: number;
  type: string;
  style: number;
}

export function openRows(context: SheetContext): RowReader {
  let lines = '';
  let row = 0;
  let written = 0;
  let width: number | undefined;
  let cells: string[] = [];
  let column = 0;
  let cell: Cell | undefined;
  let value = '';
  let takes = false;
  let isPhonetic = false;

  function take(at: number, text: string): void {
    // A cell beyond the columns makes the row a broken one, wherever it is.
    const place = width === undefined ? at : Math.min(at, width);
    while (cells.length < place) cells.push('');
    cells[place] = text;
  }

  function endRow(): void {
    if (cells.length === 0) return;
    width ??= cells.length;
    while (cells.length < width) cells.push('');
    lines += `${'\n'.repeat(row - written - 1)}${cells.map(quoted).join(',')}\n`;
    written = row;
  }

  const parser = openParser({
    open(name, attributes) {
      if (name === 'row') {
        const number = Number(attributes.r ?? row + 1);
        if (!Number.isInteger(number) || number <= row || number > MOST_ROWS) throw misplaced(`row ${attributes.r}`);
        row = number;
        cells = [];
        column = 0;
      } else if (name === 'c') {
        const place = attributes.r ?? `${lettersOf(column)}${row}`;
        const next = columnOf(place);
        if (next === undefined || next < column) throw misplaced(`cell ${place}`);
        cell = { place, column: next, type: attributes.t ?? 'n', style: Number(attributes.s ?? 0) };
        column = next + 1;
        value = '';
      } else if (name === 'f' && cell) {
        throw new FileError(
          `${cell.place} holds a formula, whose result may be old. Copy the sheet, and paste its values only.`,
          row,
        );
      }
      isPhonetic ||= name === 'rPh';
      takes = cell !== undefined && (name === 'v' || (name === 't' && !isPhonetic));
    },
    text(part) {
      if (takes) value += part;
    },
    close(name) {
      takes = false;
      if (name === 'rPh') isPhonetic = false;
      else if (name === 'c' && cell) {
        const text = textOf(cell, value, context, row);
        if (text !== '') take(cell.column, text);
        cell = undefined;
      } else if (name === 'row') endRow();
    },
  });

  function taken(): string {
    const found = lines;
    lines = '';
    return found;
  }
  return {
    push(text) {
      parser.write(text);
      return taken();
    },
    end() {
      parser.close();
      return taken();
    },
  };
}

export interface Handlers {
  open?(name: string, attributes: Readonly<Record<string, string>>): void;
  close?(name: string): void;
  text?(text: string): void;
}

const DEEPEST = 64;

/**
 * A parser that knows elements by their names without prefixes. Entities that a document declares are not expanded.
 * It throws for what is no XML, is nested too deeply, or has a text or a tag of more than MAX_RECORD_BYTES.
 */
export function openParser({ open, close, text }: Handlers): { write(part: string): void; close(): void } {
  const parser = new SaxesParser();
  const local = (name: string) => name.slice(name.indexOf(':') + 1);
  let depth = 0;
  let length = 0;
  parser.on('opentag', (tag: SaxesTagPlain) => {
    length = 0;
    if (++depth > DEEPEST) throw new FileError('The workbook is damaged: its elements are nested too deeply.');
    open?.(local(tag.name), tag.attributes);
  });
  parser.on('closetag', (tag: SaxesTagPlain) => {
    length = 0;
    depth--;
    close?.(local(tag.name));
  });
  if (text) parser.on('text', text);
  parser.on('error', (error) => {
    throw error;
  });
  return {
    write(part) {
      length += part.length;
      parser.write(part);
      if (length > MAX_RECORD_BYTES)
        throw new FileError(`A cell of the sheet is longer than ${MAX_RECORD_BYTES} bytes.`);
    },
    close: () => void parser.close(),
  };
}

function misplaced(what: string): FileError {
  return new FileError(`The workbook is damaged: ${what} is in a wrong place.`);
}

/** The number of a column from 0: `A7` is in 0, `AA7` in 26. */
function columnOf(place: string): number | undefined {
  const letters = /^([A-Z]{1,3})\d{1,7}$/.exec(place)?.[1];
  if (letters === undefined) return undefined;
  const number = [...letters].reduce((sum, letter) => 26 * sum + letter.charCodeAt(0) - 64, 0) - 1;
  return number < MOST_COLUMNS ? number : undefined;
}

function lettersOf(column: number): string {
  const rest = Math.floor(column / 26) - 1;
  return (rest >= 0 ? lettersOf(rest) : '') + String.fromCharCode(65 + (column % 26));
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

function textOf({ place, type, style }: Cell, value: string, context: SheetContext, row: number): string {
  if (type === 's') {
    const text = value === '' ? '' : context.texts.at(Number(value));
    if (text === undefined) throw misplaced(`the text of cell ${place}`);
    return unescaped(text);
  }
  if (type === 'inlineStr' || type === 'str') return unescaped(value);
  if (type === 'b') return value === '1' ? 'true' : value === '0' ? 'false' : value;
  // A date in ISO 8601, or an error such as #N/A.
  if (type !== 'n' || value === '') return value;
  const number = Number(value);
  if (!Number.isFinite(number)) throw misplaced(`the number of cell ${place}`);
  const kind = context.formats[style] ?? 'number';
  if (kind !== 'number') return dateOf(number, kind, context.isFrom1904) ?? numberText(number, place, row);
  return numberText(number, place, row);
}

/** Characters that XML does not take, as Excel writes them: `_x000D_`. */
function unescaped(text: string): string {
  return text.replace(/_x([0-9A-F]{4})_/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

/** Excel keeps 15 digits, so the others of a longer number are lost. */
const MOST_EXACT = 10 ** 15;

function numberText(number: number, place: string, row: number): string {
  if (Math.abs(number) >= MOST_EXACT) {
    throw new FileError(
      `${place} is a number with more digits than a sheet keeps. Format the column as text, and enter the values again.`,
      row,
    );
  }
  return String(number);
}

const DAY_MS = 86_400_000;
/** The last day that Excel knows, 9999-12-31. */
const LAST_DAY = 2_958_466;
const FROM = { 1900: Date.UTC(1899, 11, 30), 1904: Date.UTC(1904, 0, 1) };

/** Undefined for a number that is no date. The 60th day of 1900 did not exist, so days before it count from another. */
function dateOf(days: number, kind: NumberKind, isFrom1904: boolean): string | undefined {
  if (days < 0 || days >= LAST_DAY) return undefined;
  const start = isFrom1904 ? FROM[1904] : FROM[1900] + (days >= 1 && days < 60 ? DAY_MS : 0);
  // Fractions of a day are rounded to seconds.
  const text = new Date(start + Math.round(days * 86_400) * 1000).toISOString();
  if (kind === 'time' && days < 1) return text.slice(11, 19);
  return Number.isInteger(days) ? text.slice(0, 10) : text.slice(0, 19);
}
