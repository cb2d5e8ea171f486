/** Adding, confirming and removing a second factor over the API. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { addHuman, eventsOf, tokenOf } from '../directory/users/people.ts';
import { type Answer, badFieldsOf, errorId, type SetUp, startApi, type TestApi } from '../support/api.ts';
import { codeAt, wrongCode } from '../support/totp.ts';

let api: TestApi;
let org: SetUp;
let other: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  other = await api.setupOrg();
});
after(() => api.stop());

const newHuman = () => addHuman(api, org.orgId, 'a password');
const path = (userId: string) => `/v2beta/users/${encodeURIComponent(userId)}/totp`;
const add = (userId: string, token?: string) => api.call('POST', path(userId), undefined, { token });
const verify = (userId: string, code: unknown, token?: string) =>
  api.call('POST', `${path(userId)}/verify`, { code }, { token });
const remove = (userId: string, token?: string) => api.call('DELETE', path(userId), undefined, { token });
const problem = ({ status, body }: Answer) => [status, body.code, body.details[0].id];

async function sequenceOf(userId: string): Promise<string> {
  return (await api.call('GET', `/v2beta/users/${userId}`)).body.details.sequence;
}

async function storedOf(userId: string) {
  return (await api.deps.pool.query('select * from user_totp where user_id = $1', [userId])).rows[0];
}

test('users enrol themselves, confirm with a code, and remove the factor again', async () => {
  const userId = await newHuman();
  const token = await tokenOf(api, userId);
  const added = await add(userId, token);
  assert.equal(added.status, 200);
  const { secret, uri, details } = added.body;
  assert.deepEqual(Object.keys(added.body).sort(), ['details', 'secret', 'totpId', 'uri']);
  assert.match(secret, /^[A-Z2-7]{32}$/);
  assert.deepEqual(
    [details.resourceOwner, details.sequence, 'creationDate' in details],
    [org.orgId, await sequenceOf(userId), false],
  );
  assert.equal((await storedOf(userId)).confirmed_at, null);

  const verified = await verify(userId, ` ${codeAt(secret).slice(0, 3)} ${codeAt(secret).slice(3)}`, token);
  assert.deepEqual([verified.status, Object.keys(verified.body)], [200, ['details']]);
  assert.equal(verified.body.details.sequence, await sequenceOf(userId));
  assert.ok((await storedOf(userId)).confirmed_at);

  const removed = await remove(userId, token);
  assert.deepEqual([removed.status, Object.keys(removed.body)], [200, ['details']]);
  assert.equal(removed.body.details.sequence, await sequenceOf(userId));
  assert.equal(await storedOf(userId), undefined);
  assert.deepEqual(await eventsOf(api, userId), [
    'user.human.totp.added',
    'user.human.totp.verified',
    'user.human.totp.removed',
  ]);
  assert.ok(uri.startsWith('otpauth://totp/'));
});

test('the address names the organization, the login name and the secret', async () => {
  const { body } = await add(org.userId);
  const { preferredLoginName } = (await api.call('GET', `/v2beta/users/${org.userId}`)).body.user;
  const { name } = (await api.call('GET', '/management/v1/orgs/me', undefined, { orgId: org.orgId })).body.org;
  const uri = new URL(body.uri);
  assert.equal(decodeURIComponent(uri.pathname), `/${name}:${preferredLoginName}`);
  assert.deepEqual(Object.fromEntries(uri.searchParams), {
    issuer: name,
    secret: body.secret,
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  });
});

test('the secret is stored encrypted, and is in no event', async () => {
  const userId = await newHuman();
  const { secret } = (await add(userId)).body;
  await verify(userId, codeAt(secret));
  const { rows } = await api.deps.pool.query('select e::text as event from events e where aggregate_id = $1', [userId]);
  const kept = JSON.stringify([await storedOf(userId), rows]);
  assert.ok(!kept.includes(secret) && !kept.includes(codeAt(secret)));
  assert.match((await storedOf(userId)).secret, /^[A-Za-z0-9+/]+=*$/);
});

test('adding again replaces a pending app; further ones can be added, up to ten', async () => {
  const userId = await newHuman();
  const first = (await add(userId)).body.secret;
  const second = (await add(userId)).body.secret;
  assert.notEqual(first, second);
  assert.deepEqual(problem(await verify(userId, codeAt(first))), [400, 3, 'TOTP-CODE']);
  assert.equal((await verify(userId, codeAt(second))).status, 200);
  assert.deepEqual(problem(await verify(userId, codeAt(second))), [400, 9, 'TOTP-ACTIVE']);
  const other = (await add(userId)).body.secret;
  assert.equal((await verify(userId, codeAt(other))).status, 200);
  await api.deps.pool.query(
    `insert into user_totp (user_id, id, secret, confirmed_at)
     select user_id, n::text, secret, now() from user_totp, generate_series(2, 9) n where user_id = $1 limit 8`,
    [userId],
  );
  assert.deepEqual(problem(await add(userId)), [400, 9, 'TOTP-LIMIT']);
  assert.equal((await remove(userId)).status, 200);
  assert.equal((await add(userId)).status, 200);
});

test('a wrong code leaves it pending; an invalid code field is named', async () => {
  const userId = await newHuman();
  const { secret } = (await add(userId)).body;
  const wrong = await verify(userId, wrongCode(secret));
  assert.deepEqual([problem(wrong), badFieldsOf(wrong)], [[400, 3, 'TOTP-CODE'], ['code']]);
  for (const code of ['', 123456, undefined, null, ['123456'], '1'.repeat(51)]) {
    const answer = await verify(userId, code);
    assert.deepEqual([problem(answer), badFieldsOf(answer)], [[400, 3, 'TOTP-VERIFY'], ['code']]);
  }
  assert.equal((await verify(userId, codeAt(secret))).status, 200);
});

test('without a factor there is nothing to confirm or remove; a pending one can be removed', async () => {
  const userId = await newHuman();
  assert.deepEqual(problem(await verify(userId, '123456')), [404, 5, 'TOTP-NOT-FOUND']);
  assert.deepEqual(problem(await remove(userId)), [404, 5, 'TOTP-NOT-FOUND']);
  await add(userId);
  assert.equal((await remove(userId)).status, 200);
  assert.deepEqual(problem(await remove(userId)), [404, 5, 'TOTP-NOT-FOUND']);
});

test('a machine user has none', async () => {
  const { userId, token } = await api.machine(org.orgId);
  assert.deepEqual(problem(await add(userId)), [400, 9, 'TOTP-NOT-HUMAN']);
  assert.deepEqual(problem(await add(userId, token)), [400, 9, 'TOTP-NOT-HUMAN']);
});

test('of many parallel confirmations one succeeds', async () => {
  const userId = await newHuman();
  const { secret } = (await add(userId)).body;
  const answers = await Promise.all(Array.from({ length: 6 }, () => verify(userId, codeAt(secret))));
  assert.deepEqual(answers.map((a) => a.status).sort(), [200, 400, 400, 400, 400, 400]);
  assert.deepEqual(await eventsOf(api, userId), ['user.human.totp.added', 'user.human.totp.verified']);
});

test('managers of the user may; all others get 403 whether the user exists or not', async () => {
  const userId = await newHuman();
  const refused = [
    await api.machine(org.orgId, ['ORG_OWNER_VIEWER']),
    await api.machine(org.orgId),
    await api.machine(other.orgId, ['ORG_OWNER', 'ORG_USER_MANAGER']),
  ];
  for (const { token } of refused) {
    for (const id of [userId, 'missing']) {
      const answers = [await add(id, token), await verify(id, {}, token), await remove(id, token)];
      for (const answer of answers) assert.deepEqual(problem(answer), [403, 7, 'AUTH-PERMISSION']);
    }
  }
  for (const role of ['ORG_USER_MANAGER', 'ORG_OWNER']) {
    const { token } = await api.machine(org.orgId, [role]);
    const { secret } = (await add(userId, token)).body;
    assert.equal((await verify(userId, codeAt(secret), token)).status, 200);
    assert.equal((await remove(userId, token)).status, 200);
  }
  for (const answer of [await add('missing'), await verify('missing', '123456'), await remove('missing')]) {
    assert.deepEqual([answer.status, errorId(answer)], [404, 'USER-NOT-FOUND']);
  }
  assert.equal((await api.call('POST', path(userId), undefined, { token: null })).status, 401);
});

test('nobody manages the factor of a user with more rights, or removes that of an owner', async () => {
  const manager = await api.machine(org.orgId, ['ORG_USER_MANAGER']);
  const owner = await api.machine(org.orgId, ['ORG_OWNER']);
  const bossId = await newHuman();
  await api.call(
    'POST',
    '/management/v1/orgs/me/members',
    { userId: bossId, roles: ['ORG_OWNER'] },
    { orgId: org.orgId },
  );
  assert.equal((await add(bossId, manager.token)).status, 403);
  assert.equal((await add(bossId, owner.token)).status, 200);
  assert.equal((await remove(bossId, manager.token)).status, 403);
  assert.equal((await add(bossId, await tokenOf(api, bossId))).status, 200);
});

test('it is deleted with its user', async () => {
  const userId = await newHuman();
  await add(userId);
  assert.equal((await api.call('DELETE', `/v2beta/users/${userId}`)).status, 200);
  assert.equal(await storedOf(userId), undefined);
});
