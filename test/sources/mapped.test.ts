/** Somebody's own columns: what is found by itself beyond the fixtures. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { ndjson } from '../../src/sources/mapped.ts';
import { personOf } from './people.ts';

const verified = (value: unknown) => personOf(ndjson, { email: 'ann@example.com', emailVerified: value }).emailVerified;

test('a date in place of a flag is that of the verification', () => {
  for (const date of ['2024-01-15T10:30:00.000Z', '2024-01-15 10:30:00', '2024-01-15'])
    assert.equal(verified(date), true);
  assert.equal(verified(null), undefined);
  for (const odd of ['0000-00-00 00:00:00', '2024', 'soon', {}]) assert.equal(verified(odd), undefined);
  const row = { email: 'ann@example.com', email_verified_at: '2024-01-15 10:30:00' };
  assert.equal(personOf(ndjson, row).emailVerified, true);
});

test('what stands around a list of users is no column', () => {
  const record = { email: 'ann@example.com', '@context': { next: 'x' } };
  assert.deepEqual(ndjson.explain?.(record, {}), ['  taken: email=email']);
});
