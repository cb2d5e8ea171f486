import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../src/platform/errors.ts';
import { openSlots, type SlotHolder, type Slots } from '../../../src/platform/http/slots.ts';

const LIMITS = { perCaller: 2, perOrg: 3, total: 4, id: 'RATE-LIMIT', what: 'things' } as const;
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
  slots.take({ userId: 'unknown' });
});

test('a caller without an organization is limited too', () => {
  const slots = openSlots(LIMITS);
  const releases = [1, 2].map(() => slots.take({ userId: '192.0.2.1' }));
  assert.throws(() => slots.take({ userId: '192.0.2.1' }), refusal('You have 2 things under way. Try again later.'));
  for (const release of releases) release();
  slots.take({ userId: '192.0.2.1' });
});

test('two organizations that fill the slots for good leave one slot to each of the next organizations', () => {
  const slots = openSlots({ perCaller: 16, perOrg: 16, total: 32, id: 'RATE-LIMIT', what: 'things' });
  const hold = (orgId: string) => Array.from({ length: 16 }, () => attempt(slots, { userId: `of-${orgId}`, orgId }));
  const [first, second] = [hold('first'), hold('second')];
  assert.deepEqual(
    [first, second].map((taken) => taken.filter(Boolean).length),
    [16, 8],
  );
  const carol = { userId: 'carol', orgId: 'third' };
  const release = slots.take(carol);
  const sentence = 'This server keeps its last 8 places for organizations without things under way. Try again later.';
  assert.throws(() => slots.take(carol), refusal(sentence));
  assert.throws(
    () => slots.take({ userId: 'another', orgId: 'first' }),
    refusal('Your organization has 16 things under way. Try again later.'),
  );
  assert.throws(() => slots.take({ userId: 'another', orgId: 'second' }), refusal(sentence));
  release();
  for (let n = 0; n < 8; n++) slots.take({ userId: `user-${n}`, orgId: `org-${n}` });
  assert.throws(() => slots.take(carol), refusal('This server has 32 things under way. Try again later.'));
  first[0]?.();
  slots.take(carol);
});

/** Nothing if there is no slot. */
function attempt(slots: Slots, holder: SlotHolder): (() => void) | undefined {
  try {
    return slots.take(holder);
  } catch {
    return undefined; // full
  }
}

function refusal(message: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.id, error.message], ['RATE-LIMIT', message]);
    return true;
  };
}
