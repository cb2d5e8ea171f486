/** The login policy of an organization and of the instance: second factors, codes by mail, and mails of imports. */
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { type Answer, badFieldsOf, errorId, startApi, type TestApi } from '../support/api.ts';
import { codeAt, wrongCode } from '../support/totp.ts';
import { addHuman } from './users/people.ts';

const OF_ORG = '/management/v1/policies/login';
const DEFAULT = '/management/v1/policies/default/login';
const OF_INSTANCE = '/admin/v1/policies/login';
const PASSWORD = 'correct horse';
const DEFAULTS = {
  forceMfa: false,
  mailCode: 'withoutPassword',
  smsCode: 'off',
  initMail: 'always',
  linking: 'refuse',
  passkeys: true,
  deleteAccount: false,
};

describe('the login policy', () => {
  let api: TestApi;
  let orgId: string;
  let owner: string;
  before(async () => {
    api = await startApi({ env: { LOGIN_DELAY_MS: '0' } });
  });
  beforeEach(async () => {
    ({ orgId } = await api.setupOrg());
    owner = (await api.machine(orgId, ['ORG_OWNER'])).token;
  });
  afterEach(() => api.call('PUT', OF_INSTANCE, DEFAULTS));
  after(() => api.stop());

  const call = (method: string, path: string, body?: unknown, token = owner) => api.call(method, path, body, { token });
  const policy = async () => (await call('GET', OF_ORG)).body.policy;
  const events = async (id: string) => {
    const text = `select type, payload from events where aggregate_id = $1 and type like '%.policy.login.%' order by sequence`;
    return (await api.deps.pool.query(text, [id])).rows;
  };
  const signIn = (userId: string, password = PASSWORD, code?: string) => {
    const checks = { user: { userId }, password: { password }, ...(code ? { totp: { code } } : {}) };
    return api.call('POST', '/v2beta/sessions', { checks });
  };
  const result = (answer: Answer) => (answer.status === 201 ? 'signed in' : errorId(answer));

  it('is off by default, is added, changed and reset, each with its event', async () => {
    const { details, ...rest } = await policy();
    assert.deepEqual([rest, details.resourceOwner], [{ ...DEFAULTS, isDefault: true }, 'instance']);
    const added = await call('POST', OF_ORG, { forceMfa: true });
    assert.deepEqual(await policy(), { details: added.body.details, ...DEFAULTS, forceMfa: true, isDefault: false });
    const again = await call('POST', OF_ORG, { forceMfa: true });
    assert.deepEqual([again.status, errorId(again)], [409, 'POLICY-LOGIN-EXISTS']);
    assert.equal(again.body.message, 'The organization already has a login policy.');
    assert.equal((await call('PUT', OF_ORG, { forceMfa: false })).status, 200);
    assert.equal((await policy()).forceMfa, false);
    assert.equal((await call('DELETE', OF_ORG)).status, 200);
    assert.equal((await policy()).isDefault, true);
    const of = (change: string) => `organization.policy.login.${change}`;
    assert.deepEqual(await events(orgId), [
      { type: of('added'), payload: { ...DEFAULTS, forceMfa: true } },
      { type: of('changed'), payload: DEFAULTS },
      { type: of('reset'), payload: null },
    ]);
  });

  it('is the instance’s until the organization has its own', async () => {
    assert.equal((await api.call('PUT', OF_INSTANCE, { forceMfa: true })).status, 200);
    assert.deepEqual((await events('instance')).at(-1), {
      type: 'instance.policy.login.changed',
      payload: { ...DEFAULTS, forceMfa: true },
    });
    assert.equal((await policy()).forceMfa, true);
    assert.equal((await call('GET', DEFAULT)).body.policy.forceMfa, true);
    const userId = await addHuman(api, orgId, PASSWORD);
    assert.equal(result(await signIn(userId)), 'SESSION-MFA-SETUP-REQUIRED');
    await call('POST', OF_ORG, { forceMfa: false });
    assert.equal(result(await signIn(userId)), 'signed in');
    await call('DELETE', OF_ORG);
    assert.equal(result(await signIn(userId)), 'SESSION-MFA-SETUP-REQUIRED');
  });

  it('is added by PUT too, and keeps what a body omits', async () => {
    const both = await Promise.all([1, 2].map(() => call('PUT', OF_ORG, { mailCode: 'all' })));
    assert.deepEqual(
      both.map(({ status }) => status),
      [200, 200],
    );
    const of = async () => {
      const { details: _, ...fields } = await policy();
      return fields;
    };
    assert.deepEqual(await of(), { ...DEFAULTS, mailCode: 'all', isDefault: false });
    assert.equal((await call('PUT', OF_ORG, { forceMfa: true })).status, 200);
    assert.equal((await call('PUT', OF_ORG, { initMail: 'unlessWayIn' })).status, 200);
    const changed = { ...DEFAULTS, forceMfa: true, mailCode: 'all', initMail: 'unlessWayIn', isDefault: false };
    assert.deepEqual(await of(), changed);
    await call('DELETE', OF_ORG);
    await api.call('PUT', OF_INSTANCE, { forceMfa: true, mailCode: 'off' });
    await call('PUT', OF_ORG, { initMail: 'unlessWayIn' });
    assert.deepEqual(await of(), { ...changed, mailCode: 'off' }, 'the rest is what applied before');
    const more = { smsCode: 'all', passkeys: false, deleteAccount: true };
    for (const [field, value] of Object.entries(more)) await call('PUT', OF_ORG, { [field]: value });
    assert.deepEqual(await of(), { ...changed, mailCode: 'off', ...more });
  });

  it('refuses values that it does not know', async () => {
    for (const [field, values, description] of [
      ['mailCode', ['on', true, 'ALL', 0], 'must be off, withoutPassword, or all'],
      ['smsCode', ['on', true], 'must be off, withoutPassword, or all'],
      ['initMail', ['never', false], 'must be always or unlessWayIn'],
      ['passkeys', ['true', 1], 'must be true or false'],
      ['deleteAccount', ['yes'], 'must be true or false'],
    ] as const) {
      for (const value of values) {
        const answer = await call('PUT', OF_ORG, { forceMfa: false, [field]: value });
        assert.deepEqual([answer.status, errorId(answer)], [400, 'POLICY-LOGIN-INVALID'], String(value));
        assert.deepEqual(answer.body.details[1].fieldViolations, [{ field, description }]);
      }
    }
    assert.equal((await policy()).isDefault, true);
  });

  it('must say something, and whether a second factor is required as a boolean', async () => {
    const missing = 'must be true or false, unless the body has another field of the policy';
    for (const [body, bad] of [
      [{}, missing],
      [{ forceMfa: 'true' }, 'must be true or false'],
      [{ forceMfa: null }, missing],
      [{ forceMfaLocalOnly: true }, missing],
    ] as const) {
      const answer = await call('POST', OF_ORG, body);
      assert.deepEqual([answer.status, errorId(answer)], [400, 'POLICY-LOGIN-INVALID']);
      assert.deepEqual(answer.body.details[1].fieldViolations, [{ field: 'forceMfa', description: bad }]);
      assert.deepEqual(badFieldsOf(answer), ['forceMfa']);
    }
  });

  it('refuses a session only after the right password, and only to users without a factor', async () => {
    const [without, withFactor, unknown] = [
      await addHuman(api, orgId, PASSWORD),
      await addHuman(api, orgId, PASSWORD),
      'x',
    ];
    const path = `/v2beta/users/${encodeURIComponent(withFactor)}/totp`;
    const { secret } = (await api.call('POST', path)).body;
    await api.call('POST', `${path}/verify`, { code: codeAt(secret) });
    await api.deps.pool.query('update user_totp set last_step = last_step - 2 where user_id = $1', [withFactor]);
    const elsewhere = await api.setupOrg();
    await call('POST', OF_ORG, { forceMfa: true });
    await api.deps.pool.query('truncate audit_events');

    for (const userId of [without, withFactor, unknown]) {
      assert.equal(result(await signIn(userId, 'wrong')), 'SESSION-CREDENTIALS');
    }
    const refused = await signIn(without);
    assert.deepEqual([refused.status, refused.body.code, errorId(refused)], [400, 9, 'SESSION-MFA-SETUP-REQUIRED']);
    assert.equal(result(await signIn(withFactor)), 'SESSION-TOTP-REQUIRED');
    assert.equal(result(await signIn(withFactor, PASSWORD, wrongCode(secret))), 'SESSION-TOTP');
    assert.equal(result(await signIn(withFactor, PASSWORD, codeAt(secret))), 'signed in');
    assert.equal(result(await signIn(elsewhere.userId, elsewhere.password)), 'signed in', 'another organization');

    const { rows } = await api.deps.pool.query(
      `select payload ->> 'reason' as reason, org_id from audit_events where user_id = $1 order by sequence`,
      [without],
    );
    assert.deepEqual(rows, [
      { reason: 'wrong_password', org_id: orgId },
      { reason: 'factor_missing', org_id: orgId },
    ]);
    const pending = await api.call('POST', `/v2beta/users/${encodeURIComponent(without)}/totp`);
    assert.equal(pending.status, 200);
    assert.equal(result(await signIn(without)), 'SESSION-MFA-SETUP-REQUIRED', 'a pending factor is none');
  });

  it('tells locked users that they are locked, and not to set up a factor', async () => {
    await call('POST', OF_ORG, { forceMfa: true });
    const userId = await addHuman(api, orgId, PASSWORD);
    assert.equal((await call('POST', `/v2beta/users/${userId}/lock`)).status, 200);
    assert.equal(result(await signIn(userId)), 'SESSION-USER-LOCKED');
  });

  it('concerns no machine users, and no user who proves their own change with the password', async () => {
    const userId = await addHuman(api, orgId, PASSWORD);
    await call('POST', OF_ORG, { forceMfa: true });
    assert.equal((await call('GET', OF_ORG)).status, 200, 'the token of a machine user');
    const body = { newPassword: { password: 'battery staple' }, currentPassword: PASSWORD };
    const changed = await api.call('POST', `/v2beta/users/${encodeURIComponent(userId)}/password`, body);
    assert.equal(changed.status, 200);
    assert.equal(result(await signIn(userId, 'battery staple')), 'SESSION-MFA-SETUP-REQUIRED');
  });
});
