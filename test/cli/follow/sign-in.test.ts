/** How the command line says in which way the users of an import sign in. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { missingLines, signInLines } from '../../../src/cli/follow/sign-in.ts';
import { type SignInCounts, WAYS } from '../../../src/contract/sign-in.ts';

const NOBODY = Object.fromEntries(WAYS.map((way) => [way, 0])) as SignInCounts['ways'];
const COUNTS: SignInCounts = {
  ways: { ...NOBODY, PASSWORD: 1204, MAIL_CODE: 30, NONE: 5 },
  causes: { INACTIVE: 4, NO_ADDRESS: 1, NO_PASSWORD: 30 },
  causesByWay: { MAIL_CODE: { NO_PASSWORD: 30 }, NONE: { INACTIVE: 4, NO_ADDRESS: 1 } },
  changes: { GETS_MAIL: 12 },
};

test('says who signs in with what they know, with something else, and not at all, in this order', () => {
  assert.deepEqual(signInLines(COUNTS, { importId: '9', isDone: false }), [
    '  How they will sign in',
    '          1,204  with what they know',
    '          1,204    the password that they have (PASSWORD)',
    '             30  with something else',
    '             30    a code by mail (MAIL_CODE)',
    '             30    why: The import brings no password for the user. (NO_PASSWORD)',
    '              5  not at all',
    '              1    why: The user has no email address, and no password or user name that signs in. (NO_ADDRESS)',
    '              4    why: The user is inactive. (INACTIVE)',
    '  What is different for them',
    '             12  The import sends the user a mail. (GETS_MAIL)',
    '  To list them: muster items 9 --sign-in MAIL_CODE; muster items 9 --sign-in NONE',
  ]);
});

test('says nothing of an import of an earlier version, or without users', () => {
  const of = { importId: '9', isDone: true };
  assert.deepEqual(signInLines(undefined, of), []);
  assert.deepEqual(signInLines({ ways: NOBODY, causes: {}, causesByWay: {}, changes: {} }, of), []);
});

test('a cause that several groups have is counted in each', () => {
  const ways = { ...NOBODY, PASSWORD: 1, MAIL_CODE: 2, NONE: 30 };
  const causesByWay = { MAIL_CODE: { NO_PASSWORD: 2 }, NONE: { NO_PASSWORD: 30 } };
  const off = { ways, causes: { NO_PASSWORD: 32 }, causesByWay, changes: {} };
  const lines = signInLines(off, { importId: '9', isDone: true });
  assert.equal(lines[0], '  How they sign in');
  assert.deepEqual(
    lines.filter((line) => line.includes('NO_PASSWORD')).map((line) => line.trim().split(' ')[0]),
    ['2', '30'],
  );
});

test('what the export does not contain comes with what to do, and moves no cursor', () => {
  const missing = [{ id: 'X', what: 'secondFactor', message: 'No \x1b[2Jfactors.', remedy: 'Add them.' }] as const;
  assert.deepEqual(missingLines([...missing]), [
    '  What this export does not contain',
    '    No �[2Jfactors.',
    '      → Add them.',
  ]);
  assert.deepEqual(missingLines(undefined), []);
});
