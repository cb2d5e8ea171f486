/** Users of Stytch: verified values come first. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { stytch } from '../../../src/sources/systems/stytch.ts';
import { assertRefused, noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(stytch, record);

test('a verified address is preferred to an earlier one', () => {
  const emails = [
    { email: 'a@example.com', verified: false },
    { email: 'b@example.com', verified: true },
  ];
  const person = convert({
    user_id: 'user-live-1',
    emails,
    trusted_metadata: { plan: 'gold' },
    totps: [{ totp_id: 'x' }],
  });
  assert.equal(person.email, 'b@example.com');
  assert.equal(person.emailVerified, true);
  assert.deepEqual(person.metadata, { external_id: undefined, trusted_metadata: { plan: 'gold' } });
  assert.deepEqual(noteIds(person), ['SECOND-FACTOR-LOST']);
});

test('hashes that a migration tool wrote to the users count too, and another method is refused', () => {
  const hash = 'A'.repeat(43);
  const user = { user_id: 'user-test-1', emails: [], hash, salt: 's-lt', request_id: 'r', hashAlgorithm: 'scrypt' };
  const person = convert(user);
  assert.equal(person.hash, `$scrypt$ln=15,r=8,p=1$cy1sdA$${hash}`);
  assert.deepEqual(person.metadata, { external_id: undefined });
  assertRefused(convert({ ...user, hashAlgorithm: 'argon2' }), '$stytch-argon2$');
  assertRefused(convert({ ...user, hash: 'AAAA' }), '$stytch-scrypt$');
});
