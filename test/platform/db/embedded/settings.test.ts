/** The embedded PostgreSQL uses a quarter of the memory as buffers, within bounds. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { settingsFor } from '../../../../src/platform/db/embedded/server.ts';

const GB = 2 ** 30;

for (const [gigabytes, buffers] of [
  [0.25, '128MB'],
  [2, '512MB'],
  [8, '2048MB'],
  [24, '4096MB'],
] as const) {
  it(`has ${buffers} of buffers on a machine with ${gigabytes} GB`, () => {
    assert.equal(settingsFor(gigabytes * GB).shared_buffers, buffers);
  });
}
