/** Second factors in the columns of tables: taken, noted as lost, or switched off. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { hasFactorColumn, secondFactorOf } from '../../src/sources/second-factor.ts';
import { csv } from '../../src/sources/systems/mapped.ts';

const SECRET = 'KRSXG5CTMVRXEZLUKRSXG5CT';

const CASES: readonly (readonly [record: Record<string, unknown>, totp: string | undefined, isLost: boolean])[] = [
  [{ mfasecret: SECRET }, SECRET, false],
  [{ mfasecret: '', tfa_secret: SECRET }, SECRET, false],
  [{ google2fa_secret: SECRET, two_factor_enabled: 1 }, SECRET, false],
  [{ two_factor_secret: 'eyJpdiI6Ik1', two_factor_confirmed_at: '2024-01-02 03:04:05' }, undefined, true],
  [{ two_factor_secret: SECRET, two_factor_confirmed_at: '2024-01-02 03:04:05' }, SECRET, false],
  [{ mfasecret: SECRET, mfaactive: 'f' }, undefined, false],
  [{ mfa_enabled: 'yes' }, undefined, true],
  [{ '2sv Enrolled [READ ONLY]': 'TRUE' }, undefined, true],
  [{ totp: 'true' }, undefined, true],
  [{ totp: false, otp_required_for_login: '0' }, undefined, false],
  [{ phone: '1', email: 'a@b.example' }, undefined, false],
];

test('a readable secret is taken, a factor without one is lost, and one that is off is none', () => {
  for (const [record, totp, isLost] of CASES) {
    const found = secondFactorOf(record);
    assert.equal(found.totp, totp, JSON.stringify(record));
    assert.deepEqual(
      found.notes.map(({ id }) => id),
      isLost ? ['SECOND-FACTOR-LOST'] : [],
      JSON.stringify(record),
    );
  }
});

test('a source that reads a column of a second factor itself is told from others', () => {
  assert.equal(hasFactorColumn(['email', 'two_factor_secret']), true);
  assert.equal(hasFactorColumn(['email', 'footpath']), false);
});

const DATES = [
  ...['1600000000', '1600000000000', '02/01/2023', '2023/01/02', '02.01.2023 10:00', 'Jan 2 2023', '20230102030405'],
  ...['2023-01-02T03:04:05Z', 'Mon, 02 Jan 2023 03:04:05 GMT', '12-JAN-23 10.00.00.000 AM', 'January 2, 2023'],
];

test('a date in a column of verification means that it was verified then, in every form', () => {
  const verified = (value: string) => csv.converter({})({ email: 'a@b.example', email_verified_at: value });
  const flags = (values: readonly string[]) =>
    values.map((value) => {
      const person = verified(value);
      return 'skip' in person ? undefined : person.emailVerified;
    });
  assert.deepEqual(
    flags(DATES),
    DATES.map(() => true),
  );
  assert.deepEqual(flags(['0', '0000-00-00 00:00:00', 'maybe', '-']), [false, undefined, undefined, undefined]);
});
