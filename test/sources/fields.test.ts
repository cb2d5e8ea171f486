/**
 * Every converter against every field of its system's documented format. `fields/<source>.json` lists them: a field is
 * used (the entry is another one with it), noted (there is a note that was not there without it), or ignored for a
 * reason (nothing changes). Nothing that an export says is dropped in silence by oversight.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type Converted, recordConverter } from '../../src/sources/convert.ts';
import { SOURCES } from '../../src/sources/registry.ts';
import type { ExportFormat, Fields } from '../../src/sources/source.ts';

/** The fields of one kind of file of a source. */
interface Documented {
  /** Where the fields are documented. */
  documents: string;
  hashConfig?: string;
  /** A small record, to which each field is added. */
  base: Fields;
  /**
   * Values by field. A field is a name, or a path of names with ` > ` between them; a number is a place in a list. What
   * follows in brackets tells several values of a field apart: `identities (of a company)`.
   */
  used: Fields;
  noted?: Fields;
  /** Reason -> values by field. */
  ignored?: Record<string, Fields>;
  /** What is joined to a record, by the id of what these files lack. `null`: nothing can be joined. */
  missing?: Record<string, Fields | null>;
}

const FOLDER = new URL('./fields/', import.meta.url);
const listed = readdirSync(FOLDER).map((file) => file.replace(/\.json$/, ''));

test('every source lists the fields of its system', () => {
  const names = SOURCES.map(({ name }) => name);
  assert.deepEqual(
    names.filter((name) => !listed.includes(name)),
    [],
  );
  assert.deepEqual(
    listed.filter((name) => !names.includes(name)),
    [],
  );
});

for (const source of SOURCES.filter(({ name }) => listed.includes(name))) {
  const kinds: Documented[] = [JSON.parse(readFileSync(new URL(`${source.name}.json`, FOLDER), 'utf8'))].flat();

  test(`${source.title}: each documented field is used, noted, or ignored for a reason`, () => {
    assert.deepEqual(
      kinds.flatMap((kind) => failuresOf(source, kind)),
      [],
    );
  });

  test(`${source.title}: what files lack is said, and read when it is joined`, () => {
    const joins = kinds.flatMap(({ base, missing = {} }) =>
      Object.entries(missing).map(([id, join]) => ({ base, id, join })),
    );
    const lacked = (source.missing ?? []).map(({ id }) => id);
    assert.deepEqual([...new Set(joins.map(({ id }) => id))].sort(), lacked.sort());
    for (const { base, id, join } of joins) {
      assert.ok(!containsOf(source, base).includes(id), `${id}: the base lacks it`);
      if (join) assert.ok(containsOf(source, { ...base, ...join }).includes(id), `${id}: the join is seen`);
      if (join) assert.notDeepEqual(entryOf(source, { ...base, ...join }), entryOf(source, base), `${id}: is read`);
    }
  });
}

function failuresOf(source: ExportFormat, kind: Documented): string[] {
  const { used, noted = {}, ignored = {} } = kind;
  const unused = Object.entries(used).filter(([field, value]) => !compare(source, kind, { field, value }).differs);
  const unnoted = Object.entries(noted).filter(([field, value]) => !compare(source, kind, { field, value }).isNoted);
  const notIgnored = Object.values(ignored)
    .flatMap((fields) => Object.entries(fields))
    .filter(([field, value]) => {
      const { differs, isNoted } = compare(source, kind, { field, value });
      return differs || isNoted;
    });
  return [
    ...unused.map(([field]) => `${field} is not used`),
    ...unnoted.map(([field]) => `${field} is not noted`),
    ...notIgnored.map(([field]) => `${field} is not ignored`),
  ];
}

function compare(
  source: ExportFormat,
  { base, hashConfig }: Documented,
  { field, value }: { field: string; value: unknown },
) {
  const path = field.replace(/ \([^)]*\)$/, '').split(' > ');
  const without = converted(source, withField(base, path, undefined), hashConfig);
  const having = converted(source, withField(base, path, value), hashConfig);
  const before = without.notes.map(({ id }) => id);
  const isNoted = having.notes.some(({ id }) => !before.includes(id));
  const differs = JSON.stringify([having.entry, having.skip]) !== JSON.stringify([without.entry, without.skip]);
  return { differs, isNoted };
}

/** The record with the value at the path, or without it if it is undefined. */
function withField(record: unknown, [name = '', ...rest]: readonly string[], value: unknown): Fields {
  const copy = (Array.isArray(record) ? [...record] : { ...(record as Fields) }) as Fields;
  if (rest.length > 0) copy[name] = withField(copy[name] ?? {}, rest, value);
  else if (value === undefined) delete copy[name];
  else copy[name] = value;
  return copy;
}

function converted(source: ExportFormat, record: Fields, hashConfig?: string): Converted {
  return recordConverter({ source, orgId: undefined, options: { hashConfig } })(record);
}

const entryOf = (source: ExportFormat, record: Fields) => {
  const { entry, notes } = converted(source, record);
  return { entry, notes };
};

const containsOf = (source: ExportFormat, record: Fields): readonly string[] =>
  converted(source, record).contains ?? [];
