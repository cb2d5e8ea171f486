/** Users of Joomla: waiting and blocked users. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { joomla } from '../../../src/sources/systems/joomla.ts';
import { noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(joomla, record);

const ANN = { id: '7', username: 'ann', email: 'a@example.com', password: '$2y$10$x', block: '0', activation: '' };

test('a user who has not followed the link of the activation mail has no verified address', () => {
  assert.equal(convert({ ...ANN, activation: '0123abcd' }).emailVerified, false);
  assert.equal(convert({ ...ANN, activation: '0' }).emailVerified, undefined);
  assert.equal(convert(ANN).emailVerified, undefined);
});

test('a blocked user is inactive; a required reset is kept; a second factor is noted', () => {
  const person = convert({ ...ANN, block: '1', requireReset: '1', otpKey: 'x', params: '{"language":"de-DE"}' });
  assert.equal(person.state, 'inactive');
  assert.equal(person.passwordChangeRequired, true);
  assert.equal(person.language, 'de-DE');
  assert.deepEqual(noteIds(person), ['SECOND-FACTOR-LOST']);
});

test('methods of #__user_mfa, passkeys and emergency codes are noted', () => {
  const of = (more: Fields) => noteIds(convert({ ...ANN, ...more }));
  assert.deepEqual(of({ mfa: '[{"method":"totp"}]' }), ['SECOND-FACTOR-LOST']);
  assert.deepEqual(of({ mfa: [{ method: 'backupcodes' }] }), ['RECOVERY-CODES-LOST']);
  assert.deepEqual(of({ otep: 'x' }), ['RECOVERY-CODES-LOST']);
  assert.deepEqual(of({ passkeys: '[{"id":"p"}]' }), ['PASSKEY-LOST']);
  assert.deepEqual(of({ mfa: null, passkeys: null }), []);
  assert.deepEqual(convert({ ...ANN, groups: '["Registered"]' }).metadata, { groups: '["Registered"]' });
});
