/** Users of PingOne: states and the population. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { pingone } from '../../../src/sources/systems/pingone.ts';
import { personOf } from '../people.ts';

const convert = (record: Fields) => personOf(pingone, record);

test('locked and disabled users, and the population', () => {
  const ann = { id: '1', username: 'ann', environment: { id: 'e' }, population: { id: 'p' } };
  assert.equal(convert({ ...ann, account: { status: 'LOCKED', canAuthenticate: true } }).state, 'locked');
  assert.equal(convert({ ...ann, enabled: false }).state, 'inactive');
  assert.equal(convert({ ...ann, account: { status: 'OK', canAuthenticate: false } }).state, 'inactive');
  assert.deepEqual(convert(ann).metadata, { population: 'p' });
});
