/** The rules for new passwords. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { brokenRules, inWords } from '../../src/contract/password-rules.ts';
import { isCommonPassword } from '../../src/passwords/common-passwords.ts';

/** The broken rules in words. */
function passwordProblems(...given: Parameters<typeof brokenRules>): string[] {
  return brokenRules(...given).map(inWords);
}

const POLICY = { minLength: 8, maxLength: 200 };
const SHORT = 'must have at least 8 characters';
const LONG = 'must have at most 200 characters';
const COMMON = 'must not be one of the most common passwords';
const NAME = 'must not be a name or an address of the user, or the domain of the organization';

test('lengths count Unicode code points', () => {
  for (const [password, problems] of [
    ['correct horse', []],
    ['7 chars', [SHORT]],
    ['8 chars.', []],
    ['😀'.repeat(7), [SHORT]],
    ['😀'.repeat(8), []],
    ['😀'.repeat(200), []],
    ['😀'.repeat(201), [LONG]],
    ['a b'.repeat(100), [LONG]],
    ['', [SHORT]],
  ] as const) {
    assert.deepEqual(passwordProblems(password, POLICY, []), problems, password);
  }
  assert.deepEqual(passwordProblems('1 character', { minLength: 1, maxLength: 64 }, []), []);
});

test('a password that cannot be typed is refused', () => {
  assert.deepEqual(passwordProblems('abcd\0efgh', POLICY, []), ['must not contain NUL']);
  assert.deepEqual(passwordProblems('abcdefgh\ud800', POLICY, []), ['must not contain a lone surrogate']);
});

test('common passwords are refused in any case, and only whole ones', () => {
  for (const common of ['password', 'Password1', 'QWERTYUIOP', '12345678', 'iloveyou', 'trustno1', 'sunshine']) {
    assert.equal(isCommonPassword(common), true, common);
  }
  for (const other of ['', '\n', 'password\n12345678', 'correct horse', 'ssword!', 'passwörd', 'password12345678']) {
    assert.equal(isCommonPassword(other), false, other);
  }
  assert.deepEqual(passwordProblems('Dragon', POLICY, []), [SHORT, COMMON]);
});

test('a login name is refused in any case and normalization', () => {
  const names = ['J\u00fcrgen.Meyer', 'jürgen.meyer@acme.example'];
  for (const password of ['jürgen.meyer', 'JU\u0308RGEN.Meyer', 'Jürgen.Meyer@ACME.example']) {
    assert.deepEqual(passwordProblems(password, POLICY, names), [NAME], password);
  }
  assert.deepEqual(passwordProblems('jürgen.meyer.', POLICY, names), []);
  assert.deepEqual(passwordProblems('dragon', POLICY, ['Dragon']), [SHORT, COMMON, NAME]);
});
