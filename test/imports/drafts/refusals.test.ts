/** Files that are refused while they arrive, and what is left to the recognition. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type Answer, errorId, startApi, type TestApi } from '../../support/api.ts';
import { createFile, newDraft, offsetOf, sendBytes } from '../../support/imports/drafts.ts';
import { textRows, workbookOf, zipOf } from '../../support/workbook.ts';

let api: TestApi;
let orgId: string;
before(async () => {
  api = await startApi();
  ({ orgId } = await api.setupOrg());
});
after(() => api.stop());

const ROWS = textRows(['id', 'email'], ['1', 'a@b.example']);
const FORMULA = '<row r="90"><c r="B90"><f>A1</f><v>2</v></c></row>';
const workbook = (...sheets: string[]) =>
  workbookOf({ sheets: Object.fromEntries(sheets.map((rows, i) => [`Sheet ${i + 1}`, rows])) });
/** All entries say that they have a password. */
function encrypted(zip: Buffer): Buffer {
  const bytes = Buffer.from(zip);
  for (const [mark, flags] of [
    ['PK\x03\x04', 6],
    ['PK\x01\x02', 8],
  ] as const)
    for (let at = bytes.indexOf(mark, 0, 'latin1'); at >= 0; at = bytes.indexOf(mark, at + 4, 'latin1'))
      bytes.writeUInt16LE(1, at + flags);
  return bytes;
}

async function send(bytes: Buffer, pieces = 1): Promise<{ id: string; path: string; answer: Answer }> {
  const id = await newDraft(api, { orgId });
  const created = await createFile(api, id, { size: bytes.length, name: 'users.csv' });
  const path = String(created.headers.get('location'));
  const length = Math.ceil(bytes.length / pieces);
  let answer = created;
  for (let at = 0; at < bytes.length; at += length) {
    answer = await sendBytes(api, path, at, bytes.subarray(at, at + length));
  }
  return { id, path, answer };
}

const filled = (begin: string, fill: (i: number) => number, length = 5000) =>
  Buffer.concat([Buffer.from(begin, 'latin1'), Buffer.from(Array.from({ length }, (_, i) => fill(i)))]);
const noise = (i: number) => (i % 7 === 0 ? 0 : (i * 193) % 256);
const PEOPLE = JSON.stringify([
  { id: '1', email: 'a@b.example', more: { note: ']' } },
  { id: '2', email: 'b@b.example' },
]);

const WRONG: Readonly<Record<string, [bytes: Buffer, words: RegExp]>> = {
  'a picture': [filled('\x89PNG\r\n\x1a\n', noise), /is a picture/],
  'a photo': [filled('\xff\xd8\xff\xe0', noise), /is a picture/],
  'a PDF': [Buffer.from('%PDF-1.7\n1 0 obj\n'), /is a PDF/],
  'nothing but spaces': [Buffer.from(' \r\n\n'), /nothing but spaces/],
  'a zip of something else': [filled('PK\x03\x04', noise), /zip archive/],
  'a program': [filled('\x7fELF', noise), /is a program/],
  'bytes of an unknown kind': [filled('', noise), /is not text/],
  'the page of a login, saved as CSV': [Buffer.from('\n<!DOCTYPE html><html><body>Sign in</body></html>'), /web page/],
  'a spreadsheet of an old Excel': [filled('\xd0\xcf\x11\xe0', noise), /old Excel/],
  'a spreadsheet with a password': [
    Buffer.concat([filled('\xd0\xcf\x11\xe0', noise), Buffer.from('EncryptedPackage', 'utf16le')]),
    /with a password/,
  ],
  'a workbook with a formula': [workbook(ROWS + FORMULA), /B90 holds a formula/],
  'a workbook with a formula far behind its beginning': [
    workbook(`${ROWS}${textRows(...Array.from({ length: 80 }, (_, i) => [`${i}`, 'x'.repeat(20_000)]))}${FORMULA}`),
    /B90 holds a formula/,
  ],
  'a workbook with formulas in one sheet, and nothing in the other': [workbook(ROWS + FORMULA, ''), /B90 holds/],
  'an empty workbook': [workbook(''), /The sheet Sheet 1 is empty/],
  'a bomb': [workbook(`${ROWS}${' '.repeat(40_000_000)}`), /unpacks to far more|is longer than/],
  'a workbook whose parts have a password': [encrypted(workbook(ROWS)), /has a password/],
  'a workbook that was cut off': [workbook(ROWS).subarray(0, 900), /cut off/],
  'a workbook that is no XML': [workbook('<row><c>'), /is damaged/],
  'a document of another program': [zipOf({ '[Content_Types].xml': '', 'word/document.xml': '<w/>' }), /zip archive/],
  'JSON that was cut off': [Buffer.from(PEOPLE.slice(0, -30)), /cut off/],
  'JSON that was cut off behind an object': [Buffer.from(`{"users":${PEOPLE.slice(0, -1)}`), /cut off/],
  'a line of NDJSON that was cut off': [Buffer.from('{"id":"1"}\n{"id":"2","em'), /cut off/],
};

for (const [what, [bytes, words]] of Object.entries(WRONG)) {
  for (const pieces of [1, 3]) {
    // What comes in pieces is judged by the first of them, JSON and workbooks by the last.
    if (pieces > 1 && !/JSON|workbook/.test(what)) continue;
    test(`${what} is refused, and the draft has no file of it, in ${pieces} pieces`, async () => {
      const { id, path, answer } = await send(bytes, pieces);
      assert.deepEqual([answer.status, errorId(answer)], [400, 'UPLOAD-NOT-EXPORT'], JSON.stringify(answer.body));
      assert.match(answer.body.message, words);
      assert.match(answer.body.message, /^users\.csv: /);
      const { body } = await api.call('GET', `/admin/v1/imports/${id}`);
      assert.deepEqual([body.state, body.draft.files], ['IMPORT_STATE_UPLOADING', []]);
      assert.equal((await api.call('HEAD', path)).status, 404);
      const discarded = await api.call('POST', `/admin/v1/imports/${id}/_discard`);
      assert.deepEqual([discarded.status, discarded.body.state], [200, 'IMPORT_STATE_DISCARDED']);
    });
  }
}

const utf16 = Buffer.from('\ufeffid,email\n1,łukasz@b.example\n', 'utf16le');
const RIGHT: Readonly<Record<string, Buffer>> = {
  'a workbook': workbook(ROWS),
  'a workbook of which the second sheet can be read': workbook(ROWS + FORMULA, ROWS),
  CSV: Buffer.from('id,email\n1,a@b.example\n'),
  'CSV with a bracket first': Buffer.from('[id],[email]\n1,a@b.example\n'),
  'UTF-16': utf16,
  'UTF-16 without a mark': utf16.subarray(2),
  'UTF-32': Buffer.from([...'id,email\n1,a@b.example\n'].flatMap((sign) => [sign.charCodeAt(0), 0, 0, 0])),
  gzip: gzipSync('{"id":'),
  JSON: Buffer.from(` ${PEOPLE}\n`),
  'JSON with a mark': Buffer.from(`\ufeff${PEOPLE}`),
  NDJSON: Buffer.from('{"id":"1","note":"}{ \\" ["}\n{"id":"2"}\n'),
  LDIF: Buffer.from('dn: uid=a,dc=b\nuid: a\n'),
};

for (const [what, bytes] of Object.entries(RIGHT)) {
  test(`${what} is taken, whole and in pieces`, async () => {
    for (const pieces of [1, 3]) {
      const { id, path, answer } = await send(bytes, pieces);
      assert.equal(answer.status, 204, JSON.stringify(answer.body));
      assert.equal(await offsetOf(api, path), bytes.length);
      await api.call('POST', `/admin/v1/imports/${id}/_discard`);
    }
  });
}
