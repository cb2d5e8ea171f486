/** Names that nobody can tell from each other: refused with characters that nobody sees, one name where they look equal. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { badFieldsOf, errorId, type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
});
after(() => api.stop());

const profile = { givenName: 'Bo', familyName: 'Bay' };
const PASSWORD = 'Correct horse 9!';
const create = (change: object = {}) => {
  const email = { email: `${unique('bo')}@acme.example`, isVerified: true };
  const body = { profile, email, password: { password: PASSWORD, changeRequired: false }, ...change };
  return api.call('POST', '/v2beta/users/human', body, { orgId: org.orgId });
};
const logIn = async (loginName: string) => {
  const checks = { user: { loginName }, password: { password: PASSWORD } };
  return (await api.call('POST', '/v2beta/sessions', { checks }, { orgId: org.orgId })).status;
};

describe('a character that nobody sees', () => {
  it('is refused in the user name and in the address of a human, and the error names the field', async () => {
    const cases: [object, string][] = [
      [{ username: 'bo\u200bb' }, 'username'],
      [{ username: 'bo\u00a0b' }, 'username'],
      [{ email: { email: 'b\u00adob@acme.example', isVerified: true } }, 'email.email'],
      [{ email: { email: 'bob@acme\u200e.example', isVerified: true } }, 'email.email'],
    ];
    for (const [change, field] of cases) {
      const answer = await create(change);
      assert.equal(answer.status, 400, JSON.stringify(change));
      assert.deepEqual(badFieldsOf(answer), [field]);
      assert.match(JSON.stringify(answer.body), /must not contain the invisible character U\+/);
    }
  });

  it('is refused when a user or an address is changed, and in the names of machines and new organizations', async () => {
    const { userId } = (await create()).body;
    const calls: [method: string, path: string, body: object][] = [
      ['PUT', `/v2beta/users/human/${userId}`, { username: 'b\u2060o' }],
      ['POST', `/v2beta/users/${userId}/email`, { email: 'b\u200bo@acme.example', isVerified: true }],
      ['POST', '/management/v1/users/machine', { userName: 'b\u200bot', name: 'Bot' }],
    ];
    for (const [method, path, body] of calls) {
      const answer = await api.call(method, path, body, { orgId: org.orgId });
      assert.equal(answer.status, 400, `${method} ${path}: ${JSON.stringify(answer.body)}`);
      assert.equal(badFieldsOf(answer).length, 1);
    }
  });

  it('does not matter in what somebody types to sign in', async () => {
    const username = unique('typed');
    assert.equal((await create({ username })).status, 200);
    for (const typed of [`${username}\u200b`, `\u200e${username.toUpperCase()}`]) assert.equal(await logIn(typed), 201);
  });
});

describe('names that look equal', () => {
  it('are taken', async () => {
    const name = unique('fi');
    assert.equal((await create({ username: name })).status, 200);
    for (const username of [name.replace('fi', 'ﬁ'), name.replace('f', 'ｆ'), name.toUpperCase()]) {
      assert.equal(errorId(await create({ username })), 'USER-NAME-TAKEN', username);
    }
  });

  it('sign in as one: an address in punycode, in Unicode, and with quotes that it does not need', async () => {
    const local = unique('nina');
    const puny = { email: `${local}@xn--mnchen-3ya.example`, isVerified: true };
    const dotted = { email: `"${local}..x"@acme.example`, isVerified: true };
    assert.equal((await create({ username: unique('n'), email: puny })).status, 200);
    assert.equal((await create({ username: unique('n'), email: dotted })).status, 200);
    for (const typed of [
      `${local}@münchen.example`,
      `${local}@MÜNCHEN.example`,
      `${local}@xn--mnchen-3ya.example`,
      `${local}..x@acme.example`,
      `"${local}..x"@acme.example`,
    ])
      assert.equal(await logIn(typed), 201, typed);
  });

  it('sign in with the domain of the organization in punycode and in Unicode', async () => {
    for (const domain of [`${unique('d')}-xn.xn--mnchen-3ya.example`, `${unique('d')}.münchen.example`]) {
      const userName = unique('dora');
      const set = await api.setupOrg({ human: { userName, password: PASSWORD }, org: { domain } });
      for (const typed of [
        domain,
        domain.replace('xn--mnchen-3ya', 'münchen'),
        domain.replace('münchen', 'xn--mnchen-3ya'),
      ])
        assert.equal(await logIn(`${userName}@${typed}`), 201, `${typed} ${set.orgId}`);
    }
  });
});
