/**
 * Where users are in a JSON file: in tables of phpMyAdmin, in pages, under common names; and which records are not
 * users.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import test from 'node:test';
import { openConversion } from '../../src/sources/convert.ts';
import { openExport } from '../../src/sources/read/file.ts';
import { asFileOf, guessSources } from '../../src/sources/recognize.ts';
import { SOURCES } from '../../src/sources/registry.ts';
import type { ExportFormat } from '../../src/sources/source.ts';

interface Found {
  guess: string | undefined;
  /** User names, or else addresses. */
  users: string[];
  skipped: string[];
  first: Record<string, unknown> | undefined;
}

/** Converts a document without naming its source. */
function found(t: TestContext, document: unknown): Promise<Found> {
  return foundIn(t, JSON.stringify(document, null, 1));
}

async function foundIn(t: TestContext, text: string): Promise<Found> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-test-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'users.json');
  await writeFile(path, text);
  const file = await openExport(path);
  t.after(() => file.close());
  const source = (await guessSources(file))[0]?.source;
  if (!source) return { guess: undefined, users: [], skipped: [], first: undefined };
  return { guess: source.name, ...(await convertedBy(source, file)) };
}

async function convertedBy(source: ExportFormat, file: Awaited<ReturnType<typeof openExport>>) {
  const known = await asFileOf(source, file);
  const conversion = await openConversion({ source, files: [known], options: {}, orgId: 'acme' });
  const users: string[] = [];
  const skipped: string[] = [];
  for await (const group of conversion.outcomes()) {
    for (const { entry, skip } of group) {
      if (entry) users.push(entry.user.userName ?? entry.user.email.email ?? '');
      if (skip !== undefined) skipped.push(skip);
    }
  }
  await conversion.close();
  return { users, skipped, first: known.first };
}

function table(name: string, data: Record<string, string | null>[]) {
  return { type: 'table', name, database: 'site', data };
}

/** As phpMyAdmin writes it: every value is a text. */
function dump(...tables: ReturnType<typeof table>[]) {
  const header = { type: 'header', version: '5.2.1', comment: 'Export to JSON plugin for phpMyAdmin' };
  return [header, { type: 'database', name: 'site' }, ...tables];
}

const LARAVEL = {
  id: '1',
  email: 'ann@example.com',
  password: '$2y$04$x',
  email_verified_at: null,
  remember_token: null,
};

test('the users of a dump by phpMyAdmin are found, however much precedes them', async (t) => {
  const meta = Array.from({ length: 50 }, (_, i) => ({
    umeta_id: String(i),
    user_id: '1',
    meta_key: 'k',
    meta_value: 'v',
  }));
  const users = [{ ID: '1', user_login: 'ann', user_pass: '$P$B12345678', user_email: 'ann@example.com' }];
  const result = await found(t, dump(table('wp_usermeta', meta), table('wp_users', users)));
  assert.equal(result.guess, 'wordpress');
  assert.deepEqual(result.users, ['ann']);
  assert.deepEqual(new Set(result.skipped), new Set(['A row of another table.']));
  assert.equal(result.skipped.length, 50);
  assert.equal(result.first?.user_login, 'ann');
});

test('so are those of frameworks and of custom tables', async (t) => {
  assert.deepEqual((await found(t, dump(table('users', [LARAVEL])))).guess, 'laravel');
  const devise = { id: '1', email: 'ann@example.com', encrypted_password: '$2a$04$x', sign_in_count: '0' };
  assert.deepEqual((await found(t, dump(table('users', [devise])))).guess, 'devise');
  const own = await found(t, dump(table('members', [{ nr: '7', mail: 'ann@example.com' }])));
  assert.deepEqual([own.guess, own.users], ['ndjson', ['ann@example.com']]);
});

test('API pages in a list are read one after the other', async (t) => {
  const page = (id: string) => ({
    Users: [{ Username: id, Attributes: [{ Name: 'email', Value: `${id}@example.com` }] }],
  });
  const result = await found(t, [page('ann'), page('bob')]);
  assert.deepEqual([result.guess, result.users], ['cognito', ['ann', 'bob']]);
});

test('API pages one a line, as a loop of curl writes them, are read one after the other', async (t) => {
  const inLines = (...pages: unknown[]) => foundIn(t, pages.map((page) => `${JSON.stringify(page)}\n`).join(''));
  const graph = (...names: string[]) => ({
    '@odata.context': 'https://graph.microsoft.com/v1.0/$metadata#users',
    '@odata.nextLink': 'https://graph.microsoft.com/v1.0/users?$skiptoken=x',
    value: names.map((name) => {
      const address = `${name}@example.com`;
      return { id: name, givenName: name, userPrincipalName: address, mail: address };
    }),
  });
  const entra = await inLines(graph('ann', 'bob'), graph('cid'));
  assert.deepEqual([entra.guess, entra.users], ['entra', ['ann@example.com', 'bob@example.com', 'cid@example.com']]);
  const listed = await inLines({ total: 2, users: [LARAVEL] }, { total: 2, users: [{ ...LARAVEL, id: 2 }] });
  assert.deepEqual(listed.users, ['ann@example.com', 'ann@example.com']);
  // Users who have such a list.
  const own = { email: 'ann@example.com', items: [{ sku: 1 }] };
  assert.deepEqual((await inLines(own, { ...own, email: 'bob@example.com' })).users, [
    'ann@example.com',
    'bob@example.com',
  ]);
});

test('a list under a common name contains users', async (t) => {
  const resources = await found(t, { data: [LARAVEL], links: {}, meta: { total: 1 } });
  assert.deepEqual([resources.guess, resources.users], ['laravel', ['ann@example.com']]);
  const devise = { id: 1, email: 'ann@example.com', encrypted_password: '$2a$04$x', sign_in_count: 0 };
  assert.equal((await found(t, { users: [devise] })).guess, 'devise');
  for (const name of ['users', 'data', 'results']) {
    const result = await found(t, { count: 1, [name]: [{ nr: 7, mail: 'ann@example.com' }] });
    assert.deepEqual([result.guess, result.users], ['ndjson', ['ann@example.com']], name);
  }
});

test('a list of such a name inside a user belongs to that user', async (t) => {
  const ann = { ...LARAVEL, data: [{ email: 'x@example.com' }] };
  assert.deepEqual((await found(t, ann)).users, ['ann@example.com']);
  assert.deepEqual((await found(t, [ann, ann])).users, ['ann@example.com', 'ann@example.com']);
  const own = { mail: 'ann@example.com', users: [{ name: 'x' }] };
  assert.deepEqual((await found(t, own)).users, ['ann@example.com']);
  assert.deepEqual((await found(t, [own])).users, ['ann@example.com']);
});

test('the records at one place are read once for all sources', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-test-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'users.csv');
  await writeFile(path, `id,email\n${'1,ann@example.com\n'.repeat(5)}`);
  const file = await openExport(path);
  t.after(() => file.close());
  const { head } = file;
  let times = 0;
  const watched = Object.defineProperty({ ...file }, 'head', {
    get() {
      times++;
      return head;
    },
  });
  const looking = SOURCES.filter(({ formats }) => formats.includes('csv'));
  const asking = looking.filter(({ csvColumns }) => csvColumns).length;
  assert.equal((await guessSources(watched))[0]?.source.name, 'csv');
  // Those with columns of their own look at the first line, too.
  assert.ok(times < looking.length && times < 2 * asking + 4, `${times} times for ${looking.length} sources`);
});
