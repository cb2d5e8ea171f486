/**
 * Words for null in CSV: every source that reads tables gives the same users, hashes and notes for `NULL`, `\N`, `None`
 * and the like as for an empty cell, in each column.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test, { type TestContext } from 'node:test';
import { openConversion } from '../../src/sources/convert.ts';
import { type ExportFile, inspect, openExport } from '../../src/sources/read/file.ts';
import { asFileOf } from '../../src/sources/recognize.ts';
import { SOURCES } from '../../src/sources/registry.ts';
import type { ExportFormat, Fields } from '../../src/sources/source.ts';
import { CONTEXT, isFields } from '../../src/sources/values.ts';
import { sourceFixtures } from '../support/sources.ts';

const WORDS = ['NULL', '\\N', '(null)', 'None', 'N/A', 'nan', 'null', '<NULL>', '#N/A'];
const TABULAR = SOURCES.filter(({ name, formats }) => formats.includes('csv') && name !== 'csv');
const FIXTURES = sourceFixtures();
/** Each column is empty in as many rows: one word alone may be somebody's name. */
const ROWS = 2;

type Row = Record<string, string>;

/** Tables whose rows differ from the records of the fixtures. */
const TABLES: Readonly<Record<string, Row[]>> = {
  supertokens: ['ada', 'ben'].map((name) => ({
    app_id: 'public',
    user_id: `st-${name}`,
    email: `${name}@supertokens.example.com`,
    password_hash: '$2b$04$PV6Fqy4IzQRwWSpyBJGmS.nUqEO.F8hrThrKZu/CLT4ZwmxtIHu1e',
    time_joined: '1700000000000',
    third_party_id: 'google',
    third_party_user_id: `g-${name}`,
  })),
};

for (const source of TABULAR) {
  test(`${source.name} reads words for null as empty cells, in every column`, async (t) => {
    const rows = await rowsOf(t, source);
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    assert.ok(columns.length > 1, 'the fixture has columns');
    for (const column of columns) {
      const emptied = (cell: string) => [...rows, ...rows.slice(0, ROWS).map((row) => ({ ...row, [column]: cell }))];
      const expected = await converted(source, columns, emptied(''));
      for (const word of WORDS) {
        assert.deepEqual(await converted(source, columns, emptied(word)), expected, `${column}: ${word}`);
      }
    }
  });
}

/** The first records of a fixture as rows of a table, at least as many as are changed. */
async function rowsOf(t: TestContext, source: ExportFormat): Promise<Row[]> {
  const table = TABLES[source.name];
  if (table) return table;
  const own = FIXTURES.filter((fixture) => fixture.source === source.name && fixture.args.length === 0);
  const files = own.flatMap((fixture) => fixture.files);
  for (const path of [...files.filter((file) => file.endsWith('.csv')), ...files]) {
    const file = await openExport(path);
    t.after(() => file.close());
    const { layout, isHashes } = await asFileOf(source, file);
    if (isHashes) continue;
    const rows: Row[] = [];
    for await (const group of file.records(layout)) {
      for (const { value } of group) if (isFields(value) && rows.length < 2 * ROWS) rows.push(cellsOf(value));
    }
    while (rows.length < ROWS) rows.push(rows[0] ?? assert.fail(`${path} has no records`));
    return rows;
  }
  return assert.fail(`there is no fixture of ${source.name}`);
}

function cellsOf(record: Fields): Row {
  const cells = Object.entries(record).filter(([name]) => name !== CONTEXT);
  return Object.fromEntries(cells.map(([name, value]) => [name, typeof value === 'string' ? value : json(value)]));
}

function json(value: unknown): string {
  return value === undefined || value === null ? '' : JSON.stringify(value);
}

/** What a table becomes: entries, notes and reasons to skip. */
async function converted(source: ExportFormat, columns: string[], rows: Row[]): Promise<unknown[]> {
  const file = await csvOf([columns, ...rows.map((row) => columns.map((column) => row[column] ?? ''))]);
  return convertedFiles(source, [file]);
}

/** A file with these cells, in memory: there are thousands. */
function csvOf(lines: string[][]): Promise<ExportFile> {
  const bytes = Buffer.from(lines.map((cells) => `${cells.map(quoted).join(',')}\n`).join(''));
  async function* read() {
    yield bytes;
  }
  return inspect({ name: 'users.csv', size: bytes.length, read, close: async () => {} });
}

async function convertedFiles(source: ExportFormat, opened: readonly ExportFile[]): Promise<unknown[]> {
  const files = await Promise.all(opened.map((file) => asFileOf(source, file)));
  const conversion = await openConversion({ source, files, options: {}, orgId: 'acme' }).catch(
    (error: Error) => error.message,
  );
  if (typeof conversion === 'string') return [conversion];
  const all: unknown[] = [];
  for await (const outcomes of conversion.outcomes()) {
    all.push(...outcomes.map(({ file: _, ...outcome }) => outcome));
  }
  await conversion.close();
  return all;
}

test('a word for null in a file of hashes is no hash', async (t) => {
  const source = SOURCES.find(({ name }) => name === 'stytch') ?? assert.fail();
  const [users, hashFile] = FIXTURES.find((fixture) => fixture.source === 'stytch')?.files ?? [];
  assert.ok(users !== undefined && hashFile !== undefined);
  const userFile = await openExport(users);
  t.after(() => userFile.close());
  const lines = readFileSync(hashFile, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.split(','));
  const hashes = (cell: string) =>
    csvOf(lines.map(([id = '', ...cells]) => [id, ...cells.map((one) => (id.startsWith('user-') ? cell : one))]));
  const expected = await convertedFiles(source, [userFile, await hashes('')]);
  assert.match(JSON.stringify(expected), /user-test-1/);
  assert.doesNotMatch(JSON.stringify(expected), /hashedPassword/);
  for (const word of WORDS) {
    assert.deepEqual(await convertedFiles(source, [userFile, await hashes(word)]), expected, word);
  }
});

function quoted(cell: string): string {
  return `"${cell.replaceAll('"', '""')}"`;
}
