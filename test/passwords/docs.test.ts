/** The table of docs/passwords.md lists every scheme with its form, and says which specification it follows. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { SCHEMES } from '../../src/passwords/registry.ts';

const DIGESTS = ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'];

/** The rows of the table of schemes. `<digest>` in a name stands for several names. */
function rows(): { names: string[]; cells: string[] }[] {
  const text = readFileSync(new URL('../../docs/passwords.md', import.meta.url), 'utf8');
  const table = text.split('| Name | Form | Bounds | Comes from | Specification |\n')[1]?.split('\n\n')[0] ?? '';
  return table
    .split('\n')
    .slice(1)
    .map((line) => {
      const cells = line.split(/ ?\| ?/).slice(1, -1);
      const names = [...(cells[0] ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1] as string);
      return {
        names: names.flatMap((name) => [...new Set(DIGESTS.map((one) => name.replace('<digest>', one)))]),
        cells,
      };
    });
}

test('docs/passwords.md lists every scheme once, and no other', () => {
  const listed = rows().flatMap(({ names }) => names);
  assert.deepEqual([...listed].sort(), SCHEMES.map(({ name }) => name).sort());
});

test('docs/passwords.md gives the form, the origin and the specification of every scheme', () => {
  for (const { names, cells } of rows()) {
    assert.equal(cells.length, 5, names[0]);
    for (const at of [1, 3, 4]) assert.match(cells[at] ?? '', /\w{3}/, `${names[0]}, column ${at + 1}`);
  }
});
