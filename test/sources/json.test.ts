/** Compares the reader of JSON documents with JSON.parse, for any split into chunks. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { JsonScanner, jsonRecords } from '../../src/sources/read/json.ts';
import { FileError, type FileRecord } from '../../src/sources/read/records.ts';
import type { JsonPath } from '../../src/sources/source.ts';
import { CONTEXT } from '../../src/sources/values.ts';
import fc from '../support/fast-check.ts';

function scan(text: string | Buffer, paths: JsonPath[], cuts: number[] = []): FileRecord[] {
  const scanner = new JsonScanner(paths);
  const bytes = Buffer.from(text);
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  const found: FileRecord[] = [];
  let from = 0;
  for (const end of [...ends, bytes.length]) {
    // A copy, because read buffers are reused.
    found.push(...scanner.push(Buffer.from(bytes.subarray(from, end))).flat());
    from = end;
  }
  found.push(...scanner.end().flat());
  if (scanner.problem) throw scanner.problem;
  return found;
}

const values = (records: FileRecord[]) => records.map((record) => record.value);

const indent = fc.constantFrom(undefined, 2, '\t');

test('the elements of a list are the same as with JSON.parse, however the bytes are split', () => {
  const property = fc.property(fc.array(fc.jsonValue()), indent, fc.array(fc.nat()), (list, space, cuts) => {
    assert.deepEqual(values(scan(JSON.stringify(list, null, space), [['*']], cuts)), JSON.parse(JSON.stringify(list)));
  });
  fc.assert(property, { numRuns: 500 });
});

test('the users of a document are found, whatever surrounds them', () => {
  const property = fc.property(
    fc.dictionary(fc.string(), fc.jsonValue()),
    fc.array(fc.object()),
    fc.dictionary(fc.string(), fc.jsonValue()),
    indent,
    fc.array(fc.nat()),
    (before, users, after, space, cuts) => {
      const { users: _, ...rest } = after;
      const whole = {
        ...Object.fromEntries(Object.entries(before).filter(([key]) => key !== 'users')),
        users,
        ...rest,
      };
      const expected = JSON.parse(JSON.stringify(users));
      const found = values(scan(JSON.stringify(whole, null, space), [['users', '*']], cuts));
      assert.deepEqual(found.map(withoutContext), expected);
    },
  );
  fc.assert(property, { numRuns: 500 });
});

function withoutContext(value: unknown): unknown {
  const { [CONTEXT]: _, ...rest } = value as Record<string, unknown>;
  return rest;
}

test('a record has the number of the line where it begins', () => {
  const text = '{\n "realm": "a\\"}",\n "users": [\n  {"a": 1}, {"b":\n 2},\n\n  {"c": 3}\n ]\n}\n';
  for (let cut = 0; cut < text.length; cut++) {
    assert.deepEqual(
      scan(text, [['users', '*']], [cut]).map(({ line }) => line),
      [4, 4, 7],
    );
  }
});

test('a record has the strings that precede its list in the enclosing object', () => {
  const text =
    '{"orgs":[{"orgId":"o1","org":{"name":"x"},"n":3,"people":[{"id":1}]},{"orgId":"o2","people":[{"id":2},7]}]}';
  assert.deepEqual(values(scan(text, [['orgs', '*', 'people', '*']])), [
    { id: 1, [CONTEXT]: { orgId: 'o1' } },
    { id: 2, [CONTEXT]: { orgId: 'o2' } },
    7,
  ]);
});

test('consecutive documents are all read, such as the pages of an API in one file', () => {
  const text = '{"Users":[{"a":1}]}\n{"Users":[]}{"Users":[{"a":2}],"PaginationToken":"x"}\n';
  assert.deepEqual(values(scan(text, [['Users', '*']])), [{ a: 1 }, { a: 2 }]);
  assert.deepEqual(values(scan('{"a":\n1}\n{"a":2} 3', [[]])), [{ a: 1 }, { a: 2 }, 3]);
});

test('all existing ones of several paths are read', () => {
  const paths = [['users', '*'], ['*', 'users', '*'], ['*']];
  assert.deepEqual(values(scan('{"users":[1,2]}', paths)), [1, 2]);
  assert.deepEqual(values(scan('[{"a":1},{"a":2}]', [['*']])), [{ a: 1 }, { a: 2 }]);
  assert.deepEqual(values(scan('[{"users":[3]},{"users":[4]}]', paths.slice(0, 2))), [3, 4]);
});

for (const text of [
  '{"users":[{"a":1}',
  '{"users":[{"a":1',
  '[1,2',
  '[1,,2]',
  '[1 2]',
  '{"users":}',
  '{a:1}',
  '{"users" [1]}',
  '[1],',
  '[tru]',
  '{"users":["\\x"]}',
]) {
  test(`${text} is reported as broken, with its line`, () => {
    const paths = [['users', '*'], ['*']];
    assert.throws(
      () => scan(`\n\n${text}`, paths),
      (error: FileError) => {
        assert.ok(error instanceof FileError);
        assert.equal(error.line, 3);
        return true;
      },
    );
  });
}

test('records before an error are returned first', async () => {
  const records = jsonRecords(once('[{"a":1},\n{"b"}]'), [['*']]);
  assert.deepEqual((await records.next()).value, [{ line: 1, value: { a: 1 } }]);
  await assert.rejects(records.next(), { line: 2 });
});

async function* once(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

test('bytes that are not UTF-8 are reported, not replaced', () => {
  assert.throws(() => scan(Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]), [['*']]), /not valid UTF-8/);
});

test('values next to the users are dropped while they are read', async () => {
  const filler = Buffer.from(`"${'x'.repeat(65_534)}",`);
  async function* document() {
    yield Buffer.from('{"clients":[');
    for (let i = 0; i < 400; i++) yield filler;
    yield Buffer.from('0],"users":[{"a":1}]}');
  }
  const found: unknown[] = [];
  const before = process.memoryUsage().arrayBuffers;
  let peak = 0;
  for await (const group of jsonRecords(watched(document()), [['users', '*']])) found.push(...values(group));
  assert.deepEqual(found, [{ a: 1 }]);
  assert.ok(peak - before < 16 * 2 ** 20, `${peak - before} bytes were held`);

  async function* watched(chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      yield chunk;
      peak = Math.max(peak, process.memoryUsage().arrayBuffers);
    }
  }
});
