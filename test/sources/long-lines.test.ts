/**
 * Lines longer than a sample, or than any record may be, are reported with their number after a bounded number of
 * bytes.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import test from 'node:test';
import { mappingFor } from '../../src/sources/mapping.ts';
import { formattedBeginning } from '../../src/sources/read/beginning.ts';
import { csvRecords } from '../../src/sources/read/csv.ts';
import { type FileOptions, openExport } from '../../src/sources/read/file.ts';
import { JsonScanner, jsonRecords } from '../../src/sources/read/json.ts';
import { ldifRecords } from '../../src/sources/read/ldif.ts';
import { ndjsonRecords } from '../../src/sources/read/ndjson.ts';
import { FileError, MAX_RECORD_BYTES, MOST_CELLS, type Records } from '../../src/sources/read/records.ts';
import { asFileOf, guessSources } from '../../src/sources/recognize.ts';
import { SOURCES } from '../../src/sources/registry.ts';
import { cpuMs } from '../support/cpu.ts';

const MIB = 2 ** 20;
const CHUNK = Buffer.alloc(2 ** 18, 'a');
const GIGABYTE = 2 ** 30;

/** A text, followed by a gigabyte on the same line; `read` counts how much of it was requested. */
function endless(head: string) {
  const state = { read: 0 };
  async function* chunks(): AsyncGenerator<Buffer> {
    yield Buffer.from(head);
    for (; state.read < GIGABYTE; state.read += CHUNK.length) yield CHUNK;
  }
  return { state, chunks };
}

async function drain(records: Records): Promise<number> {
  let count = 0;
  for await (const group of records) count += group.length;
  return count;
}

const READERS: [what: string, read: (chunks: AsyncIterable<Buffer>) => Records, head: string, line: number][] = [
  ['NDJSON', ndjsonRecords, '{"a":1}\n\n{"a":"', 3],
  ['CSV', (chunks) => csvRecords(chunks, { delimiter: ',' }), 'id,name\n1,Ann\n2,', 3],
  ['CSV in its header', (chunks) => csvRecords(chunks, { delimiter: ',' }), 'id,name', 1],
  ['CSV in quotes', (chunks) => csvRecords(chunks, { delimiter: ',' }), 'id,name\n1,"A\nB"\n2,"', 4],
  ['LDIF', ldifRecords, 'dn: uid=a\nuid: a\n\ndn: uid=b\ncn: ', 5],
  ['a JSON record', (chunks) => jsonRecords(chunks, [['*']]), '[{"a":1},\n{"a":"', 2],
  ['a skipped JSON string', (chunks) => jsonRecords(chunks, [['users', '*']]), '{\n"note":"', 2],
  ['a nested JSON string', (chunks) => jsonRecords(chunks, [['users', '*']]), '{"a":[{},["x",\n"', 1],
];

for (const [what, read, head, line] of READERS) {
  test(`a line of a gigabyte ends the reading of ${what} at its limit, with its number`, async () => {
    const { state, chunks } = endless(head);
    await assert.rejects(drain(read(chunks())), (error: unknown) => {
      assert.ok(error instanceof FileError);
      assert.match(error.message, new RegExp(`longer than ${MAX_RECORD_BYTES} bytes`));
      assert.equal(error.line, line);
      return true;
    });
    assert.ok(state.read <= MAX_RECORD_BYTES + 2 * CHUNK.length, `${state.read} bytes were read`);
  });
}

const TOO_WIDE = { name: 'UsageError', message: /^The file is not valid CSV: a row has more than 16384 cells\.$/ };

for (const [what, head, line] of [
  ['header', '', 1],
  ['row', 'id,"na\nme"\n1,2\n', 4],
] as const) {
  test(`a ${what} of a gigabyte of empty cells ends the reading soon`, async () => {
    let read = 0;
    async function* chunks() {
      yield Buffer.from(head);
      for (const commas = Buffer.alloc(2 ** 18, ','); read < GIGABYTE; read += commas.length) yield commas;
    }
    await assert.rejects(drain(csvRecords(chunks(), { delimiter: ',' })), { ...TOO_WIDE, line });
    assert.ok(read <= MIB);
  });
}

test('a row may have as many cells as a sheet', async () => {
  const rows = (cells: number) =>
    csvRecords(Readable.from([Buffer.from(`${','.repeat(cells - 1)}\n${'1,'.repeat(cells - 1)}\n`)]), {
      delimiter: ',',
    });
  assert.equal(await drain(rows(MOST_CELLS)), 1);
  await assert.rejects(drain(rows(MOST_CELLS + 1)), { ...TOO_WIDE, line: 1 });
});

test('names of very many columns or attributes are read in a time that grows with their length only', async () => {
  const named = Object.fromEntries(Array.from({ length: 300_000 }, (_, i) => [`k${i}`, '']));
  const { columns } = mappingFor({ ...named, 'E-Mail': 'a' }, { columns: {}, metadata: {} });
  assert.deepEqual(columns, { email: 'E-Mail' });
  const options = `cn${';x'.repeat(MIB)}\u2028`;
  assert.equal(await drain(ldifRecords(Readable.from([Buffer.from(`dn: a\n${options}: Ann\n\n`)]))), 1);
});

test('a first line of a gigabyte is reported before the file is read', async () => {
  for (const [head, given] of [
    ['{"email":"a@example.com","note":"', undefined],
    ['{"email":"a@example.com","note":"', 'ndjson'],
  ] as const) {
    let read = 0;
    const open = () => {
      const { state, chunks } = endless(head);
      return (async function* () {
        for await (const chunk of chunks()) {
          yield chunk;
          read = Math.max(read, state.read);
        }
      })();
    };
    await assert.rejects(formattedBeginning(open, given), { name: 'UsageError', line: 1 });
    assert.ok(read <= MAX_RECORD_BYTES + 2 * MIB);
  }
});

test('strings that end are skipped, however many there are', async () => {
  const part = Buffer.from(`"${'b'.repeat(MIB)}",`);
  async function* chunks(): AsyncGenerator<Buffer> {
    yield Buffer.from('{"other":[');
    for (let i = 0; i < 20; i++) yield part;
    yield Buffer.from('1],"users":[{"a":1}]}');
  }
  assert.equal(await drain(jsonRecords(chunks(), [['users', '*']])), 1);
});

for (const [what, head, piece, tail] of [
  ['a record', '{"users":[{"a":"', 'abcd', '"}]}'],
  ['a record that is a string', '{"users":["', 'ab\\n', '"]}'],
  ['a skipped string', '{"x":"', 'abcd', '","users":[1]}'],
  ['a skipped object', '{"x":{"y":[0', ',[1]', ']},"users":[1]}'],
] as const) {
  test(`${what} that arrives in pieces of four bytes is read once`, () => {
    const scanner = new JsonScanner([['users', '*']]);
    scanner.push(Buffer.from(head));
    const chunk = Buffer.from(piece);
    const ms = cpuMs(() => {
      for (let i = 0; i < MAX_RECORD_BYTES / 4 - 1000; i++) scanner.push(chunk); // minutes if each read all before it
    });
    assert.equal([...scanner.push(Buffer.from(tail)), ...scanner.end()].flat().length, 1);
    assert.equal(scanner.problem, undefined);
    assert.ok(ms < 30_000, `${ms} ms`);
  });
}

async function fileOf(t: TestContext, text: string | Buffer, options?: FileOptions) {
  const folder = await mkdtemp(join(tmpdir(), 'muster-long-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'users');
  await writeFile(path, text);
  const file = await openExport(path, options);
  t.after(() => file.close());
  return file;
}

async function usersBy(name: string, file: Awaited<ReturnType<typeof fileOf>>): Promise<number> {
  const source = SOURCES.find((one) => one.name === name);
  assert.ok(source);
  return drain(file.records((await asFileOf(source, file)).layout));
}

const user = (n: number, more: object = {}) =>
  JSON.stringify({ user_id: `auth0|${n}`, email: `u${n}@example.com`, ...more });

for (const mib of [1, 1.5, 7]) {
  test(`a first line of ${mib} MiB or more is one line of NDJSON`, async (t) => {
    const long = user(1, { user_metadata: { note: 'x'.repeat(mib * MIB) } });
    const file = await fileOf(t, `${long}\n\n${user(2)}\n${user(3)}\n`);
    assert.equal(file.format, 'ndjson');
    assert.equal((await guessSources(file))[0]?.source.name, 'auth0');
    assert.equal(await usersBy('auth0', file), 3);
  });
}

test('so is a long first line in UTF-16', async (t) => {
  const long = user(1, { user_metadata: { note: 'ü'.repeat(MIB) } });
  const file = await fileOf(t, Buffer.from(`\ufeff${long}\n${user(2)}\n`, 'utf16le'));
  assert.equal(file.format, 'ndjson');
  assert.equal(await usersBy('auth0', file), 2);
});

test('a document on one long line stays one document', async (t) => {
  const users = Array.from({ length: 20_000 }, (_, n) => user(n)).join(',');
  const file = await fileOf(t, `{"start":0,"users":[${users}]}`);
  assert.equal(file.format, 'json');
  assert.equal(await usersBy('auth0', file), 20_000);
});
