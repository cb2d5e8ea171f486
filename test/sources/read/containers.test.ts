/** Containers of exports: which are read, which are named, and that each user keeps their line. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { containerOf } from '../../../src/sources/read/containers.ts';
import { type ExportFile, openExport } from '../../../src/sources/read/file.ts';
import { asFileOf, guessSources } from '../../../src/sources/recognize.ts';

async function opened(t: TestContext, content: string | Buffer): Promise<ExportFile> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-containers-'));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'export'), content);
  const file = await openExport(join(folder, 'export'));
  t.after(() => file.close());
  return file;
}

/** The records with their lines, as the likeliest source reads them. */
async function recordsOf(t: TestContext, content: string | Buffer) {
  const file = await opened(t, content);
  const [best] = await guessSources(file);
  assert.ok(best, 'some source recognizes it');
  const { layout } = await asFileOf(best.source, file);
  const found: { line: number; value: unknown }[] = [];
  for await (const group of file.records(layout)) found.push(...group.map(({ line, value }) => ({ line, value })));
  return found;
}

test('values of YAML stay as they are written, and users keep their lines', async (t) => {
  const text = `# people
- &first
  email: ann@a.example
  phone: +41791234567
  id: 007
  nick: ~
  since: 2024-01-02

- {email: bob@a.example, id: 12345678901234567890, note: "a\\nb"}
- <<: *first
  email: cy@a.example
`;
  assert.deepEqual(await recordsOf(t, text), [
    {
      line: 3,
      value: { email: 'ann@a.example', phone: '+41791234567', id: '007', nick: null, since: '2024-01-02' },
    },
    { line: 9, value: { email: 'bob@a.example', id: '12345678901234567890', note: 'a\nb' } },
    {
      line: 10,
      value: { email: 'cy@a.example', phone: '+41791234567', id: '007', nick: null, since: '2024-01-02' },
    },
  ]);
});

test('broken YAML names its line, and bombs of aliases end', async (t) => {
  await assert.rejects(
    opened(t, 'users:\n  ann:\n    email: a@b.example\n  - x\n'),
    /line 4: The file is not valid YAML/,
  );
  const bomb = Array.from({ length: 20 }, (_, i) => `  a${i}: &a${i} [${`*a${i - 1}, `.repeat(9)}]`).slice(1);
  const text = `users:\n  a0: &a0 [x]\n${bomb.join('\n')}\n`;
  await assert.rejects(opened(t, 'users:\n  a: &a\n    b:\n      <<: *a\n'), /aliases of the YAML/);
  await assert.rejects(opened(t, text), /aliases of the YAML .* are too many/);
});

test('objects keyed by user are read where they are', async (t) => {
  const made = '{"users":{"ann":{"email":"ann@k.example"},\n"bo":{"email":"bo@k.example"}},"version":{"email":"x"}}';
  assert.deepEqual(await recordsOf(t, made), [
    { line: 1, value: { '@key': 'ann', email: 'ann@k.example' } },
    { line: 2, value: { '@key': 'bo', email: 'bo@k.example' } },
  ]);
});

test('a user with lists of their own stays one user', async (t) => {
  const user = { email: 'ann@k.example', accounts: [{ email: 'other@k.example' }], items: [{ email: 'x@k.example' }] };
  assert.equal((await recordsOf(t, JSON.stringify(user, null, 1))).length, 1);
});

test('plain CSV, JSON and LDIF are no containers', () => {
  const plain = [
    'id,email\n1,ann@a.example\n',
    'users:\n',
    'name:hash\nann:secret\n',
    'ann:plain\n',
    'id,note\n1,"C:\\dir\\"\n2,"say ""hi"" to \\"\n',
    '{"a":"x\\"y"}\n',
    'dn: cn=ann\ncn: ann\n',
    'id;note\n1;=1+1\n',
    '',
  ];
  for (const text of plain) assert.equal(containerOf(text, true), undefined, JSON.stringify(text));
});

const NAMED: readonly (readonly [content: string | Buffer, says: RegExp])[] = [
  ['<?xml version="1.0"?>\n<users><user/></users>', /This is XML, which is not read.*yq -p xml/],
  ['<users>\n<user id="1"/>\n</users>', /This is XML/],
  ['<!DOCTYPE html><html></html>', /web page/],
  ['<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', /web page or XML/],
  ['# people\n[users.ann]\nemail = "a@b.example"\n', /TOML or INI/],
  ['root:*:19000:0:99999:7:::\nann:$6$a$b:19000:0:99999:7:::\n', /\/etc\/shadow.*awk/],
  ['root:x:0:0:root:/root:/bin/bash\n', /\/etc\/passwd/],
  ['ann:realm:0123456789abcdef0123456789abcdef\n', /htdigest/],
  [Buffer.from('PAR1\x15\x00', 'latin1'), /Parquet/],
  [Buffer.from('BZh91AY', 'latin1'), /bzip2/],
  [Buffer.from('PGDMP\x01', 'latin1'), /pg_dump/],
  [Buffer.from('\xd0\xcf\x11\xe0\xa1\xb1', 'latin1'), /old Excel/],
];

test('what is not read is called by its name', async (t) => {
  for (const [content, says] of NAMED) await assert.rejects(opened(t, content), says);
});
