import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../src/errors.ts';
import { openSlots } from '../../src/http/slots.ts';

const LIMITS = { perCaller: 2, perOrg: 3, total: 4, id: 'TOO-MANY', what: 'things' };
const [ann, bob, eve] = [
  { userId: 'ann', orgId: 'a' },
  { userId: 'bob', orgId: 'a' },
  { userId: 'eve', orgId: 'e' },
];

test('slots are limited for each caller, each organization, and in all', () => {
  const slots = openSlots(LIMITS);
  const release = slots.take(ann);
  slots.take(ann);
  assert.throws(() => slots.take(ann), refusal('You have 2 things under way. Try again later.'));
  slots.take(bob);
  assert.throws(() => slots.take(bob), refusal('Your organization has 3 things under way. Try again later.'));
  slots.take(eve);
  assert.throws(
    () => slots.take({ userId: 'unknown' }),
    refusal('This server has 4 things under way. Try again later.'),
  );
  release();
  slots.take(ann);
});

test('a caller without an organization is limited too', () => {
  const slots = openSlots(LIMITS);
  const releases = [1, 2].map(() => slots.take({ userId: '192.0.2.1' }));
  assert.throws(() => slots.take({ userId: '192.0.2.1' }), refusal('You have 2 things under way. Try again later.'));
  for (const release of releases) release();
  slots.take({ userId: '192.0.2.1' });
});

function refusal(message: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.id, error.message], ['TOO-MANY', message]);
    return true;
  };
}
