/** Users of Drupal: the anonymous user, hashes of Drupal 6. */
import assert from 'node:assert/strict';
import test from 'node:test';
import type { Fields } from '../../../src/sources/source.ts';
import { drupal } from '../../../src/sources/systems/drupal.ts';
import { personOf } from '../people.ts';

const convert = (record: Fields) => personOf(drupal, record);

const ANN = { uid: '2', name: 'ann', mail: 'a@example.com', init: '', pass: '$2y$10$x' };

test('the anonymous user is skipped', () => {
  assert.ok('skip' in drupal.converter({})({ ...ANN, uid: 0 }));
});

test('a hash is taken, and an MD5 that was hashed again', () => {
  assert.equal(convert(ANN).hash, '$2y$10$x');
  assert.equal(convert({ ...ANN, pass: 'U$S$5saltSALT' }).hash, 'U$S$5saltSALT');
  assert.equal(convert({ ...ANN, pass: '' }).hash, undefined);
});

test('a blocked user is inactive', () => {
  assert.equal(convert({ ...ANN, status: '0' }).state, 'inactive');
});
