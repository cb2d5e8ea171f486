/** Addresses are addr-specs of RFC 2822 section 3.4.1. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cpuMs } from '../../support/cpu.ts';
import { entry } from '../../support/imports/imports.ts';
import { pendingOf, problemsOf } from '../../support/imports/judge.ts';

const GOOD = [
  'a@localhost',
  'a@b.c',
  'first.last+tag@sub.example.com',
  "!#$%&'*+-/=?^_`{|}~@example.com",
  '"quoted local part"@example.com',
  '"a@b"@c',
  '"a\\"b\\\\c"@d',
  '"<>()[]:;,"@d',
  '""@d',
  'jörg@müller.example',
  'δοκιμή@παράδειγμα.gr',
  '😀@😀',
  'a@[127.0.0.1]',
  'a@[IPv6:::1]',
  'a@-b-',
  `${'x'.repeat(193)}@domain`,
  `${'ž'.repeat(193)}@domain`,
];

const BAD = [
  'a',
  '@',
  'a@',
  '@b',
  'Ann <a@b.c>',
  '<a@b.c>',
  'a@b.c (Ann)',
  'a (c) @b.c',
  'a b@c',
  'a@b c',
  ' a@b',
  'a@b ',
  'a@b\n',
  'a@b\r\nBcc: x@y',
  '.a@b',
  'a.@b',
  'a..b@c',
  'a@.b',
  'a@b.',
  'a@b..c',
  'a@b@c',
  'a,b@c',
  'a@b,c@d',
  'a;b@c',
  'a"b"@c',
  '"a@b',
  '"a"b"@c',
  '"a\\"@c',
  '"a"."b"@c',
  '"a\nb"@c',
  'a\\b@c',
  'a@[b',
  'a@b]',
  'a@[[]]',
  'a@[\\]',
  'a\t@b',
  'a\u007f@b',
];

describe('an email address', () => {
  for (const email of GOOD) {
    it(`may be ${JSON.stringify(email.length > 60 ? `${email.slice(0, 3)}… of ${email.length}` : email)}`, () => {
      assert.deepEqual(problemsOf({ email: { email } }), []);
      assert.equal(pendingOf(entry('x', { email: { email } })).email, email);
    });
  }
  for (const email of BAD) {
    it(`is not ${JSON.stringify(email)}`, () => {
      assert.deepEqual(problemsOf({ email: { email } }), [
        'user.email.email: must be an email address such as ann@example.com',
      ]);
    });
  }

  it('has 1 to 200 characters', () => {
    assert.deepEqual(problemsOf({ email: { email: `${'x'.repeat(194)}@domain` } }), [
      'user.email.email: must have at most 200 characters',
    ]);
    assert.deepEqual(problemsOf({ email: { email: '' } }), ['user.email.email: must not be empty']);
    assert.deepEqual(problemsOf({ email: { email: 'a\0@b' } }), ['user.email.email: must not contain NUL']);
    assert.deepEqual(problemsOf({ email: { email: 'a\ud83d@b' } }), [
      'user.email.email: must not contain a lone surrogate',
    ]);
    assert.deepEqual(problemsOf({ email: {} }), ['user.email.email: is required']);
    assert.deepEqual(problemsOf({ email: { email: 7 } }), ['user.email.email: must be a string']);
  });

  it('is validated in linear time, whatever it is', () => {
    for (const unit of ['a.', '"\\', 'a@', '[', 'ž.']) {
      const ms = cpuMs(() => {
        problemsOf({ email: { email: unit.repeat(100).slice(0, 200) } });
        problemsOf({ email: { email: unit.repeat(1_000_000) } });
      });
      assert.ok(ms < 1000, `${unit} takes ${ms} ms`);
    }
  });
});
