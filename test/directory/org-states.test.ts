/** Deactivated organizations: nobody acts for them, at once, and a reactivation brings everything back. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { writeBatch } from '../../src/imports/run/write-batch.ts';
import type { Pool } from '../../src/platform/db/pool.ts';
import { type CallOptions, errorId, type SetUp, startApi, type TestApi, unique } from '../support/api.ts';
import { must } from '../support/calls.ts';
import { bulk } from '../support/imports/bodies.ts';
import { SETTINGS } from '../support/imports/existing.ts';
import { entries, entry, openWriterPool } from '../support/imports/imports.ts';
import { API_SCOPE, addClient, post, tokenCall, tokensOf } from '../support/oauth.ts';

let api: TestApi;
let writer: Pool;
before(async () => {
  api = await startApi({ env: { LOGIN_DELAY_MS: '0' } });
  writer = openWriterPool(api.deps.config.DATABASE_URL);
});
after(async () => {
  await writer.end();
  await api.stop();
});

const call = (method: string, path: string, body?: unknown, options: CallOptions = {}) =>
  must(api.call(method, path, body, options));
const change = (orgId: string, action: string, options: CallOptions = {}) =>
  api.call('POST', `/management/v1/orgs/me/${action}`, undefined, { orgId, ...options });
const deactivate = async (orgId: string) => assert.equal((await change(orgId, '_deactivate')).status, 200);
const reactivate = async (orgId: string) => assert.equal((await change(orgId, '_reactivate')).status, 200);
const sessionOf = ({ userId, password }: SetUp, options: CallOptions = {}) =>
  api.call('POST', '/v2beta/sessions', { checks: { user: { userId }, password: { password } } }, options);
const importInto = (orgId: string, people = entries(2), options: CallOptions = {}) =>
  api.call('POST', '/admin/v1/import', bulk(orgId, people), options);
const stateOf = async (importId: string) =>
  (await call('GET', `/admin/v1/imports/${importId}`)).body.state.replace('IMPORT_STATE_', '');
const peopleOf = () => [entry(unique('p')), entry(unique('p'))];

test('only an IAM_OWNER deactivates and reactivates, and each once', async () => {
  const { orgId } = await api.setupOrg();
  const owner = await api.machine(orgId, ['ORG_OWNER']);
  for (const action of ['_deactivate', '_reactivate']) {
    assert.equal((await change(orgId, action, { token: owner.token })).status, 403);
  }
  assert.equal(errorId(await change(orgId, '_reactivate')), 'ORG-STATE');
  await deactivate(orgId);
  assert.equal(errorId(await change(orgId, '_deactivate')), 'ORG-STATE');
  assert.equal((await call('GET', `/admin/v1/orgs/${orgId}`)).body.org.state, 'ORG_STATE_INACTIVE');
  await reactivate(orgId);
  assert.equal((await call('GET', `/admin/v1/orgs/${orgId}`)).body.org.state, 'ORG_STATE_ACTIVE');
  const { body } = await call('POST', '/admin/v1/events/_search', {}, { orgId });
  const types = body.result.map(({ type }: { type: string }) => type);
  assert.deepEqual(types.filter((type: string) => type.endsWith('activated')).sort(), [
    'organization.deactivated',
    'organization.reactivated',
  ]);
});

test('users sign in no more, and their sessions and tokens are refused until the reactivation', async () => {
  const org = await api.setupOrg();
  const client = await addClient(api);
  const scope = `openid offline_access ${API_SCOPE}`;
  const tokens = await tokensOf(api, client, { userId: org.userId, scope, params: { prompt: 'consent' } });
  const robot = await api.machine(org.orgId, ['ORG_OWNER']);
  const { body: secret } = await call('PUT', `/management/v1/users/${robot.userId}/secret`);
  const { body: session } = await must(sessionOf(org));
  const attempts = async () => ({
    signIn: (await sessionOf(org)).status,
    session: (await api.call('GET', `/v2beta/sessions/${session.sessionId}`)).status,
    accessToken: (await api.call('GET', '/management/v1/me', undefined, { token: tokens.access_token })).status,
    userinfo: (await api.call('GET', '/oidc/v1/userinfo', undefined, { token: tokens.access_token })).status,
    isActive: (await post(api, '/oauth/v2/introspect', { token: tokens.access_token }, client)).body.active,
    isPatActive: (await post(api, '/oauth/v2/introspect', { token: robot.token }, client)).body.active,
    machine: (await api.call('GET', '/management/v1/me', undefined, { token: robot.token })).status,
    machineSecret: (await tokenCall(api, { grant_type: 'client_credentials', scope: API_SCOPE }, secret)).status,
  });
  const good = { signIn: 201, session: 200, accessToken: 200, userinfo: 200, isActive: true, isPatActive: true };
  assert.deepEqual(await attempts(), { ...good, machine: 200, machineSecret: 200 });
  await deactivate(org.orgId);
  const refused = { signIn: 400, session: 404, accessToken: 401, userinfo: 401, isActive: false, isPatActive: false };
  assert.deepEqual(await attempts(), { ...refused, machine: 401, machineSecret: 401 });
  const refresh = () => tokenCall(api, { grant_type: 'refresh_token', refresh_token: tokens.refresh_token }, client);
  const ended = await refresh();
  assert.deepEqual([ended.status, ended.body.error], [400, 'invalid_grant']);
  assert.equal(errorId(await sessionOf(org)), 'SESSION-USER-INACTIVE');
  assert.equal(errorId(await sessionOf({ ...org, password: 'a wrong password' })), 'SESSION-CREDENTIALS');
  await reactivate(org.orgId);
  assert.deepEqual(await attempts(), { ...good, machine: 200, machineSecret: 200 });
  assert.equal((await refresh()).status, 200);
});

test('codes neither set a password nor are sent for a forgotten one', async () => {
  const org = await api.setupOrg();
  const { body } = await call('POST', `/v2beta/users/${org.userId}/password_reset`, { returnCode: {} });
  await deactivate(org.orgId);
  const withCode = () =>
    api.call(
      'POST',
      `/v2beta/users/${org.userId}/password`,
      { newPassword: { password: 'another good password' }, verificationCode: body.verificationCode },
      { token: null },
    );
  assert.equal(errorId(await withCode()), 'CODE-INVALID');
  const again = await api.call('POST', `/v2beta/users/${org.userId}/password_reset`, {});
  assert.equal(errorId(again), 'PASSWORD-RESET-INACTIVE');
  await reactivate(org.orgId);
  assert.equal((await withCode()).status, 200);
});

test('a role on it counts for nothing, also of a user of another organization', async () => {
  const [{ orgId }, elsewhere] = [await api.setupOrg(), await api.setupOrg()];
  const manager = await api.machine(elsewhere.orgId);
  await call('POST', '/management/v1/orgs/me/members', { userId: manager.userId, roles: ['ORG_OWNER'] }, { orgId });
  const read = () => api.call('GET', '/management/v1/orgs/me', undefined, { orgId, token: manager.token });
  assert.equal((await read()).status, 200);
  await deactivate(orgId);
  assert.equal((await read()).status, 403);
  await reactivate(orgId);
  assert.equal((await read()).status, 200);
});

test('its imports are paused with all they have, and resumed after the reactivation', async () => {
  const { orgId } = await api.setupOrg();
  const { importId } = (await must(importInto(orgId, peopleOf()))).body;
  const dryRun = await must(api.call('POST', '/admin/v1/import?dryRun=true', bulk(orgId, peopleOf())));
  await deactivate(orgId);
  assert.equal(await stateOf(importId), 'PAUSED');
  assert.equal(await stateOf(dryRun.body.importId), 'CANCELLED');
  const { warnings } = (await call('GET', `/admin/v1/imports/${importId}`)).body;
  assert.match(warnings[0].message, /^The import was paused: the organization .+ was deactivated or deleted\.$/);
  const resume = () => api.call('POST', `/admin/v1/imports/${importId}/_resume`, {});
  assert.equal(errorId(await resume()), 'ORG-INACTIVE');
  await assert.rejects(writeBatch(writer, importId, [0, 1], SETTINGS));
  assert.equal(errorId(await importInto(orgId, peopleOf())), 'ORG-INACTIVE');
  const { user } = entry(unique('single'));
  const single = await api.call('POST', '/management/v1/users/human/_import', user, { orgId });
  assert.equal(errorId(single), 'ORG-INACTIVE');
  await reactivate(orgId);
  assert.equal((await resume()).status, 200);
  await writeBatch(writer, importId, [0, 1], SETTINGS);
  assert.equal(await stateOf(importId), 'SUCCEEDED');
  await deactivate(orgId);
  const late = await api.call('POST', `/admin/v1/imports/${importId}/_send_sign_in_mails`, {});
  assert.equal(errorId(late), 'ORG-INACTIVE');
});

test('an import of its user into another organization is paused, and that of others goes on', async () => {
  const [{ orgId }, home, other] = [await api.setupOrg(), await api.setupOrg(), await api.setupOrg()];
  const robot = await api.machine(home.orgId);
  await call('POST', '/management/v1/orgs/me/members', { userId: robot.userId, roles: ['ORG_OWNER'] }, { orgId });
  const { importId } = (await must(importInto(orgId, peopleOf(), { token: robot.token }))).body;
  const { importId: unrelated } = (await must(importInto(other.orgId, peopleOf()))).body;
  await deactivate(home.orgId);
  assert.deepEqual([await stateOf(importId), await stateOf(unrelated)], ['PAUSED', 'RUNNING']);
  const resume = () => api.call('POST', `/admin/v1/imports/${importId}/_resume`, {});
  assert.equal(errorId(await resume()), 'IMPORT-RIGHTS');
  await reactivate(home.orgId);
  assert.equal((await resume()).status, 200);
});

test('the instance keeps an IAM_OWNER who can sign in', async () => {
  const home = (await call('GET', '/management/v1/orgs/me')).body.org.id;
  assert.equal(errorId(await change(home, '_deactivate')), 'MEMBER-LAST-OWNER');
  const { orgId } = await api.setupOrg();
  const second = await api.machine(orgId);
  await call('POST', '/admin/v1/members', { userId: second.userId, roles: ['IAM_OWNER'] });
  await deactivate(orgId);
  assert.equal(errorId(await change(home, '_deactivate')), 'MEMBER-LAST-OWNER', 'a stopped one does not count');
  const me = (await call('GET', '/management/v1/me')).body.user.userId;
  const removal = await api.call('DELETE', `/admin/v1/members/${me}`);
  assert.equal(errorId(removal), 'MEMBER-LAST-OWNER');
  await reactivate(orgId);
  await deactivate(home);
  assert.equal((await api.call('GET', '/management/v1/me')).status, 401);
  assert.equal((await change(home, '_reactivate', { token: second.token })).status, 200);
  await call('DELETE', `/admin/v1/members/${second.userId}`);
});
