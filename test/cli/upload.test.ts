/** Uploading to a slow service: the data that waits to be sent is bounded, whatever its total. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openPlaces } from '../../src/cli/import/read.ts';
import { upload } from '../../src/cli/import/upload.ts';
import { openApi } from '../../src/cli/service/api.ts';
import type { Conversion, Outcome } from '../../src/sources/convert.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const USERS = 200_000;
const GROUP = 500;
const MOST_HELD = 24 * 2 ** 20;

function group(from: number): Outcome[] {
  return Array.from({ length: GROUP }, (_, i) => {
    const profile = { firstName: 'Ann', lastName: `Archer ${'x'.repeat(150)}` };
    const user = { profile, email: { email: `u${from + i}@example.com`, isEmailVerified: true } };
    return {
      file: 'users.json',
      line: from + i + 1,
      notes: [],
      entry: { orgId: 'acme', userId: `u${from + i}`, user },
    };
  });
}

const conversion: Conversion = {
  async *outcomes() {
    for (let from = 0; from < USERS; from += GROUP) yield group(from);
  },
  unusedHashes: () => 0,
  close: async () => {},
};

test('an upload holds no more in memory than is in transit', async (t) => {
  const before = process.memoryUsage().arrayBuffers;
  const seen = () => process.memoryUsage().arrayBuffers - before;
  /** Without what only waits to be collected, or was collected and is yet to be freed by another thread. */
  const held = async () => {
    for (let round = 0; round < 50 && seen() >= MOST_HELD; round++) {
      collectGarbage();
      await new Promise((resolve) => setImmediate(resolve));
    }
    return seen();
  };
  let [taken, most] = [0, 0];
  const server = createServer(async (req, res) => {
    for await (const chunk of req) {
      taken += chunk.length;
      most = Math.max(most, await held());
      // Reads more slowly than data arrives: other work gets its turn, and data to send could pile up.
      await new Promise((resolve) => setImmediate(resolve));
    }
    res.setHeader('content-type', 'application/json').end('{"importId":"1"}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());

  const places = openPlaces();
  const api = openApi(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, async () => 'token');
  let [sent, ended] = [0, false];
  const pass = () => ({ see: () => sent++, end: () => (ended = true) });
  const events = { again: (why: string) => assert.fail(why) };
  await upload(api, { conversion, places, query: {}, idempotencyKey: 'key', pass }, events);

  assert.deepEqual([sent, ended], [USERS, true]);
  assert.ok(taken > 2 * MOST_HELD, `${taken} bytes say nothing`);
  assert.ok(most < MOST_HELD, `${most} bytes were held`);
  assert.deepEqual(places.at(USERS - 1), { file: 'users.json', line: USERS });
  assert.equal(places.at(USERS), undefined);
});
