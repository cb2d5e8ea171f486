/** `muster import` and `convert` with files that are not as expected: nothing is lost silently. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Finished, runMuster } from '../support/processes/muster.ts';
import { startService } from '../support/processes/service.ts';
import { openTerminal } from '../support/processes/terminal.ts';
import { requireOrSkip } from '../support/runner/programs.ts';

async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'muster-files-'));
  t.after(() => rm(path, { recursive: true }));
  return path;
}

/** Writes the files and returns their paths. */
async function filesOf(t: TestContext, texts: Record<string, string>): Promise<string[]> {
  const where = await folder(t);
  const paths: string[] = [];
  for (const [name, text] of Object.entries(texts)) {
    paths.push(join(where, name));
    await writeFile(join(where, name), text);
  }
  return paths;
}

const user = (n: number, more: object = {}) =>
  `${JSON.stringify({ user_id: `auth0|files-${n}`, email: `files${n}@example.com`, email_verified: true, ...more })}\n`;

test('--passkey-rp-id names the host of passkeys whose export does not', async (t) => {
  const publicKey =
    'pQECAyYgASFYIKsEEgGtN35kIPbKIKGIa3VDSSjpPlUR_COnZzqtbx7RIlgg1tqbyUA0YDp_V9FWaDQxRoq1lQP4ENs6Qskf6aKwwz4';
  const passkeys = [{ credentialID: 'AQID', publicKey, counter: 0 }];
  const one = { id: 'pk-1', email: 'pk1@example.com', emailVerified: true, accounts: [], passkeys };
  const [path = ''] = await filesOf(t, { 'users.json': JSON.stringify([one]) });
  const named = await convertedTo(t, [path, '--from', 'better-auth', '--passkey-rp-id', 'Auth.example.com']);
  assert.match(named.written ?? '', /"passkeys":\[\{"credentialId":"AQID",.*"rpId":"auth.example.com"/);
  const unnamed = await convertedTo(t, [path, '--from', 'better-auth']);
  assert.match(unnamed.stderr, /does not say for which host the passkey was made/);
  assert.doesNotMatch(unnamed.written ?? '', /passkeys/);
  const wrong = await convertedTo(t, [path, '--from', 'better-auth', '--passkey-rp-id', 'https://auth.example.com']);
  assert.deepEqual([wrong.code, wrong.written], [1, undefined]);
  assert.match(wrong.stderr, /--passkey-rp-id must be a host name/);
});

/** Runs `convert` to a new file; `written` is undefined when no file was created. */
async function convertedTo(t: TestContext, args: string[]): Promise<Finished & { written: string | undefined }> {
  const path = join(await folder(t), 'out.ndjson');
  const finished = await runMuster(['convert', ...args, '--org', 'acme', '-o', path]);
  const written = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    assert.equal(error.code, 'ENOENT');
    return undefined;
  });
  return { ...finished, written };
}

test('convert: a workbook is read by its first visible sheet, or by the one that --sheet names', async (t) => {
  const path = fileURLToPath(new URL('../fixtures/xlsx/openpyxl.xlsx', import.meta.url));
  const read = await convertedTo(t, [path]);
  assert.equal(read.code, 0, read.stderr);
  assert.match(read.stderr, /CSV of your own \(XLSX, UTF-8\)/);
  assert.match(read.stderr, /The sheet Kunden is read; --sheet reads another one: Deckblatt \(hidden\), Archiv\./);
  assert.match(read.stderr, /taken: userId=Kundennummer, .*email=E-Mail-Adresse/);
  assert.deepEqual(
    (read.written ?? '')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).userId),
    ['k-1', 'k-2', '9007199254'],
  );
  const missing = await convertedTo(t, [path, '--sheet', 'Neu']);
  assert.equal(missing.written, undefined);
  assert.match(missing.stderr, /There is no sheet Neu\. Its sheets are Deckblatt, Kunden, Archiv\./);
  const [plain = ''] = await filesOf(t, { 'users.csv': 'id,email\n1,a@example.com\n' });
  const none = await convertedTo(t, [plain, '--sheet', 'Kunden']);
  assert.deepEqual([none.written, /none of the files is a workbook/.test(none.stderr)], [undefined, true]);
});

test('convert: a first line of more than a mebibyte loses no user', async (t) => {
  const long = user(1, { user_metadata: { note: 'x'.repeat(1.2 * 2 ** 20) } });
  const [path] = await filesOf(t, { 'users.ndjson': long + user(2) + user(3) });
  const { code, stderr, written } = await convertedTo(t, [path as string, '--from', 'auth0']);
  assert.equal(code, 0, stderr);
  assert.equal(written?.trimEnd().split('\n').length, 3);
});

test('convert: a line over the limit is an error with the line number', async (t) => {
  const [path] = await filesOf(t, { 'users.ndjson': user(1, { note: 'x'.repeat(9 * 2 ** 20) }) + user(2) });
  for (const from of [['--from', 'auth0'], []]) {
    const { code, stderr, written } = await convertedTo(t, [path as string, ...from]);
    assert.equal(code, 2);
    assert.match(stderr, /users\.ndjson, line 1: A string is longer than 8388608 bytes\./);
    assert.equal(written, undefined);
  }
});

const WITHOUT_USERS: [what: string, from: string, name: string, text: string][] = [
  ['is empty', 'auth0', 'users.ndjson', ''],
  ['has only a header', 'clerk', 'users.csv', 'id,primary_email_address,password_hasher\n'],
  ['contains other things', 'auth0', 'users.json', '{"clients":[{"name":"shop"}],"users":[]}'],
  [
    'contains only records that are not users',
    'ldif',
    'units.ldif',
    'dn: ou=a\nobjectClass: organizationalUnit\nou: a\n',
  ],
];

for (const [what, from, name, text] of WITHOUT_USERS) {
  test(`convert: a file that ${what} is an error, and the old output file stays`, async (t) => {
    const [path, old] = await filesOf(t, { [name]: text, 'old.ndjson': 'as it was' });
    const args = ['convert', path as string, '--from', from, '--org', 'acme'];
    const toFile = await runMuster([...args, '-o', old as string]);
    assert.equal(toFile.code, 2);
    assert.match(toFile.stderr, new RegExp(`There are no users in .*${name}\\.`));
    assert.equal(await readFile(old as string, 'utf8'), 'as it was');
    const piped = await runMuster(args);
    assert.deepEqual([piped.code, piped.stdout], [2, '']);
  });
}

test('convert: each file must have users, or records that are skipped for a reason', async (t) => {
  const units = 'dn: ou=a\nobjectClass: organizationalUnit\nou: a\n';
  const ann = 'dn: uid=ann\nobjectClass: person\nuid: ann\nsn: Arbor\n';
  const [people, empty, groups] = await filesOf(t, {
    'people.ldif': ann,
    'empty.ldif': '# nothing\n',
    'units.ldif': units,
  });
  const refused = await convertedTo(t, [people as string, empty as string, '--from', 'ldif', '--format', 'ldif']);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /There are no users in .*empty\.ldif\./);
  assert.equal(refused.written, undefined);
  const { code, stderr } = await convertedTo(t, [people as string, groups as string, '--from', 'ldif']);
  assert.equal(code, 0, stderr);
});

/** As in Clerk's samples: a cell is missing in the middle of the second row, and the third has a comma in a name. */
const SHIFTED = [
  'instance_id,id,aud,role,email,encrypted_password,email_confirmed_at,raw_app_meta_data,raw_user_meta_data,is_super_admin,created_at,phone,is_sso_user,first_name,last_name',
  '0,76b196c8-0000-4000-8000-000000000001,authenticated,authenticated,a@example.com,,2024-01-15 10:30:00+00,{},{},,2024-01-15 10:30:00+00,,false,Ann,Arbor',
  '0,76b196c8-0000-4000-8000-000000000002,authenticated,authenticated,b@example.com,,2024-01-15 10:30:00+00,{},{},,false,Bob,Bell',
  '0,76b196c8-0000-4000-8000-000000000003,authenticated,authenticated,c@example.com,,2024-01-15 10:30:00+00,{},{},,2024-01-15 10:30:00+00,,false,Cy, Coe,Jr',
  '0,76b196c8-0000-4000-8000-000000000004,authenticated,authenticated,d@example.com,,2024-01-15 10:30:00+00,{},{},,2024-01-15 10:30:00+00',
];

test('convert: rows with too many cells are rejected with their lines, and rows with too few are noted', async (t) => {
  const [path] = await filesOf(t, { 'users.csv': `${SHIFTED.join('\n')}\n` });
  for (const from of [['--from', 'supabase'], []]) {
    const { code, stderr, written } = await convertedTo(t, [path as string, ...from]);
    assert.equal(code, 3, stderr);
    assert.match(stderr, /^ +2 {2}The row has more or fewer cells than the others; .*users\.csv lines? 3, 5/m);
    assert.match(stderr, /^ +1 {2}The record has 16 cells where the header has 15\. \(.*users\.csv line 4\)$/m);
    assert.deepEqual(
      written
        ?.trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).user.email.email),
      ['a@example.com', 'b@example.com', 'd@example.com'],
    );
  }
});

test('convert: a file whose rows are all too long is still recognized, and is an error', async (t) => {
  const [path] = await filesOf(t, { 'users.csv': `${SHIFTED[0]}\n${SHIFTED[3]}\n` });
  const { code, stderr, written } = await convertedTo(t, [path as string]);
  assert.deepEqual([code, written], [2, undefined]);
  assert.match(stderr, /Supabase Auth \(CSV/);
  assert.match(stderr, /16 cells where the header has 15/);
});

test('convert: a hash inside an object is used; unused hashes are counted, with their places', async (t) => {
  const hash = '$2b$04$V61IOVtQE1.AdnBVpY7svupQjBzHrWrvo0KVOHXHKnTwG1Bkr8a6K';
  const md5 = '5f4dcc3b5aa765d61d8327deb882cf99';
  const people = [
    { id: 'p1', email: 'p1@example.com', password: { type: 'password-bcrypt', value: hash } },
    { id: 'p2', email: 'p2@example.com', password: null },
    { id: 'p3', email: 'p3@example.com', password: { type: 'password-md5', value: md5 } },
    { id: 'p4', email: 'p4@example.com', password: { type: 'password-md5', value: md5 }, pin: hash },
  ];
  const [path] = await filesOf(t, { 'people.ndjson': `${people.map((one) => JSON.stringify(one)).join('\n')}\n` });
  const { code, stderr, stdout, written } = await convertedTo(t, [path as string, '--json']);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^ {2}taken: .*hash=password\.value$/m);
  assert.match(stderr, /^ +1 {2}bcrypt \(latin1, digest\): will verify$/m);
  const unused = /^ {2}Password hashes that are not used\n( {4}.*\n)( {4}.*\n)/m.exec(stderr);
  assert.match(unused?.[1] ?? '', /^ +2 .*\(digest\) at password\.value is not used\. \(.*people\.ndjson line 3, 4\)/);
  assert.match(unused?.[2] ?? '', /^ +1 .*\(bcrypt\) at pin is not used\. \(.*people\.ndjson line 4\)/);
  assert.doesNotMatch(stderr + stdout, /V61IOVtQ|5f4dcc3b/);
  const notes = JSON.parse(stdout).notes.filter(({ id }: { id: string }) => id === 'HASH-NOT-USED');
  assert.deepEqual(
    notes.map(({ count }: { count: number }) => count),
    [2, 1],
  );
  assert.equal(JSON.parse(written?.split('\n')[0] as string).user.hashedPassword.value, `$form$latin1,digest$${hash}`);
});

const fixture = (path: string) => fileURLToPath(new URL(`../fixtures/sources/${path}`, import.meta.url));

test('convert: a file of another system than --from says is refused without --trust-from', async (t) => {
  const users = fixture('auth0/users.ndjson');
  const { code, stderr, written } = await convertedTo(t, [users, '--from', 'keycloak']);
  assert.deepEqual([code, written], [2, undefined]);
  assert.match(stderr, /users\.ndjson looks like an export of Auth0, not of Keycloak\.\n.*--from auth0.*--trust-from/);
  const insisted = await convertedTo(t, [users, '--from', 'keycloak', '--trust-from']);
  assert.equal(insisted.code, 0, insisted.stderr);
  assert.match(insisted.stderr, /looks like an export of Auth0, not of Keycloak/);
  const byHand = await convertedTo(t, [users, '--from', 'ndjson']);
  assert.equal(byHand.code, 0, byHand.stderr);
  assert.match(byHand.stderr, /looks like an export of Auth0; --from auth0 knows all of its fields/);
  const format = await convertedTo(t, [fixture('csv/people.csv'), '--from', 'keycloak']);
  assert.equal(format.code, 2);
  assert.match(format.stderr, /people\.csv is CSV; exports of Keycloak are JSON or NDJSON\./);
});

test('convert: a file of hashes for a system that has none is refused, not ignored', async (t) => {
  const [users, hashes] = [fixture('keycloak/acme-users-0.json'), fixture('auth0/passwords.ndjson')];
  const { code, stderr, written } = await convertedTo(t, [users, '--hashes', hashes, '--from', 'keycloak']);
  assert.deepEqual([code, written], [2, undefined]);
  assert.match(stderr, /Keycloak exports have no separate file of hashes: leave out --hashes\./);
});

test('convert: on a terminal, a file of another system needs confirmation', async (t) => {
  if (!requireOrSkip(t, 'script')) return;
  const path = join(await folder(t), 'out.ndjson');
  const args = ['convert', fixture('auth0/users.ndjson'), '--from', 'keycloak', '--org', 'acme', '-o', path];
  const declining = openTerminal(t, args);
  await declining.shows(/Auth0, not of Keycloak\.\s+Read it as Keycloak\s+anyway\? \[y\/N\]/);
  declining.type('n\r');
  assert.equal(await declining.ended, 1);
  await assert.rejects(readFile(path), { code: 'ENOENT' });
  const agreeing = openTerminal(t, args);
  await agreeing.shows(/anyway\? \[y\/N\]/);
  agreeing.type('y\r');
  assert.equal(await agreeing.ended, 0, agreeing.text());
});

type Scene = (t: TestContext, run: (args: string[]) => Promise<Finished>) => Promise<void>;
const SCENES: [name: string, scene: Scene][] = [];
const scene = (name: string, run: Scene) => void SCENES.push([name, run]);

scene('a file without users is refused, with and without --dry-run', async (t, run) => {
  const [empty, some] = await filesOf(t, { 'empty.ndjson': '\n', 'some.ndjson': user(1) });
  for (const files of [[empty], [some, empty]]) {
    for (const more of [[], ['--dry-run'], ['--yes', '--skip-broken']]) {
      const { code, stderr } = await run([...(files as string[]), '--from', 'auth0', '--format', 'ndjson', ...more]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, /There are no users in .*empty\.ndjson\./);
    }
  }
});

scene('shifted rows stop the import', async (t, run) => {
  const [path] = await filesOf(t, { 'users.csv': `${SHIFTED.join('\n')}\n` });
  for (const more of [[], ['--dry-run'], ['--yes']]) {
    const { code, stderr } = await run([path as string, '--from', 'supabase', ...more]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /1 record cannot be read, so nothing was imported/);
  }
});

scene('a file of another system is refused in scripts, whatever the other options', async (_, run) => {
  const files = [fixture('auth0/users.ndjson'), fixture('auth0/passwords.ndjson')];
  for (const more of [[], ['--dry-run'], ['--yes', '--mails', 'none', '--skip-broken']]) {
    const { code, stderr } = await run([...files, '--from', 'keycloak', ...more]);
    assert.equal(code, 2, stderr);
    assert.match(stderr, /users\.ndjson looks like an export of Auth0, not of Keycloak\./);
    assert.match(stderr, /passwords\.ndjson looks like an export of Auth0, not of Keycloak\./);
  }
});

test('muster import', async (t) => {
  const service = await startService(t, { backend: 'postgres' });
  for (const [name, scene] of SCENES) {
    await t.test(name, async (t) => {
      const { orgId, ownerToken } = await service.newOrg();
      const env = { MUSTER_URL: service.url, MUSTER_TOKEN: ownerToken };
      await scene(t, (args) => runMuster(['import', ...args, '--org', orgId], { env }));
      const { body } = await service.call('GET', '/admin/v1/imports', undefined, { token: ownerToken });
      assert.deepEqual(body.imports, []);
    });
  }
});
