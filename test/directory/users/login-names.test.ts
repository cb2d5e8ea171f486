/** To whom a login name belongs: by name alone, and where the organization is known. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.stop());

interface Twin extends SetUp {
  /** Of this user only. */
  password: string;
}

const twin = async (userName: string, more: object = {}): Promise<Twin> => {
  const password = unique('correct horse');
  return { ...(await api.setupOrg({ human: { userName, password }, ...more })), password };
};
const logIn = async (loginName: string, { password }: Twin, options = {}) => {
  const checks = { user: { loginName }, password: { password } };
  return (await api.call('POST', '/v2beta/sessions', { checks }, options)).status;
};
const rename = (user: Twin, username: string) => api.call('PUT', `/v2beta/users/human/${user.userId}`, { username });
const fullName = async (user: Twin): Promise<string> =>
  (await api.call('GET', `/v2beta/users/${user.userId}`)).body.user.preferredLoginName;

describe('a bare user name', () => {
  it('stays that of the user who had it first; later users sign in with their full names', async () => {
    const name = unique('ann');
    const first = await twin(name);
    const second = await twin(name.toUpperCase());
    assert.equal(await logIn(name, first), 201);
    assert.equal(await logIn(name, second), 400);
    for (const user of [first, second]) assert.equal(await logIn(await fullName(user), user), 201);
  });

  it('passes to the next user when the first one is deleted or renamed, and does not come back', async () => {
    const name = unique('ann');
    const users = [await twin(name), await twin(name), await twin(name)] as const;
    await rename(users[0], unique('other'));
    assert.equal(await logIn(name, users[1]), 201);
    await rename(users[0], name);
    assert.equal(await logIn(name, users[0]), 400);
    assert.equal(await logIn(name, users[1]), 201);
    await api.call('DELETE', `/v2beta/users/${users[1].userId}`);
    assert.equal(await logIn(name, users[2]), 201);
  });

  it('is kept when only its case changes, or anything else of the user', async () => {
    const name = unique('ann');
    const [first, second] = [await twin(name), await twin(name)];
    await rename(first, name.toUpperCase());
    await api.call('PUT', `/v2beta/users/human/${first.userId}`, { profile: { nickName: 'Annie' } });
    assert.equal(await logIn(name, first), 201);
    assert.equal(await logIn(name, second), 400);
  });

  it('of users created by one statement belongs to the organization that sorts first', async () => {
    const name = unique('ann');
    const [one, other] = [await twin(name), await twin(name)];
    const first = one.orgId < other.orgId ? one : other;
    await api.deps.pool.query(`update users set created_at = '2026-01-01' where user_name = $1`, [name]);
    assert.equal(await logIn(name, first), 201);
    assert.equal(await logIn(name, first === one ? other : one), 400);
  });

  it('is found in the organization that the caller names, or has a role on', async () => {
    const name = unique('ann');
    const [first, second] = [await twin(name), await twin(name)];
    assert.equal(await logIn(name, second, { orgId: second.orgId }), 201);
    assert.equal(await logIn(name, first, { orgId: second.orgId }), 400);
    assert.equal(await logIn(await fullName(first), first, { orgId: second.orgId }), 201);
    const { orgId } = await api.setupOrg();
    assert.equal(await logIn(name, first, { orgId }), 201, 'the organization has no such user');
    const { token } = await api.machine(second.orgId, ['ORG_OWNER_VIEWER']);
    assert.equal(await logIn(name, second, { token }), 201);
    const body = { queries: [{ loginNameQuery: { loginName: name } }] };
    const found = async (by?: string) =>
      (await api.call('POST', '/v2beta/users', body, by ? { token: by } : {})).body.result.map(
        (user: { userId: string }) => user.userId,
      );
    assert.deepEqual([await found(), await found(token)], [[first.userId], [second.userId]]);
  });

  it('is not that of a user whom the caller may not see', async () => {
    const domain = `${unique('acme')}.example`;
    const own = await twin(`ann@${domain}`);
    const { token } = await api.machine(own.orgId, ['ORG_OWNER_VIEWER']);
    await twin('ann', { org: { domain } });
    assert.equal(await logIn(`ann@${domain}`, own, { token }), 201);
    const body = { queries: [{ loginNameQuery: { loginName: `ann@${domain}` } }] };
    const { result } = (await api.call('POST', '/v2beta/users', body, { token })).body;
    assert.deepEqual(
      result.map((user: { userId: string }) => user.userId),
      [own.userId],
    );
  });

  it('that is also a full name is the full name, except where the organization of the bare one is named', async () => {
    const domain = `${unique('acme')}.example`;
    const bare = await twin(`ann@${domain}`);
    const full = await twin('ann', { org: { domain } });
    assert.equal(await logIn(`ann@${domain}`, full), 201);
    assert.equal(await logIn(`ann@${domain}`, bare), 400);
    assert.equal(await logIn(`ann@${domain}`, bare, { orgId: bare.orgId }), 201);
  });
});
