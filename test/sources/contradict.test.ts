/** Every fixture as the export of every system: its own system is never contradicted, any other one is. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { TestContext } from 'node:test';
import test from 'node:test';
import { contradictionOf, contradictionsTo, isAnybodys } from '../../src/sources/convert.ts';
import { openExport } from '../../src/sources/read/file.ts';
import { guessSources } from '../../src/sources/recognize.ts';
import { SOURCES } from '../../src/sources/registry.ts';
import { sourceFixtures } from '../support/sources.ts';

const SYSTEMS = SOURCES.filter((source) => !isAnybodys(source));
/** A realm without users has no record to recognize it by. */
const SILENT = ['acme-realm.json'];

async function opened(t: TestContext, path: string) {
  const file = await openExport(path);
  t.after(() => file.close());
  return file;
}

for (const { source: owner, files } of sourceFixtures()) {
  for (const path of files) {
    const name = `${owner}/${basename(path)}`;
    const isSystems = SYSTEMS.some((source) => source.name === owner);

    test(`${name} is not contradicted as ${owner}`, async (t) => {
      const source = SOURCES.find((one) => one.name === owner);
      assert.ok(source);
      const file = await opened(t, path);
      assert.deepEqual(await contradictionsTo(source, [file]), []);
    });

    if (!isSystems || SILENT.includes(basename(path))) continue;
    test(`${name} is contradicted as any other system's`, async (t) => {
      const file = await opened(t, path);
      // Guessing is what takes time, and does not depend on the named system.
      const guesses = await guessSources(file);
      for (const source of SYSTEMS.filter((one) => one.name !== owner)) {
        const [found] = contradictionOf(source, file, guesses);
        assert.equal(found?.other?.name, owner, source.name);
      }
    });

    test(`${name} may be mapped by hand, with a hint at ${owner}`, async (t) => {
      const file = await opened(t, path);
      for (const source of SOURCES.filter(isAnybodys)) {
        const [found] = await contradictionsTo(source, [file]);
        assert.deepEqual([found?.other?.name, found?.isOtherFormat], [owner, false]);
      }
    });
  }
}

async function fileOf(t: TestContext, text: string) {
  const folder = await mkdtemp(join(tmpdir(), 'muster-contradict-'));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'users'), text);
  return opened(t, join(folder, 'users'));
}

async function contradicted(t: TestContext, name: string, text: string): Promise<unknown> {
  const source = SOURCES.find((one) => one.name === name);
  assert.ok(source);
  const [found] = await contradictionsTo(source, [await fileOf(t, text)]);
  return found && (found.other?.name ?? 'format');
}

test('files with few signs are left to the caller', async (t) => {
  assert.equal(await contradicted(t, 'django', 'id,email\n1,a@example.com\n'), undefined);
  assert.equal(await contradicted(t, 'keycloak', '{"username":"ann","email":"a@example.com"}\n'), undefined);
  assert.equal(await contradicted(t, 'keycloak', ''), undefined);
  // A weak sign of another system does not count.
  assert.equal(await contradicted(t, 'okta', '{"email":"a@example.com","email_verified_at":null}\n'), undefined);
});

test('a format that the system does not export is a contradiction', async (t) => {
  assert.equal(await contradicted(t, 'keycloak', 'id,email\n1,a@example.com\n'), 'format');
  assert.equal(await contradicted(t, 'ldif', '{"email":"a@example.com"}\n'), 'format');
  assert.equal(await contradicted(t, 'csv', '{"email":"a@example.com"}\n'), undefined);
});
