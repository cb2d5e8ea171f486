import assert from 'node:assert/strict';
import test from 'node:test';
import { importBody, userId } from '../../bench/testbed/load.ts';
import { importEntry } from '../../src/contract/import-entry.ts';
import { hashProblem } from '../../src/passwords/registry.ts';

test('the body has the requested number of different valid users, of about 350 bytes each', () => {
  const chunks = [...importBody(2000, 'acme')];
  const bytes = Buffer.concat(chunks);
  const { orgs } = JSON.parse(bytes.toString()).dataOrgs;
  const users = orgs[0].humanUsers;
  assert.equal(orgs[0].orgId, 'acme');
  assert.equal(users.length, 2000);
  assert.equal(users.at(-1).userId, userId(1999));
  for (const user of users) {
    assert.ok(importEntry.safeParse(user).success, JSON.stringify(user));
    assert.equal(hashProblem(user.user.hashedPassword.value), undefined);
  }
  assert.equal(new Set(users.map((u: { userId: string }) => u.userId)).size, 2000);
  assert.equal(new Set(users.map((u: { user: { userName: string } }) => u.user.userName)).size, 2000);
  const average = bytes.length / 2000;
  assert.ok(average > 320 && average < 380, `${average}`);
  assert.ok(chunks.length > 5 && Math.max(...chunks.map((c) => c.length)) < 100_000, 'the body comes in chunks');
});
