/**
 * What the code says about the rows of its statements is what PostgreSQL returns: each column comes from the table that
 * its type names, and none is left out. For every statement whose text stands as a whole in a call of `query<…>`, with a
 * type of src/platform/db/tables.ts.
 */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Pool } from '../../../src/platform/db/pool.ts';
import { columnList, oneRow } from '../../../src/platform/db/rows.ts';
import { testDatabase } from '../../support/stores/postgres.ts';

interface Declared {
  place: string;
  text: string;
  /** The table and column of each field; undefined: it is computed. */
  fields: Record<string, string | undefined>;
}

const NESTED = /query<((?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)+)>\(\s*(?:\{\s*name: '[^']*',\s*text:\s*)?/g;
const TEXT = /(`(?:[^`\\$]|\$(?!\{))*`|'[^'\n]*'|"[^"\n]*")\s*,?/y;

const TABLES = new Set(
  [...readFileSync('src/platform/db/tables.ts', 'utf8').matchAll(/^export interface (\w+)/gm)].map(([, name]) => name),
);

/** The statements of a file whose text and type are known. */
function declaredIn(file: string): Declared[] {
  const source = readFileSync(file, 'utf8');
  return [...source.matchAll(NESTED)].flatMap((call) => {
    TEXT.lastIndex = call.index + call[0].length;
    const text = TEXT.exec(source)?.[1]?.slice(1, -1);
    const fields = fieldsOf(call[1] as string, source);
    const line = source.slice(0, call.index).split('\n').length;
    return text && fields ? [{ place: `${file}:${line}`, text, fields }] : [];
  });
}

/** The fields of a type; undefined if it is not made of the types of tables. */
function fieldsOf(type: string, source: string): Declared['fields'] | undefined {
  const all: Declared['fields'] = {};
  for (const part of type.replace(/\s+/g, ' ').split(' & ')) {
    const [, inner] = /^(?:Present|Optional)<(.*)>$/.exec(part.trim()) ?? [];
    const own = inner === undefined ? fieldsOfPart(part.trim(), source) : fieldsOf(inner, source);
    if (!own) return undefined;
    Object.assign(all, own);
  }
  return all;
}

function fieldsOfPart(part: string, source: string): Declared['fields'] | undefined {
  const [, table, columns] = /^Pick<(\w+), ?(.*)>$/.exec(part) ?? [];
  if (table && columns && TABLES.has(table))
    return Object.fromEntries([...columns.matchAll(/'(\w+)'/g)].map(([, name]) => [name, `${tableOf(table)}.${name}`]));
  const [, renamed, names] = /^Named< ?(\w+), ?\{(.*)\} ?>$/.exec(part) ?? [];
  if (renamed && names && TABLES.has(renamed))
    return Object.fromEntries(
      [...names.matchAll(/(\w+): '(\w+)'/g)].map(([, name, column]) => [name, `${tableOf(renamed)}.${column}`]),
    );
  const [, computed] = /^\{(.*)\}$/.exec(part) ?? [];
  if (computed) return Object.fromEntries([...computed.matchAll(/(\w+):/g)].map(([, name]) => [name, undefined]));
  const alias = /^\w+$/.test(part)
    ? source.match(/^type \w+ = [^;]+;$/gm)?.find((line) => line.startsWith(`type ${part} =`))
    : undefined;
  return alias ? fieldsOf(alias.slice(alias.indexOf('=') + 1, -1).trim(), source) : undefined;
}

/** `import_items` for `ImportItems`. */
function tableOf(type: string): string {
  return type.replace(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}

/** What PostgreSQL returns, without parameters: the name of each field, and the table and column that it comes from. */
async function returned(pool: Pool, text: string): Promise<Declared['fields']> {
  const parameters = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, n]) => Number(n)));
  const client = await pool.connect();
  try {
    await client.query('begin');
    const { fields } = await client.query(text, Array(parameters).fill(null));
    await client.query('rollback; begin');
    const { rows } = await client.query<{ name: string; origin: string | null }>(
      `select f.name, (select c.relname || '.' || a.attname from pg_class c join pg_attribute a on a.attrelid = c.oid
         where c.oid = f.t and a.attnum = f.c) as origin
       from unnest($1::text[], $2::oid[], $3::int[]) as f (name, t, c)`,
      [fields.map((f) => f.name), fields.map((f) => f.tableID), fields.map((f) => f.columnID)],
    );
    return Object.fromEntries(rows.map(({ name, origin }) => [name, origin ?? undefined]));
  } finally {
    await client.query('rollback');
    client.release();
  }
}

/** Statements that cannot run without values. */
const NEEDS_VALUES = /^\s*(?:insert|with)\b/;

test('rows have the columns that their types say', async () => {
  const { pool } = await testDatabase();
  const all = globSync('{src,workers}/**/*.ts').flatMap(declaredIn);
  const known = all.filter(({ text, fields }) => !NEEDS_VALUES.test(text) && Object.values(fields).some(Boolean));
  assert.ok(known.length >= 30, `${known.length} statements`);
  for (const { place, text, fields } of known) {
    const found = await returned(pool, text);
    assert.deepEqual(Object.keys(found).sort(), Object.keys(fields).sort(), place);
    for (const [name, origin] of Object.entries(fields)) {
      // The result of an expression, such as a sum, comes from no table.
      if (origin && found[name]) assert.equal(found[name], origin, `${place} ${name}`);
    }
  }
});

test('columns are selected under their names', async () => {
  const names = { id: 'id', orgId: 'org_id' } as const;
  assert.equal(columnList(names), 'id, org_id as "orgId"');
  assert.equal(columnList(names, 'u'), 'u.id, u.org_id as "orgId"');
});

test('a statement that always returns a row must return one', () => {
  assert.equal(oneRow([1, 2]), 1);
  assert.throws(() => oneRow([]), /always returns a row returned none/);
});
