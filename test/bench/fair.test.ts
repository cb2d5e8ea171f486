import assert from 'node:assert/strict';
import test from 'node:test';
import { smallBody } from '../../bench/benches/fair.ts';
import { importBody } from '../../bench/testbed/load.ts';
import { importEntry } from '../../src/contract/import-entry.ts';

interface Entry {
  userId: string;
  user: { userName: string };
}

function entriesOf(bytes: Buffer, orgId: string): Entry[] {
  const [org] = JSON.parse(bytes.toString()).dataOrgs.orgs;
  assert.equal(org.orgId, orgId);
  return org.humanUsers;
}

test('each small import has ten valid users, which are in no other import', () => {
  const large = entriesOf(Buffer.concat([...importBody(100, 'large')]), 'large');
  const small = [100, 110].map((first) => entriesOf(smallBody('small', first), 'small'));
  const all = [...large, ...small.flat()];
  assert.deepEqual(
    small.map((entries) => entries.length),
    [10, 10],
  );
  for (const entry of small.flat()) assert.ok(importEntry.safeParse(entry).success, JSON.stringify(entry));
  assert.equal(new Set(all.map((entry) => entry.userId)).size, 120);
  assert.equal(new Set(all.map((entry) => entry.user.userName)).size, 120);
});
