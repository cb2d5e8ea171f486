/** Real-world files: in any encoding, gzipped, with comments and unusual endings; and joining two files. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import test from 'node:test';
import { gzipSync } from 'node:zlib';
import { openHashIndex } from '../../src/sources/join.ts';
import { formatOf } from '../../src/sources/read/beginning.ts';
import { type CsvLayout, csvRecords, delimiterOf } from '../../src/sources/read/csv.ts';
import { type FileOptions, openExport, STDIN } from '../../src/sources/read/file.ts';
import { ldifRecords } from '../../src/sources/read/ldif.ts';
import { ndjsonRecords } from '../../src/sources/read/ndjson.ts';
import type { FileRecord, Records } from '../../src/sources/read/records.ts';
import { asFileOf } from '../../src/sources/recognize.ts';
import { SOURCES } from '../../src/sources/registry.ts';
import type { ExportFormat } from '../../src/sources/source.ts';

async function all(records: Records): Promise<FileRecord[]> {
  const found: FileRecord[] = [];
  for await (const group of records) found.push(...group);
  return found;
}

test('a web page, a database and a dump are refused, and not taken for CSV', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-page-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'users.csv');
  const pages = [
    '<!DOCTYPE html>\n<html lang="en">',
    '\n<html><body>Id,Email\n<p>x</p>',
    '<?xml version="1.0"?><Error>',
  ];
  for (const page of pages) {
    await writeFile(path, page);
    await assert.rejects(openExport(path), /users\.csv: This is a web page or XML, not an export\./);
  }
  const others: [text: string, told: RegExp][] = [
    ['SQLite format 3\0\u0010', /This is an SQLite database\. Export its table/],
    ['PK\u0003\u0004xl/', /This is a zip archive or a spreadsheet/],
    ['-- MySQL dump\n/*!40101 SET x */;\n\nDROP TABLE IF EXISTS `users`;', /This is an SQL dump/],
    ['SET statement_timeout = 0;\n', /This is an SQL dump/],
    ['%PDF-1.7\n%âãÏÓ', /This is a PDF, not an export/],
    ['\u0089PNG\r\n\u001a\n\0\0\0\rIHDR', /This is not text/],
    ['i\0\0d\0\0,\0\0', /This is not text/],
    ['insert into users values (1);', /This is an SQL dump/],
  ];
  for (const [text, told] of others) {
    await writeFile(path, text);
    await assert.rejects(openExport(path), told);
  }
  await writeFile(path, 'Create date;Set\n1;2\n');
  await (await openExport(path)).close();
  await writeFile(path, 'id,email\n1,<ann@example.com>\n');
  await (await openExport(path)).close();
});

/** In chunks of `size` bytes. */
async function* pieces(text: string | Buffer, size = 7): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield Buffer.from(bytes.subarray(at, at + size));
}

test('NDJSON: a broken line is one broken record, and lines are numbered as editors do', async () => {
  const text = Buffer.concat([
    Buffer.from('{"a":1}\r\n\n{"a":\n'),
    Buffer.from([0x22, 0xff, 0x22]),
    Buffer.from('\n{"a":2}'),
  ]);
  assert.deepEqual(await all(ndjsonRecords(pieces(text))), [
    { line: 1, value: { a: 1 } },
    { line: 3, value: undefined, problem: 'is not valid JSON' },
    { line: 4, value: undefined, problem: 'is not valid UTF-8' },
    { line: 5, value: { a: 2 } },
  ]);
});

test('CSV: comments before the header, quotes, line breaks in cells, short and long rows', async () => {
  const text = '# Password: "x\nid,name\n\n1,"A ""B""\nC"\n2\r\n3,c,\n4,d,e\n#5,f\n  \n';
  assert.deepEqual(await all(csvRecords(pieces(text, 1000), { delimiter: ',' })), [
    { line: 4, value: { id: '1', name: 'A "B"\nC' } },
    { line: 6, value: { id: '2', name: '' }, isUneven: true },
    { line: 7, value: { id: '3', name: 'c' }, isUneven: true },
    { line: 8, value: undefined, problem: 'has 3 cells where the header has 2' },
    { line: 9, value: undefined, skip: 'A row that begins with #.' },
  ]);
});

test('text with tabs may be without quotes, as `mysql --batch` writes it, or have them', async () => {
  assert.deepEqual(await rows('id\tparams\n1\t{"a":"b"}\n2\tAnn "A" B\n', { delimiter: '\t' }), [
    '1|{"a":"b"}',
    '2|Ann "A" B',
  ]);
  assert.deepEqual(await rows('id\tname\n1\t"A ""B""\nC"\n', { delimiter: '\t' }), ['1|A "B"\nC']);
  const open = rows('id\tname\n1\t"ann\n2\tbob\n3\t"cid"\n', { delimiter: '\t' });
  await assert.rejects(open, /a quote is opened and never closed/);
});

/** The cells of valid rows, and the problems of the others. */
async function rows(text: string, { columns, delimiter = ',' }: Partial<CsvLayout> = {}): Promise<unknown[]> {
  const records = await all(csvRecords(pieces(text, 1000), { delimiter, columns }));
  return records.map(({ value, problem, isUneven }) => {
    return problem ?? Object.values(value as object).join('|') + (isUneven ? ' uneven' : '');
  });
}

test('CSV: the first row decides whether rows end with a delimiter; a row of another length is marked', async () => {
  assert.deepEqual(await rows('a,b\n1,2,\n3,4,\n5,6\n'), ['1|2', '3|4', '5|6 uneven']);
  assert.deepEqual(await rows('a,b,\n1,2\n3,4\n'), ['1|2', '3|4']);
  assert.deepEqual(await rows('a,b,\n1,2,\n3,4,\n'), ['1|2', '3|4']);
  // A comma in an unquoted name.
  assert.deepEqual(await rows('a,b,c\n1,Ann,x\n2,Doe, Jane,y\n'), ['1|Ann|x', 'has 4 cells where the header has 3']);
  assert.deepEqual(await rows('a,b,c\n1,Ann,x\n2,Bob, ,, \n'), ['1|Ann|x', '2|Bob|  uneven']);
  assert.deepEqual(await rows('a,b,c\n1,,x\n2,x\n3\n'), ['1||x', '2|x| uneven', '3|| uneven']);
  assert.deepEqual(await rows('mail\na\nb\n'), ['a', 'b']);
});

test('CSV without a header may lack the last columns', async () => {
  assert.deepEqual(await rows('1,2\n3,4\n5\n', { columns: ['a', 'b', 'c'] }), ['1|2|', '3|4|', '5|| uneven']);
  assert.deepEqual(await rows('1,2,\n3,4,\n', { columns: ['a', 'b'] }), ['1|2', '3|4']);
  assert.deepEqual(await rows('1,2,x\n', { columns: ['a', 'b'] }), ['has 3 cells where this export has 2']);
});

test('CSV without a header uses the given names; rows before an error are returned', async () => {
  const records = csvRecords(pieces('1;a\n2;"b', 1000), { delimiter: ';', columns: ['id', 'name'] });
  assert.deepEqual((await records.next()).value, [{ line: 1, value: { id: '1', name: 'a' } }]);
  await assert.rejects(records.next(), /a quote is opened and never closed/);
});

test('the delimiter is the most frequent one in the first line, outside quotes', () => {
  assert.equal(delimiterOf('# a;b;c;d\na,b,"x;y;z;u"\n'), ',');
  assert.equal(delimiterOf('a;b;c\n1,2;3;4'), ';');
  assert.equal(delimiterOf('a\tb'), '\t');
  assert.equal(delimiterOf('mail'), ',');
  assert.equal(delimiterOf('sep=|\r\na,b,c|d'), '|');
});

test('LDIF: folded lines, base64, options, comments; changes and external values are broken records', async () => {
  const text = [
    'version: 1',
    '# a comment',
    '  that goes on',
    'dn: uid=ann,dc=example',
    'uid: ann',
    'cn;lang-en: Ann',
    ' Arbor',
    'CN:: w4RubmE=',
    'jpegPhoto:: /9j/',
    '',
    '',
    'dn: uid=b,dc=example',
    'changetype: modify',
    'replace: mail',
    '',
    'dn: uid=c,dc=example',
    'jpegPhoto:< file:///c.jpg',
    '',
    'dn:: dWlkPWQ=',
    'changetype: add',
    'uid: d',
  ].join('\r\n');
  assert.deepEqual(await all(ldifRecords(pieces(text))), [
    {
      line: 1,
      value: {
        dn: 'uid=ann,dc=example',
        uid: ['ann'],
        cn: ['AnnArbor', 'Änna'],
        jpegphoto: [Buffer.from('/9j/', 'base64').toString('latin1')],
      },
    },
    { line: 12, value: undefined, problem: 'is a change, not an entry' },
    { line: 16, value: undefined, problem: 'has a value in another file' },
    { line: 19, value: { dn: 'uid=d', uid: ['d'] } },
  ]);
});

test("LDIF: ldapsearch's lines about the search are not entries", async () => {
  const search = '# search reference\nref: ldap://b.example/dc=b\n\n# search result\nsearch: 2\nresult: 0 Success\n';
  const text = `dn: uid=a\nuid: a\n\n${search}\n# numEntries: 1\n`;
  assert.deepEqual(await all(ldifRecords(pieces(text))), [{ line: 1, value: { dn: 'uid=a', uid: ['a'] } }]);
  assert.deepEqual(await all(ldifRecords(pieces('search: 2\nuid: a\n'))), [
    { line: 1, value: undefined, problem: 'has no dn' },
  ]);
});

test('the format is detected by content', () => {
  assert.equal(formatOf(' [\n{"a":1}]'), 'json');
  assert.equal(formatOf('{\n"users": []}'), 'json');
  assert.equal(formatOf('{"users":[]}'), 'json');
  assert.equal(formatOf('{"a":1}\n\n{"a":2}\n'), 'ndjson');
  assert.equal(formatOf('# extended LDIF\n#\n\ndn: dc=example\n'), 'ldif');
  assert.equal(formatOf('version: 1\ndn: x'), 'ldif');
  assert.equal(formatOf('cn: x\n\ndn: cn=y\nobjectClass: person\n'), 'ldif');
  assert.equal(formatOf('# by hand\nid,mail\n'), 'csv');
});

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'muster-read-'));
  t.after(() => rm(path, { recursive: true }));
  return path;
}

const TEXT = 'name\nMüller\n€uro\n';
const BODIES: [what: string, bytes: Buffer, expected: Partial<Record<'encoding' | 'isGzip', unknown>>][] = [
  ['UTF-8 with a mark', Buffer.from(`\ufeff${TEXT}`), { encoding: 'utf-8', isGzip: false }],
  ['UTF-16LE', Buffer.from(`\ufeff${TEXT}`, 'utf16le'), { encoding: 'utf-16le' }],
  ['UTF-16BE', Buffer.from(`\ufeff${TEXT}`, 'utf16le').swap16(), { encoding: 'utf-16be' }],
  ['Windows-1252', Buffer.from(TEXT.replace('€', '\x80'), 'latin1'), { encoding: 'windows-1252' }],
  [
    'UTF-8, gzipped in two members',
    Buffer.concat([gzipSync(TEXT.slice(0, 7)), gzipSync(TEXT.slice(7))]),
    { isGzip: true },
  ],
];
for (const [what, bytes, expected] of BODIES) {
  test(`a file in ${what} reads the same, twice`, async (t) => {
    const path = join(await folder(t), 'file');
    await writeFile(path, bytes);
    const file = await openExport(path);
    t.after(() => file.close());
    for (const [name, value] of Object.entries(expected)) assert.equal(file[name as 'encoding'], value);
    for (let i = 0; i < 2; i++) {
      const records = await all(file.records({ paths: [] }));
      assert.deepEqual(
        records.map(({ value }) => value),
        [{ name: 'Müller' }, { name: '€uro' }],
      );
    }
  });
}

test('standard input can be read several times, like a file, and leaves nothing behind', async (t) => {
  const own = await folder(t);
  const { TMPDIR } = process.env;
  t.after(() => {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
  });
  process.env.TMPDIR = own;
  const file = await openExport(STDIN, {}, Readable.from([Buffer.from('{"a":1}\n{"a'), Buffer.from('":2}\n')]));
  t.after(() => file.close());
  for (let i = 0; i < 2; i++) assert.equal((await all(file.records({ paths: [] }))).length, 2);
  assert.deepEqual(await readdir(own), []);
});

async function refusal(t: TestContext, bytes: Buffer | undefined, options?: FileOptions): Promise<string> {
  const path = join(await folder(t), 'users.json.gz');
  if (bytes) await writeFile(path, bytes);
  const read = async () => {
    const file = await openExport(path, options);
    try {
      await all(file.records({ paths: [['*']] }));
    } finally {
      await file.close();
    }
  };
  const error = await read().then(
    () => assert.fail('it was read'),
    (error: Error) => error,
  );
  return error.message.replace(path, 'F');
}

test('unreadable files are reported in a sentence', async (t) => {
  assert.equal(await refusal(t, undefined), 'F cannot be read: there is no such file.');
  const long = gzipSync(Buffer.from(JSON.stringify(Array.from({ length: 1000 }, (_, i) => ({ i })))));
  assert.equal(await refusal(t, long.subarray(0, -20)), 'F cannot be read: its gzip data is cut off.');
  assert.equal(await refusal(t, Buffer.from('[{"a":1},\n{"b"}]')), 'F, line 2: The file is not valid JSON.');
});

test('the hashes of a hundred thousand users are found again, by any of their keys', async (t) => {
  const index = await openHashIndex();
  t.after(() => index.close());
  const count = 100_000;
  for (let i = 0; i < count; i++) await index.add([`auth0|${i}`, `u${i}@example.com`], { hash: `h${i}` });
  await index.add(['auth0|7'], { hash: 'later' });
  await index.finish();
  for (let i = 0; i < count - 10; i++) {
    const key = i % 2 === 0 ? `u${i}@example.com` : `auth0|${i}`;
    assert.equal(index.find([`nobody|${i}`, key])?.hash, i === 7 ? 'later' : `h${i}`);
    if (i % 100 === 0) assert.equal(index.find([`auth0|${i}`])?.hash, `h${i}`);
  }
  assert.equal(index.find(['auth0|x']), undefined);
  assert.deepEqual(index.count(), { records: count, unused: 10 });
});

test("a document is read at its source's paths: a list of realms, a list of users, a single user", async (t) => {
  const keycloak = SOURCES.find(({ name }) => name === 'keycloak') as ExportFormat;
  const users = async (document: unknown) => {
    const path = join(await folder(t), 'realm.json');
    await writeFile(path, JSON.stringify(document, null, 2));
    const file = await openExport(path);
    t.after(() => file.close());
    const { layout } = await asFileOf(keycloak, file);
    return (await all(file.records(layout))).map(({ value }) => (value as { username: string }).username);
  };
  const [a, b] = [{ username: 'a' }, { username: 'b' }];
  assert.deepEqual(await users({ realm: 'r', users: [a, b] }), ['a', 'b']);
  assert.deepEqual(
    await users([
      { realm: 'r', users: [a] },
      { realm: 's', users: [b] },
    ]),
    ['a', 'b'],
  );
  assert.deepEqual(await users([a, b]), ['a', 'b']);
  assert.deepEqual(await users(a), ['a']);
  assert.deepEqual(await users({ realm: 'r', users: [] }), []);
});

test('hashes are found in any order: as they came, backwards, in jumps, and records larger than what is read at once', async () => {
  const index = await openHashIndex();
  // A prime step visits all records, in no order.
  const sizes = Array.from({ length: 3000 }, (_, i) => (i % 700 === 0 ? 50_000 : (i * 37) % 200));
  for (const [i, size] of sizes.entries()) await index.add([`k${i}`], { i, text: 'é'.repeat(size) });
  await index.finish();
  const forwards = sizes.map((_, i) => i);
  const jumps = sizes.map((_, i) => (i * 1013) % sizes.length);
  for (const i of [...forwards, ...forwards.toReversed(), ...jumps, ...forwards]) {
    const found = index.find([`k${i}`]) as { i: number; text: string };
    assert.deepEqual([found.i, found.text.length], [i, sizes[i]]);
  }
  assert.deepEqual(index.count(), { records: 3000, unused: 0 });
  await index.close();
});
