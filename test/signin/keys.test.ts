import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import test, { after, before } from 'node:test';
import { findKey } from '../../src/signin/machines/keys.ts';
import { type Answer, badFieldsOf, errorId, type SetUp, startApi, type TestApi } from '../support/api.ts';

let api: TestApi;
let org: SetUp;
let other: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  other = await api.setupOrg();
});
after(() => api.stop());

const keys = (userId: string) => `/management/v1/users/${encodeURIComponent(userId)}/keys`;
const fileOf = (answer: Answer) => JSON.parse(Buffer.from(answer.body.keyDetails, 'base64').toString());

test('a key file has the format that published clients read, and the stored key verifies its signatures', async () => {
  const { userId } = await api.machine(org.orgId);
  const made = await api.call('POST', keys(userId), { type: 'KEY_TYPE_JSON' });
  assert.deepEqual([made.status, Object.keys(made.body).sort()], [200, ['details', 'keyDetails', 'keyId']]);
  const { key, ...file } = fileOf(made);
  const { keyId } = made.body;
  assert.deepEqual(file, { type: 'serviceaccount', keyId, userId, expirationDate: '9999-12-31T23:59:59Z' });
  assert.match(key, /^-----BEGIN RSA PRIVATE KEY-----\n[A-Za-z0-9+/=\n]+-----END RSA PRIVATE KEY-----\n$/);
  assert.equal(createPrivateKey(key).asymmetricKeyDetails?.modulusLength, 3072);

  const stored = await findKey(api.deps.pool, keyId);
  assert(stored);
  assert.deepEqual([stored.userId, stored.expiresAt], [userId, null]);
  const { n, e, ...known } = stored.publicJwk;
  assert.deepEqual(known, { kty: 'RSA', kid: keyId, alg: 'RS256', use: 'sig' });
  const text = Buffer.from('text');
  const publicKey = createPublicKey({ key: { kty: 'RSA', n: n as string, e: e as string }, format: 'jwk' });
  assert(verify('sha256', text, publicKey, sign('sha256', text, key)));
});

test('a key with an expiry is listed without its private half, updates the user’s sequence, and is deleted', async () => {
  const { userId } = await api.machine(org.orgId);
  const expirationDate = new Date(Date.now() + 3_600_000).toISOString();
  const made = await api.call('POST', keys(userId), { expiration_date: expirationDate });
  assert.equal(made.status, 200);
  assert.equal(Date.parse(fileOf(made).expirationDate), Date.parse(expirationDate));
  const { keyId, details } = made.body;
  const list = await api.call('GET', keys(userId));
  assert.deepEqual(list.body, {
    details: { totalResult: '1' },
    result: [{ keyId, type: 'KEY_TYPE_JSON', details, expirationDate }],
  });
  assert.deepEqual((await findKey(api.deps.pool, keyId))?.expiresAt, new Date(expirationDate));
  assert.equal((await api.call('GET', `/v2beta/users/${userId}`)).body.details.sequence, details.sequence);

  const removed = await api.call('DELETE', `${keys(userId)}/${keyId}`);
  assert.deepEqual([removed.status, removed.body.details.resourceOwner], [200, org.orgId]);
  assert.equal((await api.call('GET', `/v2beta/users/${userId}`)).body.details.sequence, removed.body.details.sequence);
  assert.equal(await findKey(api.deps.pool, keyId), undefined);
  const again = await api.call('DELETE', `${keys(userId)}/${keyId}`);
  assert.deepEqual([again.status, errorId(again)], [404, 'KEY-NOT-FOUND']);
});

test('neither half of a key is in an event', async () => {
  const { userId } = await api.machine(org.orgId);
  const { keyId } = (await api.call('POST', keys(userId))).body;
  await api.call('DELETE', `${keys(userId)}/${keyId}`);
  const { rows } = await api.deps.pool.query(
    `select type, payload, resource_owner as owner from events
     where aggregate_type = 'user' and aggregate_id = $1 and type like 'user.machine.key.%' order by sequence`,
    [userId],
  );
  assert.deepEqual(rows, [
    { type: 'user.machine.key.added', payload: { keyId }, owner: org.orgId },
    { type: 'user.machine.key.removed', payload: { keyId }, owner: org.orgId },
  ]);
});

test('every invalid field of a key is named', async () => {
  const { userId } = await api.machine(org.orgId);
  const answer = await api.call('POST', keys(userId), { type: 'KEY_TYPE_PEM', expirationDate: '2020-01-01T00:00:00Z' });
  assert.deepEqual([answer.status, badFieldsOf(answer)], [400, ['expirationDate', 'type']]);
  assert.equal((await api.call('GET', keys(userId))).body.details.totalResult, '0');
});

test('a key of another user is not deleted by the wrong path', async () => {
  const [{ userId }, { userId: two }] = [await api.machine(org.orgId), await api.machine(org.orgId)];
  const { keyId } = (await api.call('POST', keys(two))).body;
  assert.equal((await api.call('DELETE', `${keys(userId)}/${keyId}`)).status, 404);
  assert.equal((await api.call('GET', keys(two))).body.details.totalResult, '1');
});

test('a human has no keys', async () => {
  for (const [method, path] of [
    ['GET', keys(org.userId)],
    ['POST', keys(org.userId)],
    ['DELETE', `${keys(org.userId)}/x`],
  ] as const) {
    const answer = await api.call(method, path);
    assert.deepEqual([answer.status, answer.body.code, errorId(answer)], [400, 9, 'KEY-NOT-A-MACHINE']);
  }
});

test('only an ORG_OWNER creates keys, but not for users with more rights', async () => {
  const { userId } = await api.machine(org.orgId);
  for (const { token } of [
    await api.machine(org.orgId, ['ORG_USER_MANAGER', 'ORG_OWNER_VIEWER']),
    await api.machine(other.orgId, ['ORG_OWNER']),
    await api.machine(org.orgId),
  ]) {
    for (const id of [userId, 'missing']) {
      const answer = await api.call('POST', keys(id), '{', { token });
      assert.deepEqual([answer.status, errorId(answer)], [403, 'AUTH-PERMISSION']);
    }
    assert.equal((await api.call('GET', keys(userId), undefined, { token })).status, 403);
    assert.equal((await api.call('DELETE', `${keys(userId)}/x`, undefined, { token })).status, 403);
  }
  assert.equal((await api.call('POST', keys('missing'), {})).status, 404);
  const { token } = await api.machine(org.orgId, ['ORG_OWNER']);
  assert.equal((await api.call('POST', keys(userId), {}, { token })).status, 200);
  const boss = await api.machine(org.orgId);
  await api.call('POST', '/admin/v1/members', { userId: boss.userId, roles: ['IAM_OWNER'] });
  assert.equal((await api.call('POST', keys(boss.userId), {}, { token })).status, 403);
});

test('a user’s keys are deleted with the user', async () => {
  const { userId } = await api.machine(org.orgId);
  const { keyId } = (await api.call('POST', keys(userId))).body;
  await api.call('DELETE', `/v2beta/users/${userId}`);
  assert.equal(await findKey(api.deps.pool, keyId), undefined);
});
