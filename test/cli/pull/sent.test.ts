/** The fingerprints of what a pull has sent: found again after a restart, also when the last one was cut off. */
import assert from 'node:assert/strict';
import { appendFile, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { fingerprintOf, openSent } from '../../../src/cli/pull/send.ts';
import type { Entry } from '../../../src/sources/entry.ts';

function entry(n: number, lastName = 'Archer'): Entry {
  const email = { email: `u${n}@example.com` };
  return {
    orgId: 'shop',
    userId: `u${n}`,
    user: { profile: { firstName: 'Ann', lastName }, email },
  } as unknown as Entry;
}

test('an entry counts as sent until it differs', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'muster-sent-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'state.sent');
  // More than the table's first size, in several parts.
  const all = Array.from({ length: 9000 }, (_, n) => fingerprintOf(entry(n)));
  const first = await openSent(path);
  await first.add(all.slice(0, 5000));
  await first.add(all.slice(5000));
  await first.add([fingerprintOf(entry(7, 'Baker'))]);
  await first.close();
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.equal((await stat(path)).size, 9001 * 16);

  await appendFile(path, Buffer.alloc(9, 1));
  const again = await openSent(path);
  assert.equal(again.size, 9000);
  assert.ok(all.every((print, n) => again.has(print) === (n !== 7)));
  assert.ok(again.has(fingerprintOf(entry(7, 'Baker'))));
  assert.ok(!again.has(fingerprintOf(entry(9001))));
  await again.add([fingerprintOf(entry(9001))]);
  await again.close();
  assert.equal((await stat(path)).size, 9002 * 16);
});

test('users without an id are told apart by name, and the same user of another organization is another one', () => {
  const { userId: _, ...named } = entry(1);
  const other = { ...named, user: { ...named.user, userName: 'bob' } };
  const ids = [entry(1), named, other, { ...entry(1), orgId: 'acme' }].map((one) => fingerprintOf(one as Entry).id);
  assert.equal(new Set(ids).size, 4);
});
