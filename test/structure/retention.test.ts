/** docs/operations.md says of every table how long it keeps its rows. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

it('the operations guide says how long each table keeps its rows', () => {
  const [, section = ''] = /^## What is kept, and for how long\n(.*?)^## /ms.exec(read('docs/operations.md')) ?? [];
  const tables = [...read('src/platform/db/schema.sql').matchAll(/^create table (\w+) /gm)].map(
    ([, name]) => name as string,
  );
  assert.ok(tables.length > 20, tables.join());
  assert.deepEqual(
    tables.filter((name) => !section.includes(`\`${name}\``)),
    [],
  );
});
