/** The policy for new passwords: its operations, and every way to set a password. Imports are exempt. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { type Answer, badFieldsOf, errorId, startApi, type TestApi, unique } from '../support/api.ts';
import { HASH } from '../support/imports/imports.ts';
import { addHuman, lastMail, mailCode, tokenOf } from './users/people.ts';

const OF_ORG = '/management/v1/policies/password/complexity';
const OF_INSTANCE = '/admin/v1/policies/password/complexity';

let api: TestApi;
let orgId: string;
before(async () => {
  api = await startApi();
});
beforeEach(async () => {
  ({ orgId } = await api.setupOrg());
});
after(() => api.stop());

const call = (method: string, path: string, body?: unknown) => api.call(method, path, body, { orgId });
const fields = (answer: Answer) => answer.body.details[1].fieldViolations;
const policyOf = async () => (await call('GET', OF_ORG)).body.policy;

describe('the password-complexity policy', () => {
  it('is the instance’s until the organization has its own, with an event for each change', async () => {
    const { details, ...first } = await policyOf();
    assert.deepEqual(first, { minLength: 8, maxLength: 200, isDefault: true });
    assert.equal(details.resourceOwner, 'instance');
    assert.equal((await call('PUT', OF_ORG, { minLength: 9 })).status, 404);
    assert.equal((await call('POST', OF_ORG, { minLength: '12', hasUppercase: false })).status, 200);
    assert.equal(errorId(await call('POST', OF_ORG, { minLength: 12 })), 'POLICY-COMPLEXITY-EXISTS');
    assert.equal((await call('PUT', OF_ORG, { min_length: 14, max_length: 64 })).status, 200);
    const own = await policyOf();
    assert.deepEqual([own.minLength, own.maxLength, own.isDefault], [14, 64, false]);
    assert.equal((await call('DELETE', OF_ORG)).status, 200);
    assert.equal((await policyOf()).isDefault, true);
    const { rows } = await api.deps.pool.query(
      `select type, payload from events where aggregate_id = $1 and type like '%policy%' order by sequence`,
      [orgId],
    );
    assert.deepEqual(
      rows.map((row) => [row.type.split('.').at(-1), row.payload]),
      [
        ['added', { minLength: 12, maxLength: 200 }],
        ['changed', { minLength: 14, maxLength: 64 }],
        ['reset', null],
      ],
    );
    assert.match(rows[0].type, /^organization\.policy\.password\.complexity\./);
  });

  it('names every invalid field, and refuses rules that are not enforced', async () => {
    for (const [body, invalid] of [
      [{}, ['minLength']],
      [{ minLength: 7, maxLength: 201 }, ['maxLength', 'minLength']],
      [{ minLength: 65, maxLength: 63 }, ['maxLength', 'minLength']],
      [{ minLength: 8, hasUppercase: true, hasSymbol: true }, ['hasSymbol', 'hasUppercase']],
    ] as const) {
      const answer = await call('POST', OF_ORG, body);
      assert.deepEqual([answer.status, badFieldsOf(answer)], [400, invalid], JSON.stringify(body));
    }
  });

  it('of the instance applies where there is no other', async (t) => {
    t.after(() => api.call('PUT', OF_INSTANCE, { minLength: 8 }));
    assert.equal((await api.call('PUT', OF_INSTANCE, { minLength: 20 })).status, 200);
    assert.equal((await policyOf()).minLength, 20);
    const org = await api.call('POST', '/admin/v1/orgs/_setup', {
      org: { name: unique('Acme') },
      human: person({ password: 'correct horse' }),
    });
    assert.deepEqual(fields(org), [{ field: 'human.password', description: 'must have at least 20 characters' }]);
  });
});

const COMMON_AND_SHORT = ['must have at least 12 characters', 'must not be one of the most common passwords'];
const person = (more: object) => ({
  userName: unique('ann'),
  profile: { firstName: 'Ann', lastName: 'Arbor' },
  email: { email: 'ann@example.com', isEmailVerified: true },
  ...more,
});

describe('a new password', () => {
  beforeEach(async () => {
    await call('POST', OF_ORG, { minLength: 12 });
  });

  const refused = (answer: Answer, field: string, descriptions: string[]) => {
    assert.deepEqual([answer.status, errorId(answer)], [400, 'PASSWORD-POLICY']);
    assert.deepEqual(
      fields(answer),
      descriptions.map((description) => ({ field, description })),
    );
  };

  it('is checked wherever people or managers set one, and every broken rule is named', async () => {
    const userId = await addHuman(api, orgId, 'the old one');
    const own = await tokenOf(api, userId);
    const path = `/v2beta/users/${encodeURIComponent(userId)}`;
    const newPassword = { password: 'Password1' };
    const created = await call('POST', '/v2beta/users/human', {
      profile: { givenName: 'Ann', familyName: 'Arbor' },
      email: { email: 'ann@example.com', isVerified: true },
      password: newPassword,
    });
    refused(created, 'password.password', COMMON_AND_SHORT);
    refused(
      await call('PUT', `/v2beta/users/human/${encodeURIComponent(userId)}`, { password: { password: newPassword } }),
      'password.password',
      COMMON_AND_SHORT,
    );
    const { verificationCode } = (await call('POST', `${path}/password_reset`, { returnCode: {} })).body;
    for (const [body, token] of [
      [{ newPassword }, api.token],
      [{ newPassword, currentPassword: 'the old one' }, own],
      [{ newPassword, verificationCode }, null],
    ] as const) {
      refused(await api.call('POST', `${path}/password`, body, { token }), 'newPassword.password', COMMON_AND_SHORT);
    }
    const { rows } = await api.deps.pool.query('select tries from codes where user_id = $1', [userId]);
    assert.deepEqual(rows, [{ tries: 0 }], 'a password that breaks a rule costs no attempt of the code');
    const setUp = await api.call('POST', '/admin/v1/orgs/_setup', {
      org: { name: unique('Acme') },
      human: person({ password: 'letmein' }),
    });
    refused(setUp, 'human.password', ['must have at least 8 characters', COMMON_AND_SHORT[1] as string]);
  });

  it('must not be a name of the user, not even one that the same request gives them', async () => {
    const userId = await addHuman(api, orgId, 'the old one');
    const path = `/v2beta/users/human/${encodeURIComponent(userId)}`;
    for (const [password, more] of [
      ['Ann@Example.COM', {}],
      ['Annabelle.Arbor', { username: 'annabelle.arbor' }],
      ['annabelle@example.com', { email: { email: 'annabelle@example.com', isVerified: true } }],
    ] as const) {
      refused(await call('PUT', path, { password: { password: { password } }, ...more }), 'password.password', [
        'must not be a name or an address of the user, or the domain of the organization',
      ]);
    }
  });

  it('does not tell who has no valid code whether the user or a policy exists', async () => {
    const userId = await addHuman(api, orgId, 'the old one');
    const body = { newPassword: { password: 'Password1' }, verificationCode: 'AAAAAAAAAAAA' };
    for (const id of [userId, 'nobody']) {
      const answer = await api.call('POST', `/v2beta/users/${encodeURIComponent(id)}/password`, body, { token: null });
      assert.deepEqual([answer.status, errorId(answer)], [400, 'CODE-INVALID']);
      for (const page of ['init', 'reset']) {
        const { body } = await api.call('GET', `/ui/${page}?userId=${encodeURIComponent(id)}&code=AAAAAAAAAAAA`);
        assert.match(body, /8 to 200 characters/);
      }
    }
  });

  it('is explained on the pages of mail links before the user types; then all problems are named', async () => {
    const userId = await addHuman(api, orgId);
    await mailCode(api, userId, 'initialise');
    const { code } = await lastMail(api, userId);
    const link = new URLSearchParams({ userId, code });
    for (let i = 0; i < 6; i++) {
      const { status, body } = await api.call('GET', `/ui/init?${link}`);
      assert.equal(status, 200);
      assert.match(body, /12 to 200 characters\. Not a common password/);
    }
    const send = (password: string) =>
      fetch(`${api.url}/ui/init`, {
        method: 'POST',
        body: new URLSearchParams({ userId, code, password, repeated: password }),
      });
    for (let i = 0; i < 6; i++) {
      const answer = await send('Password1');
      assert.equal(answer.status, 400);
      const text = await answer.text();
      assert.match(
        text,
        /id="problem">The password must have at least 12 characters\. The password must not be one of the most/,
      );
      assert.match(text, /12 to 200 characters/);
    }
    assert.equal((await send('a fine new password')).status, 200);
  });

  it('is not checked where it was hashed elsewhere', async () => {
    const created = await call('POST', '/v2beta/users/human', {
      profile: { givenName: 'Ann', familyName: 'Arbor' },
      email: { email: 'ann@example.com', isVerified: true },
      hashedPassword: { hash: HASH },
    });
    assert.equal(created.status, 200);
  });
});
