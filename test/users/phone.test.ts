import assert from 'node:assert/strict';
import test from 'node:test';
import { e164, mobileNumber } from '../../src/users/phone.ts';

test('a global number is taken in the usual spellings and kept as E.164', () => {
  for (const phone of ['+41791234567', 'tel:+41-79-123-45-67', 'TEL:+41(79)1234567', '+41 79 123.45.67']) {
    assert.equal(e164(phone), '+41791234567', phone);
  }
});

test('anything else is no number', () => {
  for (const phone of [
    '0791234567',
    '+123',
    `+${'1'.repeat(16)}`,
    '+41abc',
    '41791234567',
    '++41791234567',
    '+41791234567;ext=1',
    '',
    '+٤١٧٩',
  ]) {
    assert.equal(e164(phone), undefined, phone);
  }
});

test('the field names its problem', () => {
  const problem = (phone: unknown) =>
    mobileNumber(50)
      .safeParse(phone)
      .error?.issues.map((i) => i.message);
  assert.deepEqual(problem('12'), ['must be a phone number such as +41791234567']);
  assert.deepEqual(problem(`+${' '.repeat(60)}41791234567`), ['must have at most 50 characters']);
  assert.deepEqual(problem(''), ['must not be empty']);
  assert.deepEqual(problem(undefined), ['is required']);
});
