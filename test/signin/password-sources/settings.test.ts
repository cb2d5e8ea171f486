/** The settings of password sources: what is shown, what is refused, and whose secret is kept. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { allSettings, findSource, type PasswordVerifier } from '../../../src/signin/password-sources/store.ts';
import { badFieldsOf, errorId, type SetUp, startApi, type TestApi } from '../../support/api.ts';

const PATH = '/management/v1/password_sources';

describe('the settings of password sources', () => {
  const url = 'http://127.0.0.1:1/check';
  let api: TestApi;
  let org: SetUp;
  before(async () => {
    api = await startApi({ env: { PASSWORD_SOURCE_ALLOW_PRIVATE: 'true' } });
    org = await api.setupOrg();
  });
  after(() => api.stop());

  async function addSource(body: Record<string, unknown>): Promise<string> {
    const answer = await api.call('POST', PATH, { name: 'Old shop', ...body }, { orgId: org.orgId });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body.sourceId;
  }

  it('are added with a secret that is shown once and stored encrypted', async () => {
    const settings = { url: 'ldaps://ldap.acme.example', searchBase: 'dc=a', searchFilter: '(uid={name})' };
    const secret = { bindDn: 'cn=b', bindPassword: 'not shown' };
    const id = await addSource({ kind: 'ldap', settings: { ...settings, ...secret }, until: '2099-01-01T00:00:00Z' });
    const { body } = await api.call('GET', `${PATH}/${id}`);
    const { details, ...shown } = body.passwordSource;
    assert.deepEqual(shown, {
      sourceId: id,
      name: 'Old shop',
      kind: 'ldap',
      state: 'PASSWORD_SOURCE_STATE_ACTIVE',
      settings: { ...settings, bindDn: 'cn=b' },
      userName: '{userName}',
      timeoutMs: 5000,
      checksPerSecond: 10,
      until: '2099-01-01T00:00:00.000Z',
      endDate: null,
    });
    assert.equal(details.resourceOwner, org.orgId);
    const { rows } = await api.deps.pool.query('select * from password_sources');
    assert.doesNotMatch(JSON.stringify(rows), /not shown|whsec_/);
    const list = await api.call('GET', PATH, undefined, { orgId: org.orgId });
    assert.doesNotMatch(JSON.stringify(list.body), /not shown|whsec_|secret/i);
    const made = await api.call('POST', PATH, { name: 'x', kind: 'http', settings: { url } }, { orgId: org.orgId });
    assert.match(made.body.secret, /^whsec_/);
  });

  it('are refused with every invalid field', async () => {
    const add = (body: unknown) => api.call('POST', PATH, body, { orgId: org.orgId });
    const settings = { url: 'https://ldap', bindDn: 'cn=x', searchFilter: '(uid=ann)' };
    const ldap = await add({ kind: 'ldap', settings, userName: 'ann', timeoutMs: 1, until: '2020-01-01T00:00:00Z' });
    assert.equal(errorId(ldap), 'PASSWORD-SOURCE-INVALID');
    const fields = badFieldsOf(ldap);
    for (const field of ['name', 'userName', 'timeoutMs', 'until', 'settings.url', 'settings.searchFilter']) {
      assert.ok(fields.includes(field), `${field} in ${fields}`);
    }
    assert.equal(errorId(await add({ name: 'x', kind: 'saml', settings: {} })), 'PASSWORD-SOURCE-INVALID');
    const anonymous = { url: 'ldaps://l', searchBase: 'dc=a', searchFilter: '(uid={name})', bindPassword: 'x' };
    const missing = await add({ name: 'x', kind: 'ldap', settings: anonymous });
    assert.deepEqual(badFieldsOf(missing), ['settings.bindDn']);
  });

  it('keep a secret, but never for another address', async () => {
    const settings = {
      url: 'ldaps://ldap.acme.example',
      searchBase: 'dc=a',
      searchFilter: '(uid={name})',
      bindDn: 'cn=b',
    };
    const id = await addSource({ kind: 'ldap', settings: { ...settings, bindPassword: 'first' } });
    const put = (change: object, more: object = {}) =>
      api.call('PUT', `${PATH}/${id}`, { name: 'x', kind: 'ldap', settings: { ...settings, ...change }, ...more });
    const password = async () =>
      allSettings(api.deps.secrets, (await findSource(api.deps.pool, id)) as PasswordVerifier).bindPassword;
    assert.equal((await put({ searchBase: 'dc=b' })).status, 200);
    assert.equal(await password(), 'first');
    const moved = await put({ url: 'ldaps://evil.example' });
    assert.deepEqual([errorId(moved), badFieldsOf(moved)], ['PASSWORD-SOURCE-INVALID', ['settings.bindPassword']]);
    assert.equal((await put({ url: 'ldaps://new.example', bind_password: 'second' })).status, 200);
    assert.equal(await password(), 'second');
    const own = { url: 'ldaps://new.example', userDn: 'uid={name}' };
    assert.equal((await api.call('PUT', `${PATH}/${id}`, { name: 'x', kind: 'ldap', settings: own })).status, 200);
    assert.equal(await password(), undefined);

    assert.deepEqual(badFieldsOf(await put({ url: 'http://x' }, { timeoutMs: 1 })), [
      'settings.bindPassword',
      'settings.url',
      'timeoutMs',
    ]);
    const kind = await api.call('PUT', `${PATH}/${id}`, { name: 'x', kind: 'http', settings: { url } });
    assert.deepEqual(badFieldsOf(kind), ['kind']);
    assert.equal(errorId(await api.call('PUT', `${PATH}/${id}`, [])), 'PASSWORD-SOURCE-INVALID');
    await api.call('POST', `${PATH}/${id}/_end`, {});
    const late = await api.call('PUT', `${PATH}/${id}`, { name: 'x', kind: 'ldap', settings: own });
    assert.deepEqual([late.status, errorId(late)], [400, 'PASSWORD-SOURCE-ENDED']);
    assert.equal((await api.call('PUT', `${PATH}/none`, {})).status, 404);
  });
});
