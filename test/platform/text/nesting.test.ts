/** Counts the values of JSON in its bytes, compared with JSON.parse. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { holdsMoreValues, nestsDeeper, textNestsDeeper } from '../../../src/platform/text/json-stream.ts';
import fc from '../../support/fast-check.ts';

interface Counts {
  values: number;
  /** Arrays and objects without elements. */
  empty: number;
}

function countsOf(value: unknown): Counts {
  if (typeof value !== 'object' || value === null) return { values: 1, empty: 0 };
  const parts = Object.values(value).map(countsOf);
  return {
    values: parts.reduce((sum, part) => sum + part.values, 1),
    empty: parts.reduce((sum, part) => sum + part.empty, parts.length === 0 ? 1 : 0),
  };
}

test('a document holds more values than fewer, and not more than it has; an empty array or object counts as two', () => {
  const property = fc.property(fc.jsonValue(), fc.constantFrom(undefined, 2), (value, space) => {
    const bytes = Buffer.from(JSON.stringify(value, null, space));
    const { values, empty } = countsOf(JSON.parse(bytes.toString()));
    assert.equal(holdsMoreValues(bytes, values - 1), true);
    assert.equal(holdsMoreValues(bytes, values + empty), false);
  });
  fc.assert(property, { numRuns: 1000 });
});

test('brackets, commas and escaped quotes in strings are no values; a string without an end has none after it', () => {
  assert.equal(holdsMoreValues(Buffer.from(JSON.stringify(['a,[{"\\",', '\\\\', '"'])), 4), false);
  assert.equal(holdsMoreValues(Buffer.from('["[[[[[[[[[[\\"'), 2), false);
});

test('the nesting of a document is that of its value; brackets in strings do not count', () => {
  const property = fc.property(fc.jsonValue(), fc.nat(6), (value, most) => {
    assert.equal(textNestsDeeper(Buffer.from(JSON.stringify(value)), most), nestsDeeper(value, most));
  });
  fc.assert(property, { numRuns: 1000 });
  assert.equal(textNestsDeeper(Buffer.from('["[[[[", {"[[": 1}]'), 2), false);
  assert.equal(textNestsDeeper(Buffer.from('[['), 1), true);
});
