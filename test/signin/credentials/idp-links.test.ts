/** Links of users to their accounts at providers over the API: who may add and remove them, and what stays a way in. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { addHuman, addVerified, eventsOf, tokenOf } from '../../directory/users/people.ts';
import { type Answer, errorId, type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';
import { addLinkRow, addProvider, removeProviders } from '../../support/idp-rows.ts';

let api: TestApi;
let org: SetUp;
let other: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  other = await api.setupOrg();
});
after(() => api.stop());
afterEach(() => removeProviders(api.deps.pool));

const OLD_S = 301;
const PASSWORD = 'a password';
const links = (userId: string) => `/v2beta/users/${encodeURIComponent(userId)}/links`;
const refusal = (answer: Answer) => [answer.status, errorId(answer)];
const add = (userId: string, idpLink: object, token?: string) =>
  api.call('POST', links(userId), { idpLink }, { token });
const remove = (userId: string, idpId: string, subject: string, given: { token?: string; body?: object } = {}) =>
  api.call('DELETE', `${links(userId)}/${encodeURIComponent(idpId)}/${encodeURIComponent(subject)}`, given.body, given);
const list = async (userId: string) => (await api.call('GET', links(userId))).body.result;

async function mailsOf(userId: string): Promise<string[][]> {
  const { rows } = await api.deps.pool.query<{ kind: string; address: string }>(
    'select kind, address from mail_outbox where user_id = $1 order by id',
    [userId],
  );
  return rows.map(({ kind, address }) => [kind, address]);
}

describe('a manager', () => {
  it('adds and removes a link, with an event and a mail each', async () => {
    const userId = await addHuman(api, org.orgId, PASSWORD);
    const { token } = await api.machine(org.orgId, ['ORG_USER_MANAGER']);
    const subject = unique('auth0|a/b');
    const link = { idpId: 'google-oauth2', userId: subject, userName: 'ann@gmail.example' };
    const added = await add(userId, link, token);
    assert.deepEqual([added.status, Object.keys(added.body)], [200, ['details']]);
    assert.deepEqual(await list(userId), [link]);
    const removed = await remove(userId, 'google-oauth2', subject, { token });
    assert.equal(removed.status, 200, JSON.stringify(removed.body));
    assert.deepEqual(await list(userId), []);
    assert.deepEqual(await eventsOf(api, userId), ['user.human.link.added', 'user.human.link.removed']);
    assert.deepEqual(await mailsOf(userId), [
      ['link_added', 'ann@example.com'],
      ['link_removed', 'ann@example.com'],
    ]);
    assert.deepEqual(refusal(await remove(userId, 'google-oauth2', subject, { token })), [404, 'IDP-LINK-NOT-FOUND']);
  });

  it('sees which provider a link belongs to, and removes it by the id of the provider', async () => {
    const userId = await addHuman(api, org.orgId, PASSWORD);
    const idpId = await addProvider(api.deps.pool, { name: 'Google', aliases: ['google-oauth2', 'google.com'] });
    await add(userId, { idpId: 'Google.COM', userId: '1' });
    const [link] = await list(userId);
    assert.deepEqual(link, { idpId: 'Google.COM', userId: '1', userName: '', provider: { idpId, name: 'Google' } });
    assert.equal((await remove(userId, idpId, '1')).status, 200);
  });

  it('cannot give an account to a second user of the organization, under any of its names', async () => {
    const [one, two] = [await addHuman(api, org.orgId), await addHuman(api, org.orgId)];
    const elsewhere = await addHuman(api, other.orgId);
    const idpId = await addProvider(api.deps.pool, { aliases: ['google-oauth2', 'google.com'] });
    const userId = unique('g');
    assert.equal((await add(one, { idpId: 'google-oauth2', userId })).status, 200);
    for (const name of ['google-oauth2', 'Google.com', idpId]) {
      for (const user of [one, two]) {
        assert.deepEqual(refusal(await add(user, { idpId: name, userId })), [409, 'IDP-LINK-HELD'], name);
      }
    }
    assert.equal((await add(elsewhere, { idpId, userId })).status, 200);
    assert.equal((await add(two, { idpId: 'github', userId })).status, 200);
  });

  it('cannot do so with a new user either, which would keep out somebody with more rights', async () => {
    const owner = await addHuman(api, org.orgId);
    await api.call(
      'POST',
      '/management/v1/orgs/me/members',
      { userId: owner, roles: ['ORG_OWNER'] },
      { orgId: org.orgId },
    );
    await addProvider(api.deps.pool, { aliases: ['google-oauth2', 'google.com'] });
    const subject = unique('g');
    assert.equal((await add(owner, { idpId: 'google-oauth2', userId: subject })).status, 200);
    const { token } = await api.machine(org.orgId, ['ORG_USER_MANAGER']);
    const create = (userId: string) => {
      const person = { profile: { givenName: 'Eve', familyName: 'Example' }, email: { email: 'eve@acme.example' } };
      const idpLinks = [{ idpId: 'Google.com', userId, userName: 'Eve' }];
      const body = { username: unique('eve'), ...person, idpLinks, organization: { orgId: org.orgId } };
      return api.call('POST', '/v2beta/users/human', body, { token });
    };
    assert.deepEqual(refusal(await create(subject)), [409, 'IDP-LINK-HELD']);
    assert.equal((await create(unique('g'))).status, 200);
  });

  it('cannot do so at the same moment either', async () => {
    const users = await Promise.all(Array.from({ length: 4 }, () => addHuman(api, org.orgId)));
    const userId = unique('g');
    const answers = await Promise.all(users.map((user) => add(user, { idpId: 'google', userId })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409]);
  });

  it('links nothing to a machine user, and nothing without a name', async () => {
    const { userId } = await api.machine(org.orgId);
    assert.deepEqual(refusal(await add(userId, { idpId: 'google', userId: '1' })), [400, 'USER-NOT-HUMAN']);
    const human = await addHuman(api, org.orgId);
    assert.deepEqual(refusal(await add(human, { idpId: '', userId: '1' })), [400, 'IDP-LINK-INVALID']);
    assert.deepEqual(refusal(await add(human, { idpId: 'google' })), [400, 'IDP-LINK-INVALID']);
  });
});

describe('users', () => {
  it('cannot link an account by naming it', async () => {
    const userId = await addHuman(api, org.orgId, PASSWORD);
    const answer = await add(userId, { idpId: 'google', userId: '1' }, await tokenOf(api, userId));
    assert.deepEqual(refusal(answer), [403, 'AUTH-PERMISSION']);
  });

  it('who manage others link an account to themselves only after a recent sign-in', async () => {
    const userId = await addHuman(api, org.orgId, PASSWORD);
    const member = { userId, roles: ['ORG_USER_MANAGER'] };
    await api.call('POST', '/management/v1/orgs/me/members', member, { orgId: org.orgId });
    const link = { idpId: 'google', userId: unique('g') };
    assert.deepEqual(refusal(await add(userId, link, await tokenOf(api, userId, OLD_S))), [401, 'AUTH-SIGN-IN-AGAIN']);
    const wrong = { idpLink: link, currentPassword: 'wrong' };
    const guessed = await api.call('POST', links(userId), wrong, { token: await tokenOf(api, userId, OLD_S) });
    assert.deepEqual(refusal(guessed), [400, 'PASSWORD-CURRENT']);
    assert.equal((await add(userId, link, await tokenOf(api, userId))).status, 200);
    assert.deepEqual(await mailsOf(userId), [], 'the address is not verified');
  });

  it('remove their own after a recent sign-in or with the password, and are told at a verified address', async () => {
    const userId = await addVerified(api, org.orgId, PASSWORD);
    for (const subject of ['1', '2']) await addLinkRow(api.deps.pool, userId, 'google', subject);
    const old = await tokenOf(api, userId, OLD_S);
    assert.deepEqual(refusal(await remove(userId, 'google', '1', { token: old })), [401, 'AUTH-SIGN-IN-AGAIN']);
    const wrong = { token: old, body: { currentPassword: 'wrong' } };
    assert.deepEqual(refusal(await remove(userId, 'google', '1', wrong)), [400, 'PASSWORD-CURRENT']);
    assert.equal((await list(userId)).length, 2);
    const proven = { token: old, body: { currentPassword: PASSWORD } };
    assert.equal((await remove(userId, 'google', '1', proven)).status, 200);
    assert.equal((await remove(userId, 'google', '2', { token: await tokenOf(api, userId) })).status, 200);
    assert.deepEqual(
      (await mailsOf(userId)).map(([kind]) => kind),
      ['link_removed', 'link_removed'],
    );
  });

  it('keep a way in: a password, a code by mail at a verified address, or another link that works', async () => {
    const { pool } = api.deps;
    const LAST = [400, 'IDP-LINK-LAST-WAY'];
    const without = async (make: (userId: string) => Promise<unknown>, verified = false) => {
      const userId = await (verified ? addVerified : addHuman)(api, org.orgId);
      await pool.query(`update users set state = 'active' where id = $1`, [userId]);
      const subject = unique('s');
      await addLinkRow(pool, userId, 'google', subject);
      await make(userId);
      const answer = await remove(userId, 'google', subject, { token: await tokenOf(api, userId) });
      const left = (await list(userId)).some((link: { userId: string }) => link.userId === subject);
      assert.equal(left, answer.status !== 200);
      return answer.status === 200 ? 200 : refusal(answer);
    };
    const nothing = async () => undefined;
    const policy = (mailCode: string) =>
      api.call('PUT', '/management/v1/policies/login', { mailCode }, { orgId: org.orgId });
    await api.call('POST', '/management/v1/policies/login', { mailCode: 'withoutPassword' }, { orgId: org.orgId });
    await addProvider(pool, { aliases: ['google', 'github'] });
    assert.equal(await without(nothing, true), 200);
    assert.deepEqual(await without(nothing), LAST);
    await policy('off');
    assert.deepEqual(await without(nothing, true), LAST);
    assert.equal(await without((userId) => addLinkRow(pool, userId, 'github', unique('h'))), 200);
    assert.deepEqual(await without((userId) => addLinkRow(pool, userId, 'nobody', unique('h'))), LAST);
    const shared = unique('h');
    await addLinkRow(pool, await addHuman(api, org.orgId), 'GitHub', shared);
    assert.deepEqual(await without((userId) => addLinkRow(pool, userId, 'github', shared)), LAST);
    await pool.query(`update idps set settings = settings || '{"isEnabled": false}'`);
    assert.deepEqual(await without((userId) => addLinkRow(pool, userId, 'github', unique('h'))), LAST);
  });
});
