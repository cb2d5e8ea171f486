/** Every source's page: it cites the published format, and its fixture has a login where the system exports hashes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { SOURCES } from '../../src/sources/registry.ts';
import { sourceFixtures } from '../support/sources.ts';

const FOLDER = new URL('../../docs/sources/', import.meta.url);
const ROWS = tableRows(readFileSync(new URL('README.md', FOLDER), 'utf8'));
/** Files of one's own have no published format. */
const OWN = 'csv.md';

interface Row {
  page: string;
  sources: string[];
  passwords: string;
}

function tableRows(text: string): Row[] {
  return [...text.matchAll(/^\| \[[^\]]+\]\(([\w-]+\.md)\) \| (.*?) \|.*\| (.*?) \|$/gm)].map((row) => ({
    page: row[1] as string,
    sources: [...(row[2] as string).matchAll(/`([\w-]+)`/g)].map((name) => name[1] as string),
    passwords: row[3] as string,
  }));
}

test('every source has a row in the table of pages, and no other', () => {
  const inTable = ROWS.flatMap(({ sources }) => sources).sort();
  assert.deepEqual(inTable, SOURCES.map(({ name }) => name).sort());
});

for (const { page } of ROWS.filter((row) => row.page !== OWN)) {
  test(`${page} cites the published format`, () => {
    // Addresses in commands are those of the reader's own systems.
    const prose = readFileSync(new URL(page, FOLDER), 'utf8').replaceAll(/```[\s\S]*?```/g, '');
    const cited = [...prose.matchAll(/https:\/\/[^\s)>`"|]+/g)].map(([url]) => new URL(url).hostname);
    const published = cited.filter((host) => host.includes('.') && !/(^|\.)example\.\w+$|\.internal$/.test(host));
    assert.notEqual(published.length, 0, `${page} cites no published format`);
  });
}

for (const { page, sources, passwords } of ROWS) {
  test(`the fixtures of ${page} have a login exactly if hashes are exported`, () => {
    const logins = sourceFixtures()
      .filter(({ source }) => sources.includes(source))
      .flatMap((fixture) => fixture.logins);
    assert.equal(logins.length > 0, !passwords.startsWith('not exported'), passwords);
  });
}
