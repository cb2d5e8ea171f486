/**
 * How long a hash may be: 400 characters with `$fbscrypt$`, `$formula$` and argon2, else 200; for every way to create or change a user, and in
 * the documentation.
 */
import assert from 'node:assert/strict';
import test from 'node:test';
import { z } from 'zod';
import { humanChange, newHuman } from '../../../src/contract/humans.ts';
import { importUser } from '../../../src/contract/import-entry.ts';
import { fastPathItem } from '../../../src/imports/entries/fast-path.ts';
import { fbscrypt } from '../../passwords/bounds.ts';
import { entry } from '../../support/imports/imports.ts';
import { pendingOf, problemsOf } from '../../support/imports/judge.ts';

const COST = 'n=14,r=8,p=1';
const LONGEST = fbscrypt(COST, 117, 27);
const TOO_LONG = fbscrypt(COST, 117, 28);
const OTHERS = ['$2b$10$', 'pbkdf2_sha256$1$', '$fbscrypt', '{SSHA}', '$foo$', '😀'].map((begin) =>
  begin.padEnd(250, 'x'),
);

const problemOf = (value: string) => problemsOf({ hashedPassword: { value } });
const tooLong = (most: number) => [`user.hashedPassword.value: must have at most ${most} characters`];

test('an import accepts the longest, on the fast path and by the schema', () => {
  assert.equal(LONGEST.length, 400);
  const value = entry('ann', { hashedPassword: { value: LONGEST } });
  for (const plain of [true, false]) assert.equal(fastPathItem(value, plain)?.passwordHash, LONGEST);
  assert.equal(pendingOf(value).passwordHash, LONGEST);
});

test('an import names the field of a longer one', () => {
  assert.deepEqual(problemOf(TOO_LONG), tooLong(400));
  for (const value of OTHERS) {
    assert.equal(fastPathItem(entry('ann', { hashedPassword: { value } }), true), undefined);
    assert.deepEqual(problemOf(value), tooLong(200), value);
  }
});

test('creating and changing a user accept and refuse the same lengths', () => {
  const profile = { givenName: 'Ann', familyName: 'Arbor' };
  const bodies = (hash: string) => [
    newHuman.safeParse({ profile, email: { email: 'a@b.c', isVerified: true }, hashedPassword: { hash } }),
    humanChange.safeParse({ password: { hashedPassword: { hash } } }),
  ];
  for (const { success } of bodies(LONGEST)) assert.equal(success, true);
  for (const [hash, most] of [[TOO_LONG, 400], ...OTHERS.map((other) => [other, 200])] as Array<[string, number]>) {
    for (const { error } of bodies(hash)) {
      assert.deepEqual(
        error?.issues.map(({ path, message }) => [path.slice(-2).join('.'), message]),
        [['hashedPassword.hash', `must have at most ${most} characters`]],
      );
    }
  }
});

test('the documentation states the limit', () => {
  const schema = z.toJSONSchema(importUser, { io: 'input' }) as unknown as {
    properties: { hashedPassword: { properties: { value: { maxLength: number; description: string } } } };
  };
  const { maxLength, description } = schema.properties.hashedPassword.properties.value;
  assert.equal(maxLength, 400);
  assert.match(
    description,
    /At most 200 characters; only one of argon2, or that begins with `\$fbscrypt\$` or `\$formula\$`, may have up to 400\./,
  );
});
