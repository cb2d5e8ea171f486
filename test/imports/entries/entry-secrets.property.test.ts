/** Any JSON value as an entry: it is stored unchanged, and what is shown of it contains no secret. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { hashPassword, sealEntry, unsealEntry, withholdSecrets } from '../../../src/imports/entries/secrets.ts';
import { toItem, USUAL_RULES } from '../../../src/imports/entries/validate.ts';
import fc from '../../support/fast-check.ts';
import { SECRETS } from '../../support/imports/imports.ts';

const SECRET = 'tr0ub4dor&3';
const secretName = fc.constantFrom(
  'password',
  'Password',
  'pass_word',
  'user_password',
  'PLAIN-PASSWORD',
  'passwd',
  'otpCode',
  'otp_code',
  'totpSecret',
  'accessToken',
);
const harmless = fc.constantFrom('userName', 'user_name', 'profile', 'email', 'shoeSize', '__proto__', 'a_b', 'user');
/** Secrets in fields with telling names, at any depth, as strings, lists or objects. */
const entry = fc.letrec((tie) => ({
  secret: fc.oneof(fc.constant(SECRET), fc.constant([SECRET]), fc.constant({ value: SECRET })),
  object: fc
    .tuple(
      fc.dictionary(harmless, tie('value'), { maxKeys: 3 }),
      fc.dictionary(secretName, tie('secret'), { maxKeys: 2 }),
    )
    .map(([a, b]) => ({ ...a, ...b })),
  value: fc.oneof(
    { maxDepth: 4 },
    fc.jsonValue({ maxDepth: 1 }),
    tie('object'),
    fc.array(tie('object'), { maxLength: 2 }),
  ),
})).object;

it('an entry is stored unchanged, and shown without any secret', async () => {
  await fc.assert(
    fc.asyncProperty(entry, async (given) => {
      const item = toItem(structuredClone({ user: given }), SECRETS, { unknown() {} }, USUAL_RULES);
      if (item.state === 'failed') assert.ok(item.entrySealed && !item.entrySealed.includes(SECRET));
      const sealed = sealEntry(given, SECRETS);
      assert.deepEqual(JSON.stringify(unsealEntry(sealed, SECRETS)), JSON.stringify(given));
      const shown = JSON.parse(JSON.stringify({ user: given }));
      await hashPassword(shown, async (plain) => `hash of ${plain.length}`);
      withholdSecrets(shown);
      assert.ok(!JSON.stringify(shown).includes(SECRET), JSON.stringify(shown));
    }),
    { numRuns: 500 },
  );
});

it('only a valid password is hashed, and only if no hash is given', async () => {
  const cases: [user: unknown, hashed: boolean][] = [
    [{ password: 'x' }, true],
    [{ password: 'x'.repeat(200) }, true],
    [{ password: 'x'.repeat(201) }, false],
    [{ password: '' }, false],
    [{ password: 'a\0b' }, false],
    [{ password: 7 }, false],
    [{ password: 'x', hashedPassword: { value: 'y' } }, false],
    [{}, false],
    ['password', false],
    [null, false],
  ];
  for (const [user, hashed] of cases) {
    assert.equal(await hashPassword({ user }, async () => 'h'), hashed, JSON.stringify(user).slice(0, 50));
  }
  assert.equal(await hashPassword(null, async () => 'h'), false);
});
