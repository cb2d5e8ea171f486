import assert from 'node:assert/strict';
import test from 'node:test';
import { z } from 'zod';
import { e164, mobileNumber, phoneIfAny } from '../../src/platform/phone.ts';

test('a global number is taken in the usual spellings and kept as E.164', () => {
  for (const phone of [
    '+41791234567',
    'tel:+41-79-123-45-67',
    'TEL:+41(79)1234567',
    '+41 79 123.45.67',
    '+41 (0)79 123 45 67',
    '+(41) 79 123 45 67',
  ]) {
    assert.equal(e164(phone), '+41791234567', phone);
  }
  assert.equal(e164('+44 (0) 20 7946 0018'), '+442079460018', 'the zero of calls inside the country goes');
  assert.equal(e164('+800 1234 5678'), '+80012345678', 'no country, but the world');
  assert.equal(e164('+290 2577'), '+2902577', 'short countries have short numbers');
  assert.equal(e164('+15555550100'), '+15555550100', 'a range that is not in use yet');
});

test('anything else is no number', () => {
  for (const phone of [
    '0791234567',
    '41791234567',
    '0041791234567',
    '+123',
    '+41',
    '+4179123456',
    '+4179123456789',
    `+${'1'.repeat(16)}`,
    '+491234567890123456',
    '+999123456789',
    '+41abc',
    '++41791234567',
    '+41791234567;ext=1',
    'tel:0791234567;phone-context=+41',
    'sms:+41791234567',
    'call +41791234567',
    '+41791234567 or so',
    '+41791234567\n',
    '+',
    '',
    ' ',
    '+٤١٧٩١٢٣٤٥٦٧',
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

test('a number that is null, empty or absent means that there is none; any other value is validated', () => {
  const user = z.object({ phone: phoneIfAny(z.object({ phone: mobileNumber(50), isVerified: z.boolean() })) });
  const phoneOf = (phone: unknown) => user.safeParse({ phone });
  for (const none of [undefined, {}, { phone: null }, { phone: '' }, { phone: '', isVerified: true }]) {
    assert.deepEqual(phoneOf(none), { success: true, data: { phone: undefined } });
  }
  assert.deepEqual(user.safeParse({}), { success: true, data: {} });
  const given = { phone: '+41791234567', isVerified: false };
  assert.deepEqual(phoneOf(given).data, { phone: given });
  for (const wrong of [{ phone: 'x', isVerified: true }, { phone: ' ' }, 7, 'x', [], { phone: 0 }]) {
    assert.equal(phoneOf(wrong).success, false, JSON.stringify(wrong));
  }
});
