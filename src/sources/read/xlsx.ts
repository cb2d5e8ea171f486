/**
 * The sheets of an Excel workbook (XLSX, ECMA-376), each read as CSV: the reader of CSV then knows the columns.
 *
 * Guarantee: every value is what a person sees, or the file is refused with the name of the cell: a formula, whose kept
 * result may be old, and a number of which Excel keeps too few digits. Dates become ISO 8601. Parts that unpack to far
 * more than usual, or than MOST_BYTES, end the reading, so memory is bounded: the workbook as stored, its texts, and one
 * row.
 */
import type { Readable } from 'node:stream';
import type { Entry, ZipFile } from 'yauzl';
import { shownValue } from '../values.ts';
import { FileError } from './records.ts';
import { type Handlers, type NumberKind, openParser, openRows, type Texts } from './xlsx-rows.ts';

/** A sheet of a workbook. */
export interface Sheet {
  name: string;
  isHidden: boolean;
}

export interface Workbook {
  sheets: readonly Sheet[];
  /** The sheet that is read: as named, or the first one that is not hidden. */
  sheet: string;
  /** The sheet as CSV. @param onRead is called now and then with the share that was read, from 0 to 1 */
  csv(onRead?: (share: number) => void): AsyncGenerator<Buffer>;
}

/** The largest workbook, as stored. */
const MOST_STORED = 64 * 2 ** 20;
const MOST_ENTRIES = 10_000;
/** The largest parts after unpacking: of a sheet, of its texts, and of all others. */
const MOST_BYTES = { sheet: 2 ** 30, texts: 2 ** 28, other: 2 ** 24 };
/** Sheets of equal rows are packed to a hundredth. */
const MOST_RATIO = 250;
const RATIO_FROM = 2 ** 24;

/** The first bytes of a zip archive, which a workbook is. */
export const ZIP = Buffer.from('PK\x03\x04', 'latin1');

export function isZip(bytes: Buffer): boolean {
  return bytes.subarray(0, ZIP.length).equals(ZIP);
}

/** What programs put first into a workbook; a document of Word may begin alike. */
const FIRST_PART = /^(?:\[Content_Types\]\.xml|_rels\/|docProps\/|xl\/)/;
const NAME_AT = 30;

/** Whether the first bytes may be those of a workbook, and not of another archive. */
export function mayBeWorkbook(bytes: Buffer): boolean {
  return isZip(bytes) && FIRST_PART.test(bytes.toString('latin1', NAME_AT, NAME_AT + 20));
}

/**
 * @param chunks the file from its beginning
 * @param named the name of the sheet to read
 * @returns undefined for a zip archive that is no workbook
 * @throws FileError
 */
export async function openWorkbook(chunks: AsyncIterable<Buffer>, named?: string): Promise<Workbook | undefined> {
  const zip = await openZip(await bytesOf(chunks));
  const workbook = zip?.entries.get('xl/workbook.xml');
  if (!zip || !workbook) return undefined;
  const sheets = await sheetsOf(zip, workbook);
  const sheet =
    named === undefined ? sheets.find(({ isHidden }) => !isHidden) : sheets.find(({ name }) => name === named);
  if (!sheet) {
    const names = sheets.map(({ name }) => shownValue(name)).join(', ');
    const what =
      named === undefined ? 'The workbook has no sheet that is shown.' : `There is no sheet ${shownValue(named)}.`;
    throw new FileError(`${what} Its sheets are ${names}.`);
  }
  const entry = zip.entries.get(sheet.path);
  if (!entry) throw damaged();
  const formats = await formatsOf(zip);
  let texts: Texts | undefined;
  return {
    sheets: sheets.map(({ name, isHidden }) => ({ name, isHidden })),
    sheet: sheet.name,
    async *csv(onRead) {
      texts ??= await textsOf(zip);
      const rows = openRows({ texts, formats, isFrom1904: zip.isFrom1904 });
      for await (const { text, unpacked } of unpackedText(zip, entry, MOST_BYTES.sheet)) {
        const lines = parsed(() => rows.push(text));
        onRead?.(entry.uncompressedSize === 0 ? 1 : unpacked / entry.uncompressedSize);
        if (lines !== '') yield Buffer.from(lines);
      }
      const last = parsed(() => rows.end());
      if (last !== '') yield Buffer.from(last);
    },
  };
}

async function bytesOf(chunks: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of chunks) {
    size += part.length;
    if (size > MOST_STORED)
      throw new FileError(`A workbook of more than ${MOST_STORED} bytes is not read. Save the sheet as CSV (UTF-8).`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

interface Zip {
  file: ZipFile;
  entries: ReadonlyMap<string, Entry>;
  /** Days are counted from 1904, as on old Macs. */
  isFrom1904: boolean;
}

/** Undefined for what is no whole archive. */
async function openZip(bytes: Buffer): Promise<Zip | undefined> {
  const { fromBufferPromise } = await import('yauzl');
  try {
    const file = await fromBufferPromise(bytes, { strictFileNames: true });
    if (file.entryCount > MOST_ENTRIES) throw new FileError(`The archive has more than ${MOST_ENTRIES} entries.`);
    const entries = new Map<string, Entry>();
    for await (const entry of file.eachEntry()) {
      const name = entry.fileName.replace(/^\//, '');
      if (entries.has(name)) throw damaged();
      entries.set(name, entry);
    }
    return { file, entries, isFrom1904: false };
  } catch (error) {
    if (error instanceof FileError) throw error;
    return undefined;
  }
}

function damaged(): FileError {
  return new FileError(
    'The workbook is damaged. Open it in Excel, and save it again, or save the sheet as CSV (UTF-8).',
  );
}

/** The text of a part, with the number of bytes so far. @throws FileError when it is larger than expected, or damaged */
async function* unpackedText(
  { file }: Zip,
  entry: Entry,
  most: number,
): AsyncGenerator<{ text: string; unpacked: number }> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let unpacked = 0;
  const stream = await opened(file, entry);
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      unpacked += chunk.length;
      if (unpacked > most) throw new FileError(`A part of the workbook has more than ${most} bytes after unpacking.`);
      if (unpacked > RATIO_FROM && unpacked > MOST_RATIO * entry.compressedSize)
        throw new FileError('The workbook unpacks to far more than a sheet of users. Save the sheet as CSV (UTF-8).');
      yield { text: decoder.decode(chunk, { stream: true }), unpacked };
    }
    yield { text: decoder.decode(), unpacked };
  } catch (error) {
    throw error instanceof FileError ? error : damaged();
  } finally {
    stream.destroy();
  }
}

async function opened(file: ZipFile, entry: Entry): Promise<Readable> {
  if (entry.isEncrypted())
    throw new FileError('The workbook has a password. Save it without the password, or save the sheet as CSV (UTF-8).');
  try {
    return await file.openReadStreamPromise(entry);
  } catch {
    throw damaged();
  }
}

/** @throws FileError for what is no XML */
function parsed<T>(action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw error instanceof FileError ? error : damaged();
  }
}

async function parsePart(zip: Zip, entry: Entry, handlers: Handlers, most: number = MOST_BYTES.other): Promise<void> {
  const parser = openParser(handlers);
  for await (const { text } of unpackedText(zip, entry, most)) parsed(() => parser.write(text));
  parsed(() => parser.close());
}

interface FoundSheet extends Sheet {
  path: string;
}

/** Sheets with cells; charts and dialogs have none. */
async function sheetsOf(zip: Zip, workbook: Entry): Promise<FoundSheet[]> {
  const targets = new Map<string, string>();
  const relations = zip.entries.get('xl/_rels/workbook.xml.rels');
  if (!relations) throw damaged();
  await parsePart(zip, relations, {
    open(name, { Id = '', Target = '', Type = '' }) {
      if (name === 'Relationship' && Type.endsWith('/worksheet')) targets.set(Id, pathOf(Target));
    },
  });
  const found: FoundSheet[] = [];
  await parsePart(zip, workbook, {
    open(name, attributes) {
      if (name === 'workbookPr') zip.isFrom1904 = ['1', 'true'].includes(attributes.date1904 ?? '');
      if (name !== 'sheet') return;
      const id = Object.entries(attributes).find(([one]) => one.endsWith(':id'))?.[1];
      const path = targets.get(id ?? '');
      const isHidden = (attributes.state ?? 'visible') !== 'visible';
      if (path !== undefined) found.push({ name: attributes.name ?? '', isHidden, path });
    },
  });
  return found;
}

function pathOf(target: string): string {
  return target.startsWith('/') ? target.slice(1) : `xl/${target.replace(/^\.\//, '')}`;
}

/** By the number of the style. */
async function formatsOf(zip: Zip): Promise<NumberKind[]> {
  const styles = zip.entries.get('xl/styles.xml');
  const kinds: NumberKind[] = [];
  if (!styles) return kinds;
  const own = new Map<string, NumberKind>();
  let isOfCells = false;
  await parsePart(zip, styles, {
    open(name, { numFmtId = '0', formatCode = '' }) {
      if (name === 'numFmt') own.set(numFmtId, kindOf(formatCode));
      if (name === 'cellXfs') isOfCells = true;
      if (name === 'xf' && isOfCells) kinds.push(own.get(numFmtId) ?? kindOfBuiltIn(Number(numFmtId)));
    },
    close(name) {
      if (name === 'cellXfs') isOfCells = false;
    },
  });
  return kinds;
}

/** ECMA-376 part 1, 18.8.30; 27 to 36 and 50 to 58 are dates in East Asia. */
function kindOfBuiltIn(id: number): NumberKind {
  if ((id >= 18 && id <= 21) || (id >= 45 && id <= 47)) return 'time';
  return (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 50 && id <= 58) ? 'date' : 'number';
}

function kindOf(code: string): NumberKind {
  const [first = ''] = code.replace(/"[^"]*"|\\.|_.|\*./g, '').split(';');
  const plain = first.replace(/\[(?!h+\]|m+\]|s+\])[^\]]*\]/gi, '');
  if (/^general$/i.test(plain.trim())) return 'number';
  if (/[yd]|mmm/i.test(plain)) return 'date';
  return /[hs]/i.test(plain) ? 'time' : /m/i.test(plain) ? 'date' : 'number';
}

async function textsOf(zip: Zip): Promise<Texts> {
  const entry = zip.entries.get('xl/sharedStrings.xml');
  const ends: number[] = [];
  let bytes = Buffer.allocUnsafe(2 ** 16);
  let length = 0;
  let text = '';
  let isText = false;
  let isPhonetic = false;
  const add = (part: string) => {
    const size = Buffer.byteLength(part);
    if (length + size > bytes.length) bytes = Buffer.concat([bytes.subarray(0, length)], 2 * (length + size));
    length += bytes.write(part, length);
    ends.push(length);
  };
  if (entry) {
    await parsePart(
      zip,
      entry,
      {
        open(name) {
          if (name === 'si') text = '';
          isPhonetic ||= name === 'rPh';
          isText = name === 't' && !isPhonetic;
        },
        text(part) {
          if (isText) text += part;
        },
        close(name) {
          isText = false;
          if (name === 'rPh') isPhonetic = false;
          if (name === 'si') add(text);
        },
      },
      MOST_BYTES.texts,
    );
  }
  return {
    at(index) {
      const end = ends[index];
      return end === undefined ? undefined : bytes.toString('utf8', index === 0 ? 0 : ends[index - 1], end);
    },
  };
}
