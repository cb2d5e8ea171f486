/** Users of WorkOS: its own metadata and the external id. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { workos } from '../../../src/sources/systems/workos.ts';
import { personOf } from '../people.ts';

const convert = (record: Fields) => personOf(workos, record);

test('metadata and external id are kept', () => {
  const person = convert({
    object: 'user',
    id: 'user_1',
    email: 'a@example.com',
    external_id: 'f1',
    metadata: { plan: 'x' },
  });
  assert.deepEqual(person.metadata, { plan: 'x', external_id: 'f1' });
});
