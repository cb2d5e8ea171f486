/**
 * Every source's fixture, from its files to entries: it is recognized without being named, gives the right number of
 * users, the hashes of users who log in verify, and no metadata holds a hash.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import test from 'node:test';
import { hashProblem, verifyHash } from '../../src/passwords/registry.ts';
import { openConversion } from '../../src/sources/convert.ts';
import { type Entry, toEntry } from '../../src/sources/entry.ts';
import { hashesIn, placeOf } from '../../src/sources/hashes.ts';
import { openExport } from '../../src/sources/read/file.ts';
import { asFileOf, guessSources } from '../../src/sources/recognize.ts';
import { SOURCES } from '../../src/sources/registry.ts';
import { type SourceFixture, sourceFixtures } from '../support/sources.ts';

const FIXTURES = sourceFixtures();
/** Generic sources are recognized only if no system is. */
const ANYBODYS = ['csv', 'ndjson'];

test('every source has a fixture', () => {
  const missing = SOURCES.map(({ name }) => name).filter((name) => !FIXTURES.some(({ source }) => source === name));
  assert.deepEqual(missing, []);
});

async function convertFixture(
  t: TestContext,
  fixture: SourceFixture,
  idPrefix?: string,
): Promise<{ entries: Entry[]; skipped: number }> {
  const source = SOURCES.find(({ name }) => name === fixture.source);
  assert.ok(source, `there is no source ${fixture.source}`);
  const files = await Promise.all(fixture.files.map((file) => openExport(file)));
  t.after(() => Promise.all(files.map((file) => file.close())));
  const conversion = await openConversion({
    source,
    files: await Promise.all(files.map((file) => asFileOf(source, file))),
    options: optionsOf(fixture.args),
    orgId: 'acme',
    idPrefix,
  });
  t.after(() => conversion.close());
  const entries: Entry[] = [];
  let skipped = 0;
  for await (const outcomes of conversion.outcomes()) {
    for (const { entry, skip, problem } of outcomes) {
      assert.equal(problem, undefined);
      if (entry) entries.push(entry);
      if (skip !== undefined) skipped++;
    }
  }
  return { entries, skipped };
}

test('--id-prefix precedes every user id, and joins users with their hashes as before', async (t) => {
  const auth0 = FIXTURES.find(({ source }) => source === 'auth0') ?? assert.fail();
  const [plain, prefixed] = [await convertFixture(t, auth0), await convertFixture(t, auth0, 'shop-')];
  const expected = plain.entries.map(({ userId, ...entry }) =>
    userId === undefined ? entry : { ...entry, userId: `shop-${userId}` },
  );
  assert.deepEqual(
    prefixed.entries.map(({ userId, ...entry }) => (userId === undefined ? entry : { ...entry, userId })),
    expected,
  );
});

/** The options of a conversion from those of the command line. */
function optionsOf(args: string[]) {
  const map: Record<string, string> = {};
  let hashConfig: string | undefined;
  for (let i = 0; i < args.length; i += 2) {
    const value = args[i + 1] as string;
    if (args[i] === '--hash-config') hashConfig = readFileSync(value, 'utf8');
    else if (args[i] === '--map') map[value.slice(0, value.indexOf('='))] = value.slice(value.indexOf('=') + 1);
    else assert.fail(`${args[i]} is not an option of a conversion`);
  }
  return { map, ...(hashConfig === undefined ? {} : { hashConfig }) };
}

for (const fixture of FIXTURES) {
  test(`${fixture.source}: ${fixture.files.length} file(s) become ${fixture.users} users`, async (t) => {
    const { entries, skipped } = await convertFixture(t, fixture);
    assert.equal(entries.length, fixture.users);
    assert.equal(skipped, fixture.skipped);
    for (const { user } of entries) {
      assert.notEqual(user.profile.firstName, '', JSON.stringify(user));
      assert.notEqual(user.profile.lastName, '', JSON.stringify(user));
    }
    for (const { loginName, password } of fixture.logins) {
      const entry = entries.find(({ user }) => (user.userName ?? user.email.email) === loginName);
      assert.ok(entry, `there is no user ${loginName}`);
      const hash = entry.user.hashedPassword?.value;
      if (hash === undefined) assert.equal(entry.user.password, password);
      else assert.equal(hashProblem(hash) ?? verifyHash(hash, password), true, `the password of ${loginName}`);
    }
  });

  test(`${fixture.source}: no metadata holds a password hash`, async (t) => {
    const { entries } = await convertFixture(t, fixture);
    for (const entry of entries) assert.deepEqual(hashesInMetadata(entry), [], JSON.stringify(entry.user.userName));
  });

  test(`${fixture.source}: its files are recognized, and by no other source`, async (t) => {
    for (const path of fixture.files) {
      const file = await openExport(path);
      t.after(() => file.close());
      const guesses = (await guessSources(file)).filter(({ source }) => !ANYBODYS.includes(source.name));
      const names = guesses.map(({ source }) => source.name);
      assert.deepEqual(names, ANYBODYS.includes(fixture.source) ? [] : [fixture.source], path);
    }
  });
}

/** The keys of metadata that hold the user's hash or a part of it, and what else looks like a hash. */
function hashesInMetadata({ user: { hashedPassword, metadata = [] } }: Entry): string[] {
  const values = metadata.map(({ key, value }) => [key, Buffer.from(value, 'base64').toString()] as const);
  const parts = partsOf(hashedPassword?.value ?? '');
  const ofUser = values.filter(([, value]) => parts.some((part) => value.includes(part)));
  return [...ofUser.map(([key]) => key), ...hashesIn(Object.fromEntries(values)).map(placeOf)];
}

/** Shorter ones may be in a text by chance. */
const SHORTEST_PART = 12;

/** Salt and digest of a hash, also in the encodings in which an export may have them. */
function partsOf(hash: string): string[] {
  const parts = hash.split(/[$:}]/).filter((part) => part.length >= SHORTEST_PART);
  return parts.flatMap((part) => {
    const bytes = Buffer.from(part, 'base64');
    const others = [bytes.toString('hex'), bytes.toString('hex').toUpperCase(), bytes.toString('base64url')];
    return [part, ...others, Buffer.from(part, 'hex').toString('base64')].filter(
      (text) => text.length >= SHORTEST_PART,
    );
  });
}

test('the check of metadata finds a hash as it is, in parts, and beside the one that is used', () => {
  const found = (value: string, metadata: Record<string, unknown>) => {
    const { entry } = toEntry({ userName: 'ann', email: 'ann@example.com', hash: value, metadata }, 'acme');
    return hashesInMetadata(entry);
  };
  const digest = Buffer.from('a digest of thirty-two bytes here');
  const hash = `$pbkdf2-sha256$1000$c2FsdHNhbHRzYWx0$${digest.toString('base64').replace(/=+$/, '')}`;
  assert.deepEqual(found(hash, { size: '38', secure: { value: hash } }), ['secure', 'secure.value']);
  assert.deepEqual(found(hash, { inner: { digest: digest.toString('hex') } }), ['inner']);
  assert.deepEqual(found('', { legacy: `$2a$04$${'a'.repeat(53)}` }), ['legacy']);
});

for (const source of SOURCES) {
  test(`${source.name}: no record makes it throw`, () => {
    const odd = [
      null,
      true,
      0,
      -1,
      1e300,
      '',
      ' ',
      '{}',
      '[]',
      '{"a":',
      [],
      [null],
      [{}],
      {},
      { a: null },
      { value: 7 },
    ];
    // No source needs an option to convert: without its parameters, a hash becomes one that the service rejects by name.
    const convert = source.converter({});
    assert.notDeepEqual(fieldsOf(source.name), []);
    for (const value of odd) {
      for (const record of [recordOf(value), ...nested(value)]) {
        const person = convert(record);
        if ('skip' in person) assert.notEqual(person.skip, '');
        else assert.equal(toEntry(person, 'acme').entry.orgId, 'acme');
        for (const format of ['json', 'ndjson', 'csv', 'ldif'] as const) {
          const certainty = source.recognizes(record, format);
          assert.ok(certainty >= 0 && certainty <= 1);
        }
      }
    }
  });

  /** All fields of the fixture's records, each with the odd value. */
  function recordOf(value: unknown): Record<string, unknown> {
    return Object.fromEntries(fieldsOf(source.name).map((name) => [name, value]));
  }

  function nested(value: unknown): Record<string, unknown>[] {
    return [recordOf([recordOf(value)]), recordOf(recordOf(value)), recordOf(JSON.stringify(recordOf(value)))];
  }
}

function fieldsOf(source: string): string[] {
  const texts = FIXTURES.filter((fixture) => fixture.source === source).flatMap(({ files }) =>
    files.map((file) => readFileSync(file, 'latin1')),
  );
  const names = texts.flatMap((text) =>
    [...text.matchAll(/"([^"\\\n]{1,60})"\s*:/g)].map((match) => match[1] as string),
  );
  const columns = texts.map((text) => text.split('\n').find((line) => !line.startsWith('#')) ?? '');
  return [...new Set([...names, ...columns.flatMap((line) => line.split(/[,;\t]/)).map((name) => name.trim())])];
}
