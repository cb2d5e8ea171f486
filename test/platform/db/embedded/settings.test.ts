/** The embedded PostgreSQL uses a quarter of the memory as buffers, and a third of the free disk as log, within bounds. */
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
    assert.equal(settingsFor(gigabytes * GB, 10 * GB).shared_buffers, buffers);
  });
}

for (const [gigabytes, log] of [
  [0.25, '1024MB'],
  [30, '10240MB'],
  [500, '32768MB'],
] as const) {
  it(`has a log of ${log} at most with ${gigabytes} GB of free disk`, () => {
    assert.equal(settingsFor(8 * GB, gigabytes * GB).max_wal_size, log);
  });
}
