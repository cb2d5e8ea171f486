/** `muster members`: lists, gives, replaces and takes roles on an organization and on the instance. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startApi, type TestApi } from '../support/api.ts';
import { runMuster } from '../support/processes/muster.ts';

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.stop());

const muster = (token: string, ...args: string[]) =>
  runMuster(['members', ...args], { env: { MUSTER_URL: api.url, MUSTER_TOKEN: token } });
const asOwner = (...args: string[]) => muster(api.token, ...args);

async function rolesOf(userId: string, ...scope: string[]): Promise<string[] | undefined> {
  const { result } = JSON.parse((await asOwner('list', ...scope, '--json')).stdout);
  return result.find((member: { userId: string }) => member.userId === userId)?.roles;
}

test('roles on an organization are given, listed, replaced and taken', async () => {
  const { orgId, userId, userName } = await api.setupOrg();
  const org = ['--org', orgId];
  assert.equal((await asOwner('remove', userName, ...org, '--yes')).code, 0);
  assert.equal((await asOwner('list', ...org)).stdout, 'None.\n');
  const added = await asOwner('add', userName, ...org, '--role', 'ORG_USER_MANAGER');
  assert.equal(added.stdout, `User ${userId} is now ORG_USER_MANAGER of ${orgId}.\n`);
  assert.match((await asOwner('list', ...org)).stdout, new RegExp(`${userId} +${userName}@\\S+ +ORG_USER_MANAGER`));
  assert.match((await asOwner('add', userName, ...org, '--role', 'ORG_OWNER')).stderr, /MEMBER-EXISTS/);

  const roles = ['--role', 'ORG_OWNER', '--role', 'ORG_OWNER_VIEWER'];
  assert.match((await asOwner('update', userName, ...org, ...roles)).stdout, /now ORG_OWNER, ORG_OWNER_VIEWER of/);
  assert.deepEqual(await rolesOf(userId, ...org), ['ORG_OWNER', 'ORG_OWNER_VIEWER']);
  assert.match((await asOwner('update', userName, ...org, ...roles)).stdout, /already/);

  assert.match((await asOwner('remove', userName, ...org)).stderr, /--yes/);
  assert.equal((await asOwner('remove', userName, ...org, '--yes')).code, 0);
  assert.equal(await rolesOf(userId, ...org), undefined);
  const gone = await asOwner('remove', userName, ...org, '--yes');
  assert.deepEqual([gone.code, /is no member of/.test(gone.stderr)], [2, true]);
});

test('an owner manages members of other organizations by id, but not their own roles', async () => {
  const [mine, other] = [await api.setupOrg(), await api.setupOrg()];
  const org = ['--org', mine.orgId];
  const { userId, token } = await api.machine(mine.orgId, ['ORG_OWNER']);
  await asOwner('add', other.userId, ...org, '--role', 'ORG_OWNER_VIEWER');
  const listed = await muster(token, 'list', ...org);
  assert.match(listed.stdout, new RegExp(`${other.userId} +ORG_OWNER_VIEWER`));
  assert.equal((await muster(token, 'remove', other.userId, ...org, '--yes')).code, 0);
  const own = await muster(token, 'update', userId, ...org, '--role', 'ORG_OWNER_VIEWER');
  assert.match(own.stderr, /cannot replace your own roles/);
  assert.deepEqual(await rolesOf(userId, ...org), ['ORG_OWNER']);
  assert.equal((await muster(token, 'list', '--instance')).code, 4);
});

test('roles that are refused leave the member as it was', async () => {
  const { orgId, userId } = await api.setupOrg();
  await api.deps.pool.query(
    `alter table org_members add constraint refused check (not 'ORG_OWNER_VIEWER' = any(roles))`,
  );
  const { code } = await asOwner('update', userId, '--org', orgId, '--role', 'ORG_OWNER_VIEWER');
  await api.deps.pool.query('alter table org_members drop constraint refused');
  assert.notEqual(code, 0);
  assert.deepEqual(await rolesOf(userId, '--org', orgId), ['ORG_OWNER']);
});

test('members of the instance are IAM_OWNER, and the last one stays', async () => {
  const { userId, orgId } = await api.setupOrg();
  assert.match((await asOwner('add', userId, '--instance')).stdout, /is now IAM_OWNER of the instance/);
  assert.deepEqual(await rolesOf(userId, '--instance'), ['IAM_OWNER']);
  assert.equal((await asOwner('remove', userId, '--instance', '--yes')).code, 0);
  const [first] = JSON.parse((await asOwner('list', '--instance', '--json')).stdout).result;
  assert.match((await asOwner('remove', first.userId, '--instance', '--yes')).stderr, /MEMBER-LAST-OWNER/);
  for (const args of [['list'], ['list', '--org', orgId, '--instance'], ['add', userId, '--org', orgId]]) {
    assert.equal((await asOwner(...args)).code, 2, args.join(' '));
  }
  assert.match((await asOwner('add', userId, '--instance', '--role', 'ORG_OWNER')).stderr, /leave out --role/);
});
