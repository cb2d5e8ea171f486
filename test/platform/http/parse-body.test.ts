import assert from 'node:assert/strict';
import test from 'node:test';
import { z } from 'zod';
import { ApiError } from '../../../src/platform/errors.ts';
import { requiredText } from '../../../src/platform/fields.ts';
import { parseBody } from '../../../src/platform/http/parse.ts';
import { camelCase, fieldPath } from '../../../src/platform/text/names.ts';

const schema = z.object({
  userName: requiredText(5),
  human: z.object({ email: z.object({ email: requiredText(20) }) }),
  queries: z.array(z.object({ inUserIdsQuery: z.object({ userIds: z.array(z.string()) }) })).default([]),
});
const good = { userName: 'ann', human: { email: { email: 'a@b' } } };

function violationsOf(body: unknown): string[] {
  try {
    parseBody(schema, body, 'USER-INVALID');
  } catch (error) {
    assert(error instanceof ApiError);
    assert.equal(error.id, 'USER-INVALID');
    assert.equal(error.http, 400);
    return error.violations.map((v) => `${v.field}: ${v.description}`);
  }
  return [];
}

test('every invalid field is named by its camelCase path', () => {
  assert.deepEqual(
    violationsOf({ user_name: 'too long', human: { email: {} }, queries: [{ in_user_ids_query: {} }] }),
    [
      'userName: must have at most 5 characters',
      'human.email.email: is required',
      'queries[0].inUserIdsQuery.userIds: is required',
    ],
  );
});

test('a value of the wrong type is named with the required type', () => {
  assert.deepEqual(violationsOf({ ...good, human: 7, queries: 'x' }), [
    'human: must be an object',
    'queries: must be an array',
  ]);
});

test('snake_case keys are accepted at any depth', () => {
  const value = parseBody(
    schema,
    { user_name: 'ann', human: good.human, queries: [{ in_user_ids_query: { user_ids: ['1'] } }] },
    'USER-INVALID',
  );
  assert.deepEqual(value, { ...good, queries: [{ inUserIdsQuery: { userIds: ['1'] } }] });
});

test('if both spellings are present, camelCase wins, whatever their order', () => {
  assert.equal(parseBody(schema, { ...good, user_name: 'snake' }, 'USER-INVALID').userName, 'ann');
  assert.equal(parseBody(schema, { user_name: 'snake', ...good }, 'USER-INVALID').userName, 'ann');
});

test('an unknown field is ignored, a null member is treated as absent', () => {
  assert.deepEqual(parseBody(schema, { ...good, other: 1, queries: null }, 'USER-INVALID'), { ...good, queries: [] });
  assert.deepEqual(violationsOf({ ...good, userName: null }), ['userName: is required']);
});

test('NUL and lone surrogates are refused in every string, each named once', () => {
  assert.deepEqual(violationsOf({ ...good, userName: 'a\0' }), ['userName: must not contain NUL']);
  assert.deepEqual(violationsOf({ ...good, other: [{ x: '\ud800' }] }), [
    'other[0].x: must not contain a lone surrogate',
  ]);
});

test('a body that is not an object or too deep is refused', () => {
  for (const body of [null, 1, 'x', []])
    assert.throws(() => parseBody(schema, body, 'USER-INVALID'), /must be a JSON object/);
  const deep = JSON.parse(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`);
  assert.match(violationsOf({ ...good, deep })[0] as string, /must not be nested over 64 levels$/);
  const deepArray = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
  assert.equal(violationsOf({ ...good, deepArray }).length, 1);
});

test('every invalid field is named, however many there are', () => {
  assert.equal(violationsOf({ ...good, x: Array(20_000).fill('\0') }).length, 20_000);
});

test('a key __proto__ does not change a prototype', () => {
  const open = z.looseObject({});
  const value = parseBody(open, JSON.parse('{"__proto__":{"admin":true}}'), 'USER-INVALID');
  assert.equal((value as { admin?: boolean }).admin, undefined);
  assert.equal(Object.getPrototypeOf({}).admin, undefined);
});

test('spellings of keys and paths', () => {
  assert.equal(camelCase('in_user_ids_query'), 'inUserIdsQuery');
  assert.equal(camelCase('userName'), 'userName');
  assert.equal(camelCase('_private'), '_private');
  assert.equal(fieldPath(['queries', 0, 'inUserIdsQuery', 'userIds', 12]), 'queries[0].inUserIdsQuery.userIds[12]');
  assert.equal(fieldPath([]), '');
});

test('a key that is too long for a name is refused, and neither it nor many errors make a long answer', () => {
  const long = 'b'.repeat(5_000_000);
  const shown = `${'b'.repeat(200)}: must have a name of at most 200 characters`;
  assert.deepEqual(violationsOf({ ...good, [long]: Array(2000).fill('\0') }), [shown]);
  assert.equal(camelCase('a_'.repeat(5_000_000)).length, 10_000_000);
  let nested: unknown = Array(5000).fill('\0');
  for (let depth = 0; depth < 4; depth++) nested = { [`${'n'.repeat(190)}${depth}`]: nested };
  const violations = violationsOf({ ...good, nested });
  assert.ok(violations.length > 900 && violations.join('').length < 1.2 * 2 ** 20, `${violations.length} errors`);
});
