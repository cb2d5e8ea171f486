import assert from 'node:assert/strict';
import test from 'node:test';
import { problemsOf } from '../support/runner/seen-errors.ts';

const some = { isWhole: false };

test('an error that an operation does not list, or with another status, is a problem of every run', () => {
  const lines = [
    'GET /v2beta/users/:userId USER-NOT-FOUND 404',
    'HEAD /v2beta/users/:userId AUTH-PERMISSION 403',
    'POST /v2beta/users/:userId/lock USER-STATE-LOCKED 400',
    'GET - REQUEST-PATH 404',
    'POST - invalid_grant 400',
  ];
  assert.deepEqual(problemsOf(`${lines.join('\n')}\n`, some), []);
  assert.match(problemsOf('GET /v2beta/users/:userId USER-STATE-LOCKED 400\n', some).join(), /^getUser answered 400/);
  assert.match(problemsOf('GET /v2beta/users/:userId USER-NOT-FOUND 400\n', some).join(), /was answered with 400/);
  assert.match(problemsOf('GET /v2beta/users/:userId OTHER-ID 400\n', some).join(), /^OTHER-ID is not in/);
});

test('a listed error that no test has seen is a problem of a whole run', () => {
  const line = 'GET /v2beta/users/:userId USER-NOT-FOUND 404\n';
  const about = (text: string) => problemsOf(text, { isWhole: true }).filter((one) => one.includes('getUser '));
  assert.match(about('').join(), /^No test has seen getUser answer USER-NOT-FOUND/);
  assert.deepEqual(about(line), []);
});
