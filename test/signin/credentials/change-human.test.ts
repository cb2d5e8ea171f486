import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { allowUrl, eventsOf, humanRow, tokenOf } from '../../directory/users/people.ts';
import { badFieldsOf, errorId, type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';

let api: TestApi;
let org: SetUp;
let manager: { token: string };
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  await allowUrl(api, org.orgId, 'https://app.example.com');
  manager = await api.machine(org.orgId, ['ORG_USER_MANAGER']);
});
after(() => api.stop());

const PROFILE = {
  givenName: 'Bob',
  familyName: 'Burns',
  nickName: 'B',
  displayName: 'Bobby',
  preferredLanguage: 'de',
  gender: 'GENDER_MALE',
};
const PASSWORD = 'correct horse';

/** A human with all fields, and their own bearer token. */
async function human(change: object = {}): Promise<{ userId: string; username: string; self: { token: string } }> {
  const username = unique('bob');
  const made = await api.call(
    'POST',
    '/v2beta/users/human',
    {
      userId: `auth0|${unique('a:b@c')}`,
      username,
      profile: PROFILE,
      email: { email: 'bob@example.com', isVerified: true },
      phone: { phone: '+41791234567', isVerified: true },
      password: { password: PASSWORD },
      ...change,
    },
    { orgId: org.orgId },
  );
  const { userId } = made.body;
  return { userId, username, self: { token: await tokenOf(api, userId) } };
}

const put = (userId: string, body: unknown, options: object = manager) =>
  api.call('PUT', `/v2beta/users/human/${encodeURIComponent(userId)}`, body, options);
const read = async (userId: string) => (await api.call('GET', `/v2beta/users/${encodeURIComponent(userId)}`)).body;
const logIn = async (userId: string, password: string) =>
  (await api.call('POST', '/v2beta/sessions', { checks: { user: { userId }, password: { password } } })).status;
const mailsOf = async (userId: string) =>
  (await api.deps.pool.query('select kind, url_template from mail_outbox where user_id = $1 order by id', [userId]))
    .rows;
const refusal = (answer: { status: number; body: unknown }) => [answer.status, errorId(answer as never)];

test('given fields change, absent fields keep their values', async () => {
  const { userId, username } = await human();
  const changed = await put(userId, { profile: { nickName: '', gender: 'GENDER_DIVERSE' } });
  assert.deepEqual([changed.status, Object.keys(changed.body)], [200, ['details']]);
  assert.deepEqual(Object.keys(changed.body.details), ['sequence', 'changeDate', 'resourceOwner']);
  const { details, user } = await read(userId);
  assert.deepEqual(details, changed.body.details);
  assert.equal(user.username, username);
  assert.deepEqual(user.human.profile, { ...PROFILE, nickName: '', gender: 'GENDER_DIVERSE', avatarUrl: '' });
  assert.deepEqual(user.human.email, { email: 'bob@example.com', isVerified: true });
  assert.deepEqual(user.human.phone, { phone: '+41791234567', isVerified: true });
  assert.deepEqual(await eventsOf(api, userId), ['user.human.added', 'user.human.profile.changed']);
});

test('all parts can change in one call, also in snake_case; the details are of the last event', async () => {
  const { userId } = await human();
  const username = unique('robert');
  const changed = await put(userId, {
    username,
    profile: { given_name: 'Robert', family_name: 'Brown', display_name: '', preferred_language: 'en-GB' },
    email: { email: 'robert@example.com', is_verified: true },
    phone: { phone: '+44 20 7946 0018', is_verified: true },
    password: { password: { password: 'new horse', change_required: true } },
  });
  assert.equal(changed.status, 200);
  const { details, user } = await read(userId);
  assert.deepEqual(details, changed.body.details);
  assert.equal(user.username, username);
  const { givenName, displayName, preferredLanguage } = user.human.profile;
  assert.deepEqual([givenName, displayName, preferredLanguage], ['Robert', 'Robert Brown', 'en-GB']);
  assert.deepEqual(user.human.email, { email: 'robert@example.com', isVerified: true });
  assert.deepEqual(user.human.phone, { phone: '+442079460018', isVerified: true });
  assert.equal(user.human.passwordChangeRequired, true);
  assert.deepEqual([await logIn(userId, PASSWORD), await logIn(userId, 'new horse')], [400, 201]);
});

test('unchanged values return the current details and cause no event and no mail', async () => {
  const { userId, username } = await human();
  const { details } = await read(userId);
  const same = [
    {},
    { username, profile: PROFILE },
    { email: { email: 'bob@example.com' }, phone: { phone: 'tel:+41-79-123-45-67' } },
    { email: { email: 'bob@example.com', isVerified: true }, phone: { phone: '+41791234567', isVerified: true } },
  ];
  for (const body of same) {
    const { status, body: answer } = await put(userId, body);
    assert.deepEqual([status, answer], [200, { details }], JSON.stringify(body));
  }
  const unverified = await human({ email: { email: 'bob@example.com' }, phone: undefined });
  for (const phone of ['', null]) {
    assert.equal((await put(unverified.userId, { phone: { phone, isVerified: false } })).status, 200);
  }
  const before = await mailsOf(unverified.userId);
  for (const email of [{}, { isVerified: false }]) {
    await put(unverified.userId, { email: { email: 'bob@example.com', ...email } });
  }
  assert.deepEqual(await mailsOf(unverified.userId), before, 'no further mail');
  assert.deepEqual(await eventsOf(api, userId), ['user.human.added']);
});

test('a new address and number are unverified until their code is entered', async () => {
  const { userId } = await human();
  const urlTemplate = 'https://app.example.com/v?u={{.UserID}}&c={{.Code}}';
  await put(userId, {
    email: { email: 'new@example.com', sendCode: { urlTemplate } },
    phone: { phone: '+12015550123' },
  });
  assert.deepEqual(await mailsOf(userId), [
    { kind: 'verify_email', url_template: urlTemplate },
    { kind: 'phone_changed', url_template: null },
    { kind: 'verify_phone', url_template: null },
  ]);
  const { human: moved } = (await read(userId)).user;
  assert.deepEqual([moved.email.isVerified, moved.phone.isVerified], [false, false]);

  const { body } = await put(userId, {
    email: { email: 'newer@example.com', returnCode: {} },
    phone: { phone: '+12015550124', returnCode: {} },
  });
  for (const [what, verificationCode] of [
    ['email', body.emailCode],
    ['phone', body.phoneCode],
  ]) {
    const path = `/v2beta/users/${encodeURIComponent(userId)}/${what}/verify`;
    assert.equal((await api.call('POST', path, { verificationCode })).status, 200, what);
  }
  const { human: verified } = (await read(userId)).user;
  assert.deepEqual(verified.email, { email: 'newer@example.com', isVerified: true });
  assert.deepEqual(verified.phone, { phone: '+12015550124', isVerified: true });
});

test('users change their own profile, address and number, but cannot verify them and cannot change the user name', async () => {
  const { userId, username, self } = await human();
  const allowed = {
    username,
    profile: { nickName: 'Me' },
    email: { email: 'me@example.com' },
    phone: { phone: '+12015550123', sendCode: {} },
  };
  const changed = await put(userId, allowed, self);
  assert.equal(changed.status, 200);
  const before = await humanRow(api, userId);
  for (const body of [
    { username: unique('other') },
    { email: { email: 'x@example.com', isVerified: true } },
    { email: { email: 'me@example.com', returnCode: {} } },
    { phone: { phone: '+12015550125', isVerified: true } },
    { phone: { phone: '+12015550125', returnCode: {} } },
    { password: { hashedPassword: { hash: before.password_hash }, currentPassword: PASSWORD } },
  ]) {
    assert.deepEqual(refusal(await put(userId, body, self)), [403, 'AUTH-PERMISSION'], JSON.stringify(body));
  }
  assert.deepEqual(await humanRow(api, userId), before);
});

test('users change their password with the current one or a code; managers need neither', async () => {
  const { userId, self } = await human();
  const password = { password: 'new horse' };
  const without = await put(userId, { password: { password } }, self);
  assert.deepEqual([refusal(without), badFieldsOf(without)], [[400, 'USER-INVALID'], ['password.currentPassword']]);
  const wrong = await put(
    userId,
    { profile: { nickName: 'X' }, password: { password, currentPassword: 'wrong' } },
    self,
  );
  assert.deepEqual(refusal(wrong), [400, 'PASSWORD-CURRENT']);
  assert.equal((await read(userId)).user.human.profile.nickName, 'B', 'all or nothing');
  assert.equal((await put(userId, { password: { password, currentPassword: PASSWORD } }, self)).status, 200);
  assert.equal(await logIn(userId, 'new horse'), 201);

  const reset = `/v2beta/users/${encodeURIComponent(userId)}/password_reset`;
  const { verificationCode } = (await api.call('POST', reset, { returnCode: {} })).body;
  const byCode = { password: { password: 'code horse' }, verificationCode };
  const moved = { email: { email: 'moved@example.com' } };
  assert.equal((await put(userId, { ...moved, password: byCode }, self)).status, 200);
  assert.deepEqual(
    [await logIn(userId, 'code horse'), (await read(userId)).user.human.email.email],
    [201, 'bob@example.com'],
    'the new address is pending',
  );
  const newToken = { token: await tokenOf(api, userId) };
  assert.deepEqual(refusal(await put(userId, { password: byCode }, newToken)), [400, 'CODE-INVALID']);

  const hash = await api.deps.hasher.hash('hashed horse');
  assert.equal((await put(userId, { password: { hashedPassword: { hash, changeRequired: true } } })).status, 200);
  assert.deepEqual([await logIn(userId, 'code horse'), await logIn(userId, 'hashed horse')], [400, 201]);
  assert.equal((await humanRow(api, userId)).password_change_required, true);
});

test('a first password with a new address activates the user, and the mail verifies only the address', async () => {
  const { userId } = await human({ password: undefined });
  await api.deps.pool.query(`update users set state = 'initial' where id = $1`, [userId]);
  const body = { email: { email: 'late@example.com' }, password: { password: { password: PASSWORD } } };
  assert.equal((await put(userId, body)).status, 200);
  assert.equal((await humanRow(api, userId)).state, 'active');
  assert.deepEqual(await mailsOf(userId), [{ kind: 'verify_email', url_template: null }]);
});

test('a taken user name is 409 and nothing of the call is stored; another spelling of one’s own name is allowed', async () => {
  const taken = await human();
  const { userId, username } = await human();
  const answer = await put(userId, { username: taken.username.toUpperCase(), profile: { nickName: 'X' } });
  assert.deepEqual([answer.body.code, ...refusal(answer)], [6, 409, 'USER-NAME-TAKEN']);
  const { user } = await read(userId);
  assert.deepEqual([user.username, user.human.profile.nickName], [username, 'B']);
  assert.equal((await put(userId, { username: username.toUpperCase() })).status, 200);
  assert.equal((await read(userId)).user.username, username.toUpperCase());
  const freed = await put(taken.userId, { username: unique('gone') });
  assert.equal(freed.status, 200);
  assert.equal((await put(userId, { username: taken.username })).status, 200, 'the old name is free at once');
});

test('every invalid field is named', async () => {
  const { userId } = await human();
  const long = 'x'.repeat(201);
  const answer = await put(userId, {
    username: '',
    profile: { givenName: '', familyName: long, nickName: 1, displayName: long, preferredLanguage: '??', gender: 'X' },
    email: { email: 'Bob <b@c.d>', returnCode: {}, sendCode: { urlTemplate: 'javascript:alert(1)' } },
    phone: { phone: '0791234567', isVerified: 'yes' },
    password: {
      password: { password: '' },
      hashedPassword: { hash: '$99$x' },
      currentPassword: 'a',
      verificationCode: 'b',
    },
  });
  assert.deepEqual(refusal(answer), [400, 'USER-INVALID']);
  assert.deepEqual(badFieldsOf(answer), [
    'email.email',
    'email.returnCode',
    'email.sendCode.urlTemplate',
    'password.hashedPassword',
    'password.hashedPassword.hash',
    'password.password.password',
    'password.verificationCode',
    'phone.isVerified',
    'phone.phone',
    'profile.displayName',
    'profile.familyName',
    'profile.gender',
    'profile.givenName',
    'profile.nickName',
    'profile.preferredLanguage',
    'username',
  ]);
  assert.deepEqual(badFieldsOf(await put(userId, { password: { currentPassword: PASSWORD } })), ['password.password']);
});

test('allowed for the user and for managers, but not for users with more rights than the caller', async () => {
  const { userId } = await human();
  const owner = await human();
  const members = '/management/v1/orgs/me/members';
  await api.call('POST', members, { userId: owner.userId, roles: ['ORG_OWNER'] }, { orgId: org.orgId });
  const viewer = await api.machine(org.orgId, ['ORG_OWNER_VIEWER']);
  const outsider = await api.machine((await api.setupOrg()).orgId, ['ORG_OWNER']);
  for (const { token } of [viewer, outsider]) {
    for (const id of [userId, 'missing']) {
      assert.deepEqual(refusal(await put(id, '{', { token })), [403, 'AUTH-PERMISSION']);
    }
  }
  assert.deepEqual(refusal(await put(owner.userId, {}, manager)), [403, 'AUTH-PERMISSION']);
  assert.equal((await put(userId, {}, owner.self)).status, 200);
  assert.equal((await put(owner.userId, {}, owner.self)).status, 200);
  assert.deepEqual(refusal(await put('missing', {}, {})), [404, 'USER-NOT-FOUND']);
  assert.equal((await put(userId, {}, { token: null })).status, 401);
  const machine = await api.machine(org.orgId);
  assert.deepEqual(refusal(await put(machine.userId, {}, {})), [400, 'USER-NOT-HUMAN']);
});

test('two parallel changes of different parts both take effect', async () => {
  const { userId } = await human();
  await Promise.all([
    put(userId, { profile: { nickName: 'N' } }),
    put(userId, { profile: { preferredLanguage: 'fr' } }),
    put(userId, { email: { email: 'both@example.com', isVerified: true } }),
  ]);
  const { user } = await read(userId);
  const { nickName, preferredLanguage } = user.human.profile;
  assert.deepEqual([nickName, preferredLanguage, user.human.email.email], ['N', 'fr', 'both@example.com']);
});
