/** The fast path of entries/fast-path.ts gives the same item as the schema, or leaves the entry to the schema. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { fastPathItem } from '../../../src/imports/entries/fast-path.ts';
import { USUAL_RULES, validateEntry } from '../../../src/imports/entries/validate.ts';
import { fbscrypt } from '../../passwords/bounds.ts';
import fc from '../../support/fast-check.ts';
import { HASH, SECRETS } from '../../support/imports/imports.ts';

const odd = fc.constantFrom<unknown>(null, 0, true, [], {}, '', 'x'.repeat(201), '😀'.repeat(201), '\0', '\ud800');
const mostly = (...usual: unknown[]) =>
  fc.oneof({ weight: 30, arbitrary: fc.constantFrom(...usual) }, { weight: 1, arbitrary: odd });
const text = mostly(
  'Ann',
  'Müller',
  'İ',
  'e\u0301',
  'Žižek',
  'x'.repeat(200),
  '😀'.repeat(200),
  'a\tb',
  '\\N',
  'a\u200bb',
  'ﬁ',
  'می\u200cخ',
);
/** Fields that the fast path knows and, occasionally, one that only the schema knows. */
const some = (usual: Record<string, fc.Arbitrary<unknown>>, requiredKeys: string[], rare: Record<string, unknown>) =>
  fc
    .tuple(fc.record(usual, { requiredKeys }), fc.nat(15), fc.constantFrom(...Object.entries(rare)))
    .map(([object, dice, [key, value]]) => (dice === 0 ? { ...object, [key]: value } : object));

const profile = some(
  {
    firstName: text,
    lastName: text,
    nickName: text,
    displayName: text,
    preferredLanguage: mostly('', 'de-CH', 'english-language'),
    gender: mostly('GENDER_MALE', 'GENDER_FEMALE'),
  },
  ['firstName', 'lastName'],
  { middleName: 'x', first_name: 'y' },
);
const metadataEntry = some(
  {
    key: mostly('plan', 'a\tb', '__proto__', '7'),
    value: mostly('YQ==', 'YQ', 'YWI', 'YR==', 'not base64', 'A'.repeat(300)),
  },
  ['key', 'value'],
  { note: 'x' },
);
const link = some(
  { configId: mostly('google', 'entra'), externalUserId: mostly('1', '2', '3'), displayName: mostly('', 'Ann') },
  ['configId', 'externalUserId'],
  { note: 'x' },
);
const keyOf = (one: unknown) => JSON.stringify((one as { key?: unknown } | null)?.key);
const user = some(
  {
    userName: text,
    profile,
    email: some(
      {
        email: mostly(
          'a@localhost',
          'Ann@Example.com',
          '"a b"@c',
          'MÜLLER@x.y',
          'a\u00adb@c',
          'a@XN--MNCHEN-3YA.de',
          'ž@ﬁ.si',
          '"ab"@c',
        ),
        isEmailVerified: mostly(true, false),
      },
      ['email'],
      { email: 'Ann <a@b.c>' },
    ),
    phone: some({ phone: text, isPhoneVerified: mostly(true) }, ['phone'], { code: '1' }),
    hashedPassword: some({ value: mostly(HASH, fbscrypt('n=14,r=8,p=1', 117, 27)) }, ['value'], {
      algorithm: 'bcrypt',
      value: '$9$x',
    }),
    passwordChangeRequired: mostly(true, false),
    metadata: fc.oneof(
      { weight: 9, arbitrary: fc.uniqueArray(metadataEntry, { selector: keyOf, maxLength: 3 }) },
      { weight: 1, arbitrary: fc.array(metadataEntry, { maxLength: 25 }) },
      { weight: 1, arbitrary: odd },
    ),
    idps: fc.oneof({ weight: 9, arbitrary: fc.array(link, { maxLength: 2 }) }, { weight: 1, arbitrary: odd }),
  },
  ['profile', 'email'],
  {
    password: 'secret',
    otpCode: 'x',
    user_name: 'y',
    userName: null,
  },
);
const entry = some(
  { userId: text, state: mostly('USER_STATE_ACTIVE', 'USER_STATE_LOCKED'), user },
  ['userId', 'user'],
  { note: 1, state: 'USER_STATE_INITIAL', user: null },
);
const nothing = { unknown() {} };

it('the fast path decides as the schema does, or not at all', () => {
  let taken = 0;
  let withExtras = 0;
  fc.assert(
    fc.property(entry, (value) => {
      const short = fastPathItem(value, false);
      if (!short) return;
      taken++;
      if (short.extras?.idps?.length && (short.extras.metadata as unknown[]).length > 0) withExtras++;
      assert.deepEqual(
        short,
        validateEntry(structuredClone(value), SECRETS, nothing, { ...USUAL_RULES, strict: true }),
      );
    }),
    { numRuns: 5000 },
  );
  assert.ok(taken > 20 && withExtras > 2, `only ${taken} entries took the fast path, ${withExtras} with both lists`);
});

it('strings written without escapes are not searched for characters that only escapes can produce', () => {
  const value = {
    userId: 'auth0|1',
    user: {
      profile: { firstName: 'Ann', lastName: 'Müller' },
      email: { email: 'Ann@Example.com', isEmailVerified: true },
      hashedPassword: { value: HASH },
    },
  };
  const short = fastPathItem(value, true);
  assert.ok(short);
  assert.deepEqual(short, validateEntry(structuredClone(value), SECRETS, nothing, { ...USUAL_RULES, strict: true }));
  assert.equal(short.userNameKey, 'ann@example.com');
});

it('an entry without an id is left to the schema, which generates one', () => {
  const value = { user: { profile: { firstName: 'A', lastName: 'B' }, email: { email: 'a@b' } } };
  assert.equal(fastPathItem(value, true), undefined);
  assert.equal(validateEntry(value, SECRETS, nothing, { ...USUAL_RULES, strict: true }).state, 'pending');
});
