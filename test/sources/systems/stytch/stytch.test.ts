/** Users of Stytch: verified values come first. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../../src/sources/source.ts';
import { stytch } from '../../../../src/sources/systems/stytch/stytch.ts';
import { noteIds, personOf } from '../../people.ts';

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
