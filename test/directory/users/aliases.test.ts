/** Paths and shapes that published scripts for ZITADEL use. */
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { errorId, type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi({ env: { RATE_LIMIT_LOGINS: '4' } });
  org = await api.setupOrg({ human: { phone: { phone: '+41791234567', isPhoneVerified: true } } });
});
after(() => api.stop());

test('/v2/users and /v2/sessions are /v2beta, with everything below them', async () => {
  const human = { profile: { givenName: 'Bob', familyName: 'Burns' }, email: { email: 'bob@example.com' } };
  const made = await api.call('POST', '/v2/users/human', { username: unique('bob'), ...human }, { orgId: org.orgId });
  assert.equal(made.status, 200, JSON.stringify(made.body));
  const { userId } = made.body;
  const later = await api.call('GET', `/v2/users/${userId}?x=/v2/users`);
  assert.deepEqual(later.body, (await api.call('GET', `/v2beta/users/${userId}`)).body);
  assert.equal((await api.call('POST', '/v2/users', {})).status, 200);
  assert.equal((await api.call('POST', `/v2/users/${userId}/deactivate`, {})).status, 200);
  const checks = { user: { userId: org.userId }, password: { password: org.password } };
  const session = await api.call('POST', '/v2/sessions', { checks });
  assert.equal(session.status, 201);
  assert.equal((await api.call('DELETE', `/v2/sessions/${session.body.sessionId}`)).status, 200);

  const wrong = await api.call('PATCH', '/v2/users/human');
  assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'OPTIONS, POST']);
  for (const path of ['/v2/users/x', '/v2/nothing', '/v2']) {
    assert.equal((await api.call('GET', path, undefined, { token: null })).status, 401, path);
  }
  for (const path of ['/v2/usersx', '/v2/orgs', '/v2']) assert.equal((await api.call('GET', path)).status, 404, path);
});

test('an alias counts as an attempt too', async () => {
  const attempts = ['/v2/sessions', '/v2beta/sessions', '/v2/users/x/password', '/V2/sessions/'];
  const statuses = [];
  for (const path of attempts) statuses.push((await api.call('POST', path, {})).status);
  assert.equal(statuses.at(-1), 429, String(statuses)); // with the one above
});

test('/auth/v1/users/me is the caller, with the names of earlier versions', async () => {
  const { userId, token } = await api.machine(org.orgId);
  const mine = await api.call('GET', '/auth/v1/users/me', undefined, { token });
  assert.equal(mine.status, 200);
  const { user } = mine.body;
  assert.deepEqual([user.id, user.details.resourceOwner, user.state], [userId, org.orgId, 'USER_STATE_ACTIVE']);
  assert.match(user.details.creationDate, /Z$/);
  assert.deepEqual([typeof user.userName, user.human, user.machine.hasSecret], ['string', undefined, false]);
});

test('/management/v1/users/_search finds users of one organization, with the names of earlier versions', async () => {
  const search = (body: object, options = {}) => api.call('POST', '/management/v1/users/_search', body, options);
  const queries = [{ userNameQuery: { userName: org.userName, method: 'TEXT_QUERY_METHOD_EQUALS' } }];
  const { status, body } = await search(
    { query: { offset: '0', limit: 10, asc: true }, queries },
    { orgId: org.orgId },
  );
  assert.deepEqual([status, body.details.totalResult], [200, '1']);
  const [{ details, preferredLoginName, loginNames, ...user }] = body.result;
  assert.deepEqual([details.resourceOwner, loginNames[0]], [org.orgId, preferredLoginName]);
  assert.deepEqual(user, {
    id: org.userId,
    state: 'USER_STATE_ACTIVE',
    userName: org.userName,
    human: {
      profile: {
        firstName: 'Ann',
        lastName: 'Arbor',
        nickName: '',
        displayName: 'Ann Arbor',
        preferredLanguage: '',
        gender: 'GENDER_UNSPECIFIED',
        avatarUrl: '',
      },
      email: { email: 'ann@example.com', isEmailVerified: true },
      phone: { phone: '+41791234567', isPhoneVerified: true },
    },
  });
  // Only of that organization: by default, the caller's own.
  assert.equal((await search({ queries })).body.details.totalResult, '0');
  const { token } = await api.machine(org.orgId, ['ORG_OWNER_VIEWER']);
  assert.equal((await search({ queries }, { token })).body.details.totalResult, '1');
  const other = (await api.setupOrg()).orgId;
  const foreign = await search({}, { token, orgId: other });
  assert.deepEqual([foreign.status, errorId(foreign)], [403, 'AUTH-PERMISSION']);
});

test('links and providers have the paths and names of ZITADEL', async () => {
  const provider = { type: 'google', name: 'Google', clientId: 'muster', clientSecret: 'a secret' };
  const added = await api.call('POST', '/admin/v1/idps', provider);
  assert.equal(added.body.id, added.body.idpId, JSON.stringify(added.body));
  const { body: shown } = await api.call('GET', `/admin/v1/idps/${added.body.id}`);
  assert.equal(shown.idp.id, added.body.idpId);
  const { body: listed } = await api.call('GET', '/admin/v1/idps');
  assert.deepEqual(
    listed.result.map(({ id }: { id: string }) => id),
    [added.body.idpId],
  );
  const path = `/v2/users/${org.userId}/links`;
  for (const userId of ['7001', '7002', '7003']) {
    const idpLink = { idpId: 'google-oauth2', userId, userName: 'ann' };
    const { status, body } = await api.call('POST', path, { idpLink });
    assert.equal(status, 200, JSON.stringify(body));
  }
  const search = async (body: unknown) => (await api.call('POST', `${path}/_search`, body)).body;
  const all = (await api.call('GET', path)).body;
  assert.equal(all.details.totalResult, '3');
  assert.deepEqual(await search({}), all);
  assert.deepEqual((await search({ query: { offset: '1', limit: 1, asc: true } })).result, all.result.slice(1, 2));
  assert.deepEqual((await search({ query: { asc: false } })).result, all.result.toReversed());
  assert.equal(errorId(await api.call('POST', `${path}/_search`, { query: { limit: -1 } })), 'IDP-LINK-INVALID');
  const { token } = await api.machine((await api.setupOrg()).orgId, ['ORG_OWNER']);
  assert.equal((await api.call('POST', `${path}/_search`, {}, { token })).status, 403);
});
