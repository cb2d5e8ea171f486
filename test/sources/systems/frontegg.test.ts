/** Users of Frontegg: metadata, locks and second factors. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { frontegg } from '../../../src/sources/systems/frontegg.ts';
import { noteIds, personOf } from '../people.ts';

const convert = (record: Fields) => personOf(frontegg, record);

test('metadata is JSON text, a locked user is locked', () => {
  const person = convert({
    id: '1',
    email: 'a@example.com',
    verified: true,
    metadata: '{"plan":"x"}',
    isLocked: true,
    mfaEnrolled: true,
  });
  assert.deepEqual(person.metadata, { plan: 'x' });
  assert.equal(person.state, 'locked');
  assert.deepEqual(noteIds(person), ['SECOND-FACTOR-LOST']);
});
