/** The statements that settle items name every column of the payload: one that they forget would keep the user's data. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { PAYLOAD } from '../../../src/imports/entries/item.ts';
import { describeStatements } from '../../../src/imports/run/write-batch.ts';

const ENCRYPTED = ['password_sealed', 'entry_sealed'];
/** The items that `fail` takes have neither: see `picked`. */
const EXPECTED: Record<string, readonly string[]> = {
  'write-batch-optimistic': PAYLOAD,
  'write-batch': PAYLOAD.filter((column) => !ENCRYPTED.includes(column)),
  'write-batch-skip': PAYLOAD,
  'write-batch-update': PAYLOAD,
  'settle-items': PAYLOAD,
};

const settleItems = readFileSync(new URL('../../../src/imports/run/settle-items.sql', import.meta.url), 'utf8');
const texts = Object.fromEntries([
  ...[...describeStatements().matchAll(/^-- (write-batch\S*)\n([\s\S]*?);$/gm)].map(([, name, text]) => [name, text]),
  ['settle-items', settleItems],
]);

for (const [name, expected] of Object.entries(EXPECTED)) {
  it(`${name} erases the payload, or keeps it where it says so`, () => {
    const [, set = ''] = /update import_items i set\n([\s\S]*?)\n {2}from /.exec(texts[name] ?? '') ?? [];
    const columns = [...set.matchAll(/(?<=^|,\s)\s*(\w+) = (?:null|case when .* then i\.\1 end)/gm)].map(
      ([, column]) => column,
    );
    assert.deepEqual(new Set(columns.filter((column) => column !== 'error')), new Set(expected));
  });
}
