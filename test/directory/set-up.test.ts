import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { badFieldsOf, errorId, startApi, type TestApi, unique } from '../support/api.ts';

let api: TestApi;
before(async () => {
  api = await startApi({ env: { BASE_URL: 'http://id.example.com:8080' } });
});
after(() => api.stop());

const SETUP = '/admin/v1/orgs/_setup';

function body(change: { org?: object; human?: object; [field: string]: unknown } = {}) {
  const { org, human, ...rest } = change;
  return {
    org: { name: 'Acme', ...org },
    human: {
      userName: 'ann',
      profile: { firstName: 'Ann', lastName: 'Arbor' },
      email: { email: 'ann@example.com', isEmailVerified: true },
      password: 'correct horse',
      ...human,
    },
    ...rest,
  };
}

const setUp = (change = {}) => api.call('POST', SETUP, body(change));

test('a phone number that is null or empty means that there is none', async () => {
  for (const phone of [{ phone: null }, { phone: '' }]) {
    const { status, body: answer } = await setUp({ human: { phone } });
    assert.equal(status, 200, JSON.stringify(phone));
    assert.equal((await api.call('GET', `/v2beta/users/${answer.userId}`)).body.user.human.phone, undefined);
  }
});

test('set-up returns details with creationDate, and creates the first user', async () => {
  const human = {
    profile: {
      firstName: 'Ann',
      lastName: 'Arbor',
      nickName: 'A',
      preferredLanguage: 'de-CH',
      gender: 'GENDER_FEMALE',
    },
    phone: { phone: 'tel:+41-79-123-45-67', isPhoneVerified: true },
  };
  const { status, body: answer } = await setUp({ org: { name: 'Wörld & Co.' }, human });
  assert.equal(status, 200);
  assert.deepEqual(Object.keys(answer.details).sort(), ['changeDate', 'creationDate', 'resourceOwner', 'sequence']);
  assert.match(answer.details.sequence, /^\d+$/);
  assert.match(answer.details.creationDate, /^\d{4}-\d\d-\d\dT.*Z$/);
  assert.equal(answer.details.resourceOwner, answer.orgId);
  const { user } = (await api.call('GET', `/v2beta/users/${answer.userId}`)).body;
  assert.equal(user.preferredLoginName, 'ann@world-co.id.example.com');
  assert.deepEqual(user.human.profile, {
    givenName: 'Ann',
    familyName: 'Arbor',
    nickName: 'A',
    displayName: 'Ann Arbor',
    preferredLanguage: 'de-CH',
    gender: 'GENDER_FEMALE',
    avatarUrl: '',
  });
  assert.deepEqual(user.human.phone, { phone: '+41791234567', isVerified: true });
});

test('the first user is ORG_OWNER unless roles are sent', async () => {
  const rolesOf = async (change: object) => {
    const { orgId } = (await setUp(change)).body;
    const members = await api.call('POST', '/management/v1/orgs/me/members/_search', {}, { orgId });
    return members.body.result[0].roles;
  };
  assert.deepEqual(await rolesOf({}), ['ORG_OWNER']);
  assert.deepEqual(await rolesOf({ roles: [] }), ['ORG_OWNER']);
  assert.deepEqual(await rolesOf({ roles: ['ORG_USER_MANAGER'] }), ['ORG_USER_MANAGER']);
  for (const role of ['IAM_OWNER', 'KING']) {
    const answer = await setUp({ roles: ['ORG_OWNER', role] });
    assert.deepEqual([answer.status, badFieldsOf(answer)], [400, ['roles[1]']]);
  }
});

test('the first user logs in with the initial password, which is stored hashed', async () => {
  const { userId } = (await setUp()).body;
  const checks = { user: { userId }, password: { password: 'correct horse' } };
  assert.equal((await api.call('POST', '/v2beta/sessions', { checks })).status, 201);
  const { rows } = await api.deps.pool.query('select password_hash from users where id = $1', [userId]);
  assert.match(rows[0].password_hash, /^\$2/);
});

test('a verification mail is due exactly when the address is not verified', async () => {
  const mails = async (email: object) => {
    const { userId } = (await setUp({ human: { email } })).body;
    const { rows } = await api.deps.pool.query('select kind from mail_outbox where user_id = $1', [userId]);
    return rows.map((r) => r.kind);
  };
  assert.deepEqual(await mails({ email: 'a@localhost', isEmailVerified: true }), []);
  assert.deepEqual(await mails({ email: 'a@localhost', isEmailVerified: false }), ['verify_email']);
  assert.deepEqual(await mails({ email: 'a@localhost' }), ['verify_email']);
});

test('a display name is stored; an empty one becomes first and last name', async () => {
  const nameOf = async (displayName: string) => {
    const profile = { firstName: 'Ann', lastName: 'Arbor', displayName };
    const { userId } = (await setUp({ human: { profile } })).body;
    return (await api.call('GET', `/v2beta/users/${userId}`)).body.user.human.profile.displayName;
  };
  assert.equal(await nameOf('Annie'), 'Annie');
  assert.equal(await nameOf(''), 'Ann Arbor');
});

test('a generated display name is cut to the limit', async () => {
  const profile = { firstName: '😀'.repeat(150), lastName: '😎'.repeat(150) };
  const { userId } = (await setUp({ human: { profile } })).body;
  const { displayName } = (await api.call('GET', `/v2beta/users/${userId}`)).body.user.human.profile;
  assert.equal(displayName, `${'😀'.repeat(150)} ${'😎'.repeat(49)}`);
});

test('a body in snake_case is accepted', async () => {
  const human = {
    user_name: 'ann',
    profile: { first_name: 'Ann', last_name: 'Arbor', preferred_language: 'en' },
    email: { email: 'ann@example.com', is_email_verified: true },
    password: 'correct horse',
  };
  const orgId = unique('snake');
  const answer = await api.call('POST', SETUP, { org: { name: 'Snake', org_id: orgId }, human });
  assert.deepEqual([answer.status, answer.body.orgId], [200, orgId]);
});

test('every invalid field is named', async () => {
  const long = 'x'.repeat(201);
  const answer = await api.call('POST', SETUP, {
    org: { name: '', domain: long },
    human: {
      userName: long,
      profile: { firstName: '', nickName: long, displayName: long, preferredLanguage: 'not a tag', gender: 'MALE' },
      email: { email: 'Ann <a@b.c>', isEmailVerified: 'yes' },
      phone: { phone: '079 123 45 67' },
    },
  });
  assert.deepEqual([answer.status, answer.body.code, errorId(answer)], [400, 3, 'ORG-SETUP']);
  assert.deepEqual(badFieldsOf(answer), [
    'human.email.email',
    'human.email.isEmailVerified',
    'human.password',
    'human.phone.phone',
    'human.profile.displayName',
    'human.profile.firstName',
    'human.profile.gender',
    'human.profile.lastName',
    'human.profile.nickName',
    'human.profile.preferredLanguage',
    'human.userName',
    'org.domain',
    'org.name',
  ]);
});

test('limits count code points', async () => {
  const name = '😀'.repeat(200);
  assert.equal((await setUp({ org: { name } })).status, 200);
  assert.deepEqual(badFieldsOf(await setUp({ org: { name: `${name}😀` } })), ['org.name']);
  const phone = { phone: `+1${' '.repeat(49)}` };
  assert.deepEqual(badFieldsOf(await setUp({ human: { phone } })), ['human.phone.phone']);
});

test('org and human are required', async () => {
  assert.deepEqual(badFieldsOf(await api.call('POST', SETUP, {})), ['human', 'org']);
});

test('a generated domain is unique; a chosen one that is taken is 409', async () => {
  const domainOf = async (change: object) => {
    const { orgId } = (await setUp(change)).body;
    return (await api.call('GET', `/admin/v1/orgs/${orgId}`)).body.org.primaryDomain;
  };
  const name = unique('Twice');
  assert.equal(await domainOf({ org: { name } }), `${name.toLowerCase()}.id.example.com`);
  assert.match(await domainOf({ org: { name, domain: '' } }), /^twice-\w+-\w{8}\.id\.example\.com$/);
  const domain = `${unique('Own')}.example`;
  assert.equal(await domainOf({ org: { domain } }), domain.toLowerCase());
  const again = await setUp({ org: { domain: domain.toUpperCase() } });
  assert.deepEqual([again.status, again.body.code, errorId(again)], [409, 6, 'ORG-DOMAIN-TAKEN']);
});

test('a chosen id that is taken is 409, and nothing of the second set-up is stored', async () => {
  const orgId = `auth0|${unique('org')}`;
  assert.equal((await setUp({ org: { orgId } })).body.orgId, orgId);
  const count = async () => (await api.deps.pool.query('select count(*) from users')).rows[0].count;
  const before = await count();
  const again = await setUp({ org: { orgId } });
  assert.deepEqual([again.status, errorId(again)], [409, 'ORG-ID-TAKEN']);
  assert.equal(await count(), before);
  const got = await api.call('GET', `/admin/v1/orgs/${encodeURIComponent(orgId)}`);
  assert.equal(got.body.org.id, orgId);
  for (const bad of ['.', '..', 'a\nb', '']) {
    assert.deepEqual(badFieldsOf(await setUp({ org: { orgId: bad } })), ['org.orgId']);
  }
});

test('only an IAM_OWNER may set up organizations; others are refused before the body is read', async () => {
  const { orgId } = await api.setupOrg();
  const { token } = await api.machine(orgId, ['ORG_OWNER']);
  const answer = await api.call('POST', SETUP, '{', { token });
  assert.deepEqual([answer.status, answer.body.code, errorId(answer)], [403, 7, 'AUTH-PERMISSION']);
});

test('of two parallel set-ups with one id, one succeeds', async () => {
  const orgId = unique('race');
  const answers = await Promise.all([1, 2, 3].map(() => setUp({ org: { orgId } })));
  assert.deepEqual(answers.map((a) => a.status).sort(), [200, 409, 409]);
});
