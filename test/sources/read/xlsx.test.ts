/** Workbooks (XLSX): values are read as a person sees them, and what cannot be is refused with its cell. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { gzipSync } from 'node:zlib';
import { type FileOptions, inspect } from '../../../src/sources/read/file.ts';
import { mayBeWorkbook } from '../../../src/sources/read/xlsx.ts';
import { asFileOf, guessSources } from '../../../src/sources/recognize.ts';
import { textRows, workbookOf, zipOf } from '../../support/workbook.ts';

const fileOf = (bytes: Buffer, options: FileOptions = {}, more: { isPart?: boolean; most?: number } = {}) =>
  inspect(
    {
      name: 'users.xlsx',
      size: bytes.length,
      async *read() {
        for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000);
      },
      close: async () => {},
      ...more,
    },
    options,
  );

async function recordsOf(bytes: Buffer, options: FileOptions = {}) {
  const found = [];
  for await (const group of (await fileOf(bytes, options)).records({ paths: [] })) found.push(...group);
  return found;
}

const HEADER = textRows(['id', 'value', 'other']);
const valuesOf = async (cells: string, more: Partial<Parameters<typeof workbookOf>[0]> = {}) =>
  (await recordsOf(workbookOf({ ...more, sheets: { A: `${HEADER}<row r="2">${cells}</row>` } })))[0]?.value;

test('a workbook that openpyxl wrote is recognized, and read with its dates, texts and accents', async () => {
  const bytes = readFileSync('test/fixtures/xlsx/openpyxl.xlsx');
  const file = await fileOf(bytes);
  assert.deepEqual(file.workbook, {
    sheets: [
      { name: 'Deckblatt', isHidden: true },
      { name: 'Kunden', isHidden: false },
      { name: 'Archiv', isHidden: false },
    ],
    sheet: 'Kunden',
  });
  const [guess] = await guessSources(file);
  assert.equal(guess?.source.name, 'csv');
  assert.equal((await asFileOf(guess.source, file)).first?.['E-Mail-Adresse'], 'juergen@xlsx.example');
  const [first, second, third] = (await recordsOf(bytes)).map(({ value, line }) => ({ ...(value as object), line }));
  assert.deepEqual(first, {
    ...{ Kundennummer: 'k-1', Anrede: 'Frau', Vorname: 'Jürgen', Nachname: 'Müßig' },
    ...{ 'E-Mail-Adresse': 'juergen@xlsx.example', Telefon: '+41446681800', Sprache: 'Deutsch' },
    ...{ Aktiv: 'true', Eintritt: '2020-02-29', Guthaben: '0.1', line: 2 },
  });
  assert.deepEqual(
    [second, third].map((one) => (one as Record<string, unknown>).Eintritt),
    ['1999-12-31T23:59:30', '1900-01-15'],
  );
  assert.deepEqual(third && Object.values(third).slice(0, 4), ['9007199254', 'Mme', 'Zeile\nzwei', ' lead']);
  assert.deepEqual(await recordsOf(gzipSync(bytes)), await recordsOf(bytes));
});

test('a row has the number that the sheet shows, also after cells with line breaks and after empty rows', async () => {
  const cell = (text: string) => `<c t="inlineStr"><is><t>${text}</t></is></c>`;
  const row = (at: number, text: string) => `<row r="${at}">${cell(text)}${cell('x')}${cell('y')}</row>`;
  const sheets = { A: `${HEADER}${row(2, 'one\ntwo\nthree')}${row(3, 'b')}${row(6, 'c\nd')}${row(7, 'e')}` };
  assert.deepEqual(
    (await recordsOf(workbookOf({ sheets }))).map(({ line }) => line),
    [2, 3, 6, 7],
  );
});

test('shared texts, runs, escapes, booleans and errors are the texts that are shown', async () => {
  const texts =
    '<si><t>id &amp; more</t></si><si><r><t>two</t></r><r><t xml:space="preserve"> runs</t></r><rPh><t>hidden</t></rPh></si>';
  const shared = '<c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="inlineStr"><is><t>a_x000A_b</t></is></c>';
  assert.deepEqual(await valuesOf(shared, { texts }), { id: 'id & more', value: 'two runs', other: 'a\nb' });
  assert.deepEqual(await valuesOf('<c t="b"><v>1</v></c><c t="b"><v>0</v></c><c t="e"><v>#N/A</v></c>'), {
    ...{ id: 'true', value: 'false', other: '#N/A' },
  });
});

test('numbers keep their digits; dates and times become ISO 8601 by their formats', async () => {
  const number = (value: string, style = 0) => `<c s="${style}"><v>${value}</v></c>`;
  const cells = async (...all: string[]) => Object.values((await valuesOf(all.join(''))) as object);
  assert.deepEqual(await cells(number('123456789012345'), number('0.10000000000000001'), number('1E3')), [
    ...['123456789012345', '0.1', '1000'],
  ]);
  assert.deepEqual(await cells(number('43890', 1), number('0.5', 2), number('43890.75', 6)), [
    ...['2020-02-29', '12:00:00', '2020-02-29T18:00:00'],
  ]);
  // A d in quotes and the colour are no dates; the first days of 1900 count as Excel does.
  assert.deepEqual(await cells(number('5', 3), number('5', 4), number('1', 1)), ['5', '5', '1900-01-01']);
  assert.deepEqual(await valuesOf(number('0', 1), { isFrom1904: true }), { id: '1904-01-01', value: '', other: '' });
});

test('cells and rows are where their places say, and a cell beyond the columns breaks its row', async () => {
  const rows = `${HEADER}<row r="4"><c r="C4"><v>3</v></c></row><row r="5"><c r="ZZ5"><v>9</v></c></row>`;
  assert.deepEqual(await recordsOf(workbookOf({ sheets: { A: rows } })), [
    { line: 4, value: { id: '', value: '', other: '3' } },
    { line: 5, value: undefined, problem: 'has 4 cells where the header has 3' },
  ]);
});

test('a sheet is read by its name, else the first that is not hidden', async () => {
  const bytes = workbookOf({
    sheets: { Cover: textRows(['x']), Users: textRows(['id'], ['u']), Old: textRows(['id'], ['o']) },
    hidden: ['Cover'],
  });
  const ids = async (options: FileOptions) =>
    (await recordsOf(bytes, options)).map(({ value }) => (value as { id: string }).id);
  assert.deepEqual([await ids({}), await ids({ sheet: 'Old' })], [['u'], ['o']]);
  await assert.rejects(fileOf(bytes, { sheet: 'New' }), {
    message: /^There is no sheet New\. Its sheets are Cover, Users, Old\.$/,
  });
  await assert.rejects(fileOf(bytes, { format: 'json' }), { message: /^This is a workbook \(XLSX\)/ });
  await assert.rejects(fileOf(bytes, {}, { isPart: true }), { message: /when all of it has arrived/ });
});

const cell = (xml: string) => workbookOf({ sheets: { A: `${HEADER}<row r="2"><c r="A2">${xml}</c></row>` } });

const REFUSED: Record<string, [bytes: () => Buffer, told: RegExp]> = {
  'a formula': [() => cell('<f>1+1</f><v>2</v>'), /A2 holds a formula/],
  'a number of which Excel has lost digits': [
    () => cell('<v>1.2345678901234568E+18</v>'),
    /A2 is a number with more digits/,
  ],
  'no number': [() => cell('<v>abc</v>'), /the number of cell A2 is in a wrong place/],
  'a text that is not there': [
    () => workbookOf({ sheets: { A: '<row><c r="A1" t="s"><v>7</v></c></row>' } }),
    /the text of cell A1 is in a wrong place/,
  ],
  'rows that go back': [
    () => workbookOf({ sheets: { A: '<row r="5"><c><v>1</v></c></row><row r="2"/>' } }),
    /row 2 is in a wrong place/,
  ],
  'what is no XML': [() => workbookOf({ sheets: { A: '<row><c>' } }), /The workbook is damaged/],
  'elements within elements without end': [
    () => workbookOf({ sheets: { A: '<a>'.repeat(1000) } }),
    /nested too deeply/,
  ],
  'a cell without end': [
    () => workbookOf({ sheets: { A: textRows(Array.from({ length: 1 }, () => 'a<b'.repeat(2_000_000))) } }),
    /A cell of the sheet is longer than|unpacks to far more/,
  ],
  'a bomb': [
    () => workbookOf({ sheets: { A: `${HEADER}${' '.repeat(40_000_000)}` } }),
    /unpacks to far more than a sheet of users|A cell of the sheet is longer/,
  ],
  'entities that a document declares': [
    () =>
      zipOf({
        'xl/workbook.xml':
          '<!DOCTYPE w [<!ENTITY a "aaaaaaaa">]><workbook><sheets><sheet name="&a;"/></sheets></workbook>',
        'xl/_rels/workbook.xml.rels': '<Relationships/>',
      }),
    /The workbook is damaged/,
  ],
  'no sheet': [
    () => zipOf({ 'xl/workbook.xml': '<workbook/>', 'xl/_rels/workbook.xml.rels': '<Relationships/>' }),
    /has no sheet that is shown/,
  ],
  'another archive': [() => zipOf({ 'users.csv': 'id,email' }), /This is a zip archive/],
  'a workbook that is cut off': [() => cell('<v>1</v>').subarray(0, 900), /This is a zip archive .*cut off/],
};

for (const [what, [bytes, told]] of Object.entries(REFUSED)) {
  test(`refused: ${what}`, async () => {
    await assert.rejects(
      recordsOf(bytes()),
      (error: Error) => told.test(error.message) || assert.fail(error.stack ?? ''),
    );
  });
}

test('the beginning of a workbook is told from that of another archive', () => {
  assert.ok(mayBeWorkbook(readFileSync('test/fixtures/xlsx/openpyxl.xlsx').subarray(0, 100)));
  assert.ok(mayBeWorkbook(cell('<v>1</v>')));
  assert.ok(!mayBeWorkbook(zipOf({ 'users.csv': 'id,email' })));
  assert.ok(!mayBeWorkbook(Buffer.from('id,email\n1,xl/\n')));
});

test('the most bytes of an export count for the sheet too', async () => {
  const bytes = workbookOf({
    sheets: { A: textRows(['id'], ...Array.from({ length: 1000 }, (_, i) => [`user-${i}`])) },
  });
  await assert.rejects(fileOf(bytes, {}, { most: 1000 }), { message: /more than 1000 bytes after decompression/ });
});
