import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { errorId, type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';

let api: TestApi;
let org: SetUp;
let other: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  other = await api.setupOrg();
});
after(() => api.stop());

const get = (userId: string, options = {}, rest = '') =>
  api.call('GET', `/v2beta/users/${encodeURIComponent(userId)}${rest}`, undefined, options);

test('a human has exactly the documented form, including empty and false scalars', async () => {
  const { status, body } = await get(org.userId);
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(body.details).sort(), ['changeDate', 'resourceOwner', 'sequence']);
  assert.equal(body.details.resourceOwner, org.orgId);
  const { primaryDomain } = (await api.call('GET', `/admin/v1/orgs/${org.orgId}`)).body.org;
  const full = `${org.userName}@${primaryDomain}`;
  const common = {
    userId: org.userId,
    state: 'USER_STATE_ACTIVE',
    username: org.userName,
    loginNames: [full, org.userName],
    preferredLoginName: full,
  };
  assert.deepEqual(body.user, {
    ...common,
    human: {
      ...common,
      profile: {
        givenName: 'Ann',
        familyName: 'Arbor',
        nickName: '',
        displayName: 'Ann Arbor',
        preferredLanguage: '',
        gender: 'GENDER_UNSPECIFIED',
        avatarUrl: '',
      },
      email: { email: 'ann@example.com', isVerified: true },
      passwordChangeRequired: false,
    },
  });
});

test('a machine has exactly the documented form', async () => {
  const { userId } = await api.machine(org.orgId);
  const { user } = (await get(userId)).body;
  assert.equal(user.human, undefined);
  assert.deepEqual(user.machine, {
    name: user.username,
    description: '',
    hasSecret: false,
    accessTokenType: 'ACCESS_TOKEN_TYPE_BEARER',
  });
});

test('every state is returned by its name', async () => {
  const { userId } = await api.machine(org.orgId);
  for (const state of ['INACTIVE', 'LOCKED', 'INITIAL', 'ACTIVE']) {
    await api.deps.pool.query('update users set state = $2 where id = $1', [userId, state.toLowerCase()]);
    assert.equal((await get(userId)).body.user.state, `USER_STATE_${state}`);
  }
});

test('metadata and provider links', async () => {
  const { pool } = api.deps;
  await pool.query('insert into user_metadata values ($1, $2, $3)', [org.userId, 'plan', Buffer.from([0, 255, 16])]);
  await pool.query('insert into user_idp_links values ($1, $2, $3, $4)', [org.userId, 'google', 'g-1', 'ann@gmail']);
  const metadata = await get(org.userId, {}, '/metadata');
  assert.deepEqual(metadata.body, { details: { totalResult: '1' }, result: [{ key: 'plan', value: 'AP8Q' }] });
  const links = await get(org.userId, {}, '/links');
  const link = { idpId: 'google', userId: 'g-1', userName: 'ann@gmail' };
  assert.deepEqual(links.body, { details: { totalResult: '1' }, result: [link] });
});

test('the user and any role of the organization may read; for others the user looks missing', async () => {
  for (const role of ['ORG_OWNER', 'ORG_USER_MANAGER', 'ORG_OWNER_VIEWER']) {
    const { token } = await api.machine(org.orgId, [role]);
    assert.equal((await get(org.userId, { token })).status, 200);
  }
  const itself = await api.machine(org.orgId);
  assert.equal((await get(itself.userId, itself)).status, 200);
  const outsider = await api.machine(other.orgId, ['ORG_OWNER']);
  for (const rest of ['', '/metadata', '/links']) {
    const refused = [
      await get(org.userId, itself, rest),
      await get(org.userId, outsider, rest),
      await get('missing', outsider, rest),
    ];
    assert.deepEqual(
      refused.map((a) => [a.status, errorId(a)]),
      Array(3).fill([403, 'AUTH-PERMISSION']),
    );
    assert.equal(new Set(refused.map((a) => JSON.stringify(a.body))).size, 1);
    const missing = await get('missing', {}, rest);
    assert.deepEqual([missing.status, missing.body.code, errorId(missing)], [404, 5, 'USER-NOT-FOUND']);
  }
});

test('ids with odd characters survive percent-encoded in the path', async () => {
  const userId = `auth0|6042:a@b/ü ${unique('x')}`;
  const made = await api.call(
    'POST',
    '/management/v1/users/machine',
    { userId, userName: unique('odd'), name: 'Odd' },
    { orgId: org.orgId },
  );
  assert.equal(made.body.userId, userId);
  assert.equal((await get(userId)).body.user.userId, userId);
});

test('nothing tells that another organization has the same user name', async () => {
  const userName = `${unique('Zoe')}\u0308`;
  const names = async (userId: string) => (await get(userId)).body.user.loginNames.map((n: string) => n.split('@')[1]);
  const one = await api.setupOrg({ human: { userName } });
  const before = await names(one.userId);
  const two = await api.setupOrg({ human: { userName: userName.normalize('NFC').toUpperCase() } });
  assert.deepEqual([await names(one.userId), (await names(two.userId)).length], [before, before.length]);
});
