/** Files that are nearly exports: what is read of them, and what is said where nothing can be read. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import test from 'node:test';
import { type ExportFile, openExport } from '../../src/sources/read/file.ts';
import { guessSources, whyUnrecognized } from '../../src/sources/recognize.ts';

async function opened(t: TestContext, text: string): Promise<ExportFile> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-odd-'));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'odd'), text);
  const file = await openExport(join(folder, 'odd'));
  t.after(() => file.close());
  return file;
}

async function recordsOf(file: ExportFile) {
  const found = [];
  for await (const group of file.records({ paths: [] })) found.push(...group);
  return found;
}

const READ: [what: string, text: string, lines: number[]][] = [
  ['lines that end with CR alone', 'id,email\r1,a@example.com\r2,"b@example.com"\r', [2, 3]],
  ["Excel's line that names the delimiter", 'sep=;\r\nid;email\r\n1;a@example.com\r\n2;b@example.com\r\n', [3, 4]],
  ['the same after a byte order mark', '\uFEFFsep=;\nid;email\n1;a@example.com\n2;b@example.com\n', [3, 4]],
  ['two columns of one name with equal cells', 'id,email,id\n1,a@example.com,1\n2,b@example.com,2\n', [2, 3]],
];

for (const [what, text, lines] of READ) {
  test(`CSV: ${what}`, async (t) => {
    const file = await opened(t, text);
    assert.equal((await guessSources(file))[0]?.source.name, 'csv');
    assert.deepEqual(
      await recordsOf(file),
      lines.map((line, i) => ({ line, value: { id: `${i + 1}`, email: `${'ab'[i]}@example.com` } })),
    );
  });
}

test('CSV: a row with different cells in two columns of one name is broken', async (t) => {
  const file = await opened(t, 'id,email,email\n1,a@example.com,a@example.com\n2,b@example.com,x@example.com\n');
  const [, broken] = await recordsOf(file);
  assert.equal(broken?.line, 3);
  assert.equal(broken?.value, undefined);
  assert.match(broken?.problem ?? '', /^has different values in two columns named "email"/);
});

const REFUSED: [text: string, told: RegExp][] = [
  ['', /odd is empty\.$/],
  ['\uFEFF', /odd is empty\.$/],
  [' \n\n ', /odd is empty\.$/],
  ['[]', /odd has no users\.$/],
  ['{}', /odd has no users\.$/],
  ['42', /odd is a single value, not a list of users\.$/],
  ['id,email,firstName\n', /odd has a header, but no users\.$/],
  ['version: 1\n', /odd has no entries\.$/],
  ['{"error":"invalid_token","error_description":"x"}', /odd is the answer of an API that failed/],
  ['{"errors":[{"message":"Unauthorized"}]}', /odd is the answer of an API that failed/],
  ['{"statusCode":401,"message":"x"}', /odd is the answer of an API that failed/],
  ['id,email,name\n1,a@example.com,"Ann\n2,b@example.com,Bob\n', /odd, line 2: .*a quote is opened and never closed/],
  ['id,email,name\n1,a@example.com,An"n\n', /odd, line 2: .*a quote is in a place where none is allowed/],
  ['dn: uid=a,dc=x\nobjectClass: person\nuid a\n', /odd, line \d: /],
];

for (const [text, told] of REFUSED) {
  test(`says why it recognizes nothing in ${JSON.stringify(text.slice(0, 40))}`, async (t) => {
    const file = await opened(t, text);
    assert.deepEqual(await guessSources(file), []);
    assert.match((await whyUnrecognized(file)) ?? '', told);
  });
}

test('says nothing of a file that could be an export', async (t) => {
  assert.equal(await whyUnrecognized(await opened(t, 'a,b\n1,2\n')), undefined);
  assert.equal(await whyUnrecognized(await opened(t, '{"message":"hello","email":"a@example.com"}')), undefined);
});
