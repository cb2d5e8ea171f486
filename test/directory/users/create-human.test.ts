import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { badFieldsOf, errorId, type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';
import { codeAt } from '../../support/totp.ts';
import { allowUrl } from './people.ts';

let api: TestApi;
let org: SetUp;
let other: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  await allowUrl(api, org.orgId, 'https://app.example.com');
  other = await api.setupOrg();
});
after(() => api.stop());

const HUMANS = '/v2beta/users/human';
const profile = { givenName: 'Bob', familyName: 'Burns' };
const verified = () => ({ email: `${unique('bob')}@example.com`, isVerified: true });

/** A body with all required fields, for `org` unless `change` or `options` say otherwise. */
const create = (change: object = {}, options: object = { orgId: org.orgId }) =>
  api.call('POST', HUMANS, { profile, email: verified(), ...change }, options);
const read = async (userId: string, rest = '') =>
  (await api.call('GET', `/v2beta/users/${encodeURIComponent(userId)}${rest}`)).body;
const mailsOf = async (userId: string) =>
  (await api.deps.pool.query('select kind, url_template from mail_outbox where user_id = $1', [userId])).rows;
const logIn = (userId: string, password: string) =>
  api.call('POST', '/v2beta/sessions', { checks: { user: { userId }, password: { password } } });

test('fields of the service itself cannot be set: state, kind, roles, hashes, sequence', async () => {
  const members = async () => (await api.call('POST', '/admin/v1/members/_search', {})).body.details.totalResult;
  const before = await members();
  const inner = { state: 'USER_STATE_LOCKED', kind: 'machine', roles: ['IAM_OWNER'], isIamOwner: true, sequence: '1' };
  const answer = await create({
    ...inner,
    passwordHash: 'x',
    password_hash: 'x',
    sessions: [{}],
    createdAt: '2000-01-01T00:00:00Z',
    user: inner,
    profile: { ...profile, ...inner, avatarUrl: 'https://evil.example' },
  });
  assert.equal(answer.status, 200);
  const { user, details } = await read(answer.body.userId);
  assert.deepEqual([user.state, user.human.profile.avatarUrl, 'machine' in user], ['USER_STATE_ACTIVE', '', false]);
  assert.notEqual(details.sequence, '1');
  assert.equal(await members(), before);
  const { rows } = await api.deps.pool.query('select password_hash from users where id = $1', [answer.body.userId]);
  assert.deepEqual(rows, [{ password_hash: null }]);
});

test('every field is stored and can be read', async () => {
  const userId = `auth0|${unique('a:b@c')}`;
  const email = { email: 'Bob@Example.com', isVerified: true };
  const answer = await create({
    userId,
    username: 'bobby',
    profile: {
      ...profile,
      nickName: 'B',
      displayName: 'Bob B.',
      preferredLanguage: 'de-CH',
      gender: 'GENDER_MALE',
    },
    email,
    phone: { phone: 'tel:+41-79-123-45-67', isVerified: true },
    metadata: [
      { key: 'plan', value: 'cHJlbWl1bQ' },
      { key: 'id', value: 'AP8Q' },
    ],
    password: { password: 'correct horse', changeRequired: true },
    idpLinks: [{ idpId: 'google', userId: 'g-1', userName: 'bob@gmail' }],
  });
  assert.deepEqual([answer.status, Object.keys(answer.body)], [200, ['userId', 'details']]);
  assert.equal(answer.body.userId, userId);
  assert.deepEqual(Object.keys(answer.body.details), ['sequence', 'changeDate', 'resourceOwner']);
  assert.equal(answer.body.details.resourceOwner, org.orgId);
  const { details, user } = await read(userId);
  assert.deepEqual(details, answer.body.details);
  assert.deepEqual([user.state, user.username], ['USER_STATE_ACTIVE', 'bobby']);
  assert.deepEqual(user.human.profile, {
    ...profile,
    nickName: 'B',
    displayName: 'Bob B.',
    preferredLanguage: 'de-CH',
    gender: 'GENDER_MALE',
    avatarUrl: '',
  });
  assert.deepEqual(user.human.email, email);
  assert.deepEqual(user.human.phone, { phone: '+41791234567', isVerified: true });
  assert.equal(user.human.passwordChangeRequired, true);
  const metadata = [
    { key: 'id', value: 'AP8Q' },
    { key: 'plan', value: 'cHJlbWl1bQ==' },
  ];
  assert.deepEqual((await read(userId, '/metadata')).result, metadata);
  const link = { idpId: 'google', userId: 'g-1', userName: 'bob@gmail' };
  assert.deepEqual((await read(userId, '/links')).result, [link]);
  assert.equal((await logIn(userId, 'correct horse')).status, 201);
});

test('omitted fields have defaults: an id, the email as user name, the display name, no password', async () => {
  const email = verified();
  const { userId } = (await create({ email })).body;
  const { user } = await read(userId);
  assert.deepEqual([user.state, user.username], ['USER_STATE_ACTIVE', email.email]);
  assert.deepEqual(user.human.profile, {
    ...profile,
    nickName: '',
    displayName: 'Bob Burns',
    preferredLanguage: '',
    gender: 'GENDER_UNSPECIFIED',
    avatarUrl: '',
  });
  assert.equal(user.human.phone, undefined);
  assert.equal(user.human.passwordChangeRequired, false);
  assert.equal((await logIn(userId, 'anything')).status, 400);
});

test('a phone number that is null or empty means that there is none', async () => {
  for (const phone of [null, { phone: null }, { phone: '' }, { phone: null, isVerified: true }]) {
    const { status, body } = await create({ email: verified(), phone });
    assert.equal(status, 200, JSON.stringify(phone));
    assert.equal((await read(body.userId)).user.human.phone, undefined);
  }
});

test('a body in snake_case is accepted', async () => {
  const user_id = unique('snake');
  const answer = await create({
    user_id,
    profile: { given_name: 'Bob', family_name: 'Burns', nick_name: 'B' },
    email: { email: 'bob@example.com', is_verified: true },
    hashed_password: { hash: await api.deps.hasher.hash('correct horse'), change_required: true },
    idp_links: [{ idp_id: 'google', user_id: 'g-2', user_name: 'bob' }],
  });
  assert.deepEqual([answer.status, answer.body.userId], [200, user_id]);
  assert.equal((await read(user_id)).user.human.passwordChangeRequired, true);
  assert.equal((await logIn(user_id, 'correct horse')).status, 201);
  assert.equal((await read(user_id, '/links')).result.length, 1);
});

test('a verification mail is sent unless the address is verified or the code returned; a missing password alone sends none', async () => {
  const urlTemplate = 'https://app.example.com/v?u={{.UserID}}&c={{.Code}}';
  const cases: Array<[object, unknown[]]> = [
    [{}, [{ kind: 'verify_email', url_template: null }]],
    [{ isVerified: false }, [{ kind: 'verify_email', url_template: null }]],
    [{ sendCode: {} }, [{ kind: 'verify_email', url_template: null }]],
    [{ sendCode: { urlTemplate } }, [{ kind: 'verify_email', url_template: urlTemplate }]],
    [{ isVerified: true }, []],
    [{ returnCode: {} }, []],
  ];
  for (const [email, mails] of cases) {
    const { body } = await create({ email: { email: `${unique('bob')}@example.com`, ...email } });
    assert.deepEqual(await mailsOf(body.userId), mails, JSON.stringify(email));
    assert.equal('emailCode' in body, 'returnCode' in email, JSON.stringify(email));
  }
});

test('returned codes are valid', async () => {
  const { body } = await create({
    email: { email: 'new@example.com', returnCode: {} },
    phone: { phone: '+41791234567', returnCode: {} },
  });
  assert.deepEqual(Object.keys(body), ['userId', 'details', 'emailCode', 'phoneCode']);
  const verify = (what: string, verificationCode: string) =>
    api.call('POST', `/v2beta/users/${body.userId}/${what}/verify`, { verificationCode });
  assert.equal((await verify('email', body.emailCode)).status, 200);
  assert.equal((await verify('phone', body.phoneCode)).status, 200);
  const { human } = (await read(body.userId)).user;
  assert.deepEqual([human.email.isVerified, human.phone.isVerified], [true, true]);
  assert.deepEqual(await mailsOf(body.userId), []);
});

test('a text message is sent to the phone only on request', async () => {
  const kinds = async (phone: object) => {
    const { body } = await create({ phone: { phone: '+41 79 123 45 67', ...phone } });
    return (await mailsOf(body.userId)).map((m) => m.kind);
  };
  assert.deepEqual(await kinds({}), []);
  assert.deepEqual(await kinds({ isVerified: false }), []);
  assert.deepEqual(await kinds({ returnCode: {} }), []);
  assert.deepEqual(await kinds({ sendCode: {} }), ['verify_phone']);
});

test('a second factor is stored encrypted, and required from the first login on', async () => {
  const totpSecret = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP';
  const password = { password: 'correct horse' };
  const invalid = await create({ password, totpSecret: 'not base32!' });
  assert.deepEqual([invalid.status, badFieldsOf(invalid)], [400, ['totpSecret']]);
  const { userId } = (await create({ password, totpSecret })).body;
  assert.equal(errorId(await logIn(userId, password.password)), 'SESSION-TOTP-REQUIRED');
  const checks = { user: { userId }, password, totp: { code: codeAt(totpSecret) } };
  assert.equal((await api.call('POST', '/v2beta/sessions', { checks })).status, 201);
  const { rows } = await api.deps.pool.query('select secret from user_totp where user_id = $1', [userId]);
  assert.doesNotMatch(rows[0].secret, /JBSW/);
});

test('every invalid field is named', async () => {
  const long = 'x'.repeat(201);
  const answer = await create({
    userId: '..',
    username: '',
    organization: { orgId: org.orgId, orgDomain: 'acme.example' },
    profile: { givenName: '', nickName: long, displayName: long, preferredLanguage: 'deutsch-schweiz', gender: 'MALE' },
    email: { email: 'Bob <b@c.d>', isVerified: true, sendCode: { urlTemplate: 'ftp://x' }, returnCode: {} },
    phone: { phone: '079 123 45 67', sendCode: {}, returnCode: {} },
    metadata: [{ key: 'a', value: 'YQ==' }, { key: 'a', value: '***' }, { key: '', value: '' }, { key: long }],
    password: { password: '', changeRequired: 'yes' },
    hashedPassword: { hash: 'plain' },
    idpLinks: [{ idpId: 'g', userId: '1', userName: '' }, { idpId: 'g', userId: '1', userName: long }, {}],
  });
  assert.deepEqual([answer.status, answer.body.code, errorId(answer)], [400, 3, 'USER-INVALID']);
  assert.deepEqual(
    [...new Set(badFieldsOf(answer))],
    [
      'email.email',
      'email.returnCode',
      'email.sendCode',
      'email.sendCode.urlTemplate',
      'hashedPassword',
      'hashedPassword.hash',
      'idpLinks[0].userName',
      'idpLinks[1].userId',
      'idpLinks[1].userName',
      'idpLinks[2].idpId',
      'idpLinks[2].userId',
      'idpLinks[2].userName',
      'metadata[1].key',
      'metadata[1].value',
      'metadata[2].key',
      'metadata[2].value',
      'metadata[3].key',
      'metadata[3].value',
      'organization.orgDomain',
      'password.changeRequired',
      'password.password',
      'phone.phone',
      'phone.returnCode',
      'profile.displayName',
      'profile.familyName',
      'profile.gender',
      'profile.givenName',
      'profile.nickName',
      'profile.preferredLanguage',
      'userId',
      'username',
    ],
  );
  assert.deepEqual(badFieldsOf(await api.call('POST', HUMANS, {})), ['email', 'profile']);
  assert.equal((await api.call('POST', HUMANS, '{')).status, 400);
});

test('a hash that cannot be verified is refused, and the error names its scheme', async () => {
  const hash = '$argon2$v=19$m=65536,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA';
  const answer = await create({ hashedPassword: { hash } });
  assert.equal(answer.status, 400);
  const [violation] = answer.body.details[1].fieldViolations;
  assert.deepEqual(violation, {
    field: 'hashedPassword.hash',
    description: 'argon2 is not supported (argon2i, argon2id and argon2d are)',
  });
});

test('limits count code points; a metadata value may have 500,000 characters', async () => {
  const name = '😀'.repeat(200);
  const longest = { givenName: name, familyName: name, nickName: name, displayName: name };
  const value = `${'A'.repeat(499_999)}=`;
  const made = await create({
    username: `${unique('u')}-${'😀'.repeat(180)}`,
    profile: longest,
    metadata: [{ key: name, value }],
  });
  assert.equal(made.status, 200);
  const [entry] = (await read(made.body.userId, '/metadata')).result;
  assert.deepEqual([entry.key, entry.value.length], [name, 500_000]);
  const over = await create({ metadata: [{ key: 'k', value: 'A'.repeat(500_004) }] });
  assert.deepEqual([over.status, badFieldsOf(over)], [400, ['metadata[0].value']]);
  const tooLong = await create({ userId: 'i'.repeat(201), profile: { ...profile, givenName: `${name}x` } });
  assert.deepEqual(badFieldsOf(tooLong), ['profile.givenName', 'userId']);
});

test('ten values of 500,000 characters fit into one body, within LARGE_BODY', async () => {
  const value = 'A'.repeat(500_000);
  const metadata = Array.from({ length: 10 }, (_, i) => ({ key: `k${i}`, value }));
  const { status, body } = await create({ metadata });
  assert.equal(status, 200);
  assert.equal((await read(body.userId, '/metadata')).details.totalResult, '10');
});

test('a taken id is 409 in the whole instance, a taken user name in the organization; nothing is written', async () => {
  const userId = unique('id');
  const username = unique('bob');
  assert.equal((await create({ userId, username })).status, 200);
  const sameId = await create({ userId }, { orgId: other.orgId });
  assert.deepEqual([sameId.status, sameId.body.code, errorId(sameId)], [409, 6, 'USER-ID-TAKEN']);
  const before = await counts();
  const metadata = [{ key: 'k', value: 'YQ==' }];
  const sameName = await create({ username: username.toUpperCase(), metadata, email: { email: 'a@b.example' } });
  assert.deepEqual([sameName.status, errorId(sameName)], [409, 'USER-NAME-TAKEN']);
  assert.deepEqual(await counts(), before);
  assert.equal((await create({ username }, { orgId: other.orgId })).status, 200);
});

async function counts(): Promise<unknown> {
  const tables = ['users', 'user_metadata', 'events', 'codes', 'mail_outbox'];
  const columns = tables.map((t) => `(select count(*) from ${t}) as ${t}`).join(', ');
  return (await api.deps.pool.query(`select ${columns}`)).rows[0];
}

test('of several parallel calls with one id, one creates the user', async () => {
  const userId = unique('race');
  const answers = await Promise.all([1, 2, 3, 4].map(() => create({ userId })));
  assert.deepEqual(answers.map((a) => a.status).sort(), [200, 409, 409, 409]);
});

test('the organization comes from id, domain or header, else the caller; the body takes precedence over the header', async () => {
  const { primaryDomain } = (await api.call('GET', `/admin/v1/orgs/${other.orgId}`)).body.org;
  const ownerOf = async (change: object, options: object = {}) =>
    (await create(change, options)).body.details.resourceOwner;
  assert.equal(await ownerOf({ organization: { orgId: other.orgId } }), other.orgId);
  assert.equal(await ownerOf({ organization: { orgDomain: primaryDomain.toUpperCase() } }), other.orgId);
  assert.equal(await ownerOf({}, { orgId: other.orgId }), other.orgId);
  assert.equal(await ownerOf({ organization: {} }, { headers: { 'x-zitadel-orgid': other.orgId } }), other.orgId);
  for (const organization of [{ orgId: other.orgId }, { orgDomain: primaryDomain }]) {
    assert.equal(await ownerOf({ organization }, { orgId: org.orgId }), other.orgId);
  }
  const { token } = await api.machine(org.orgId, ['ORG_USER_MANAGER']);
  assert.equal(await ownerOf({}, { token }), org.orgId);
});

test('an unknown organization is 404 to an IAM_OWNER, and to others the same as an organization without a role', async () => {
  const unknown = [{ orgId: 'missing' }, { orgDomain: 'missing.example' }];
  for (const organization of unknown) {
    const answer = await create({ organization });
    assert.deepEqual([answer.status, answer.body.code, errorId(answer)], [404, 5, 'ORG-NOT-FOUND']);
  }
  const { token } = await api.machine(org.orgId, ['ORG_OWNER']);
  const { primaryDomain } = (await api.call('GET', `/admin/v1/orgs/${other.orgId}`)).body.org;
  for (const organization of [...unknown, { orgId: other.orgId }, { orgDomain: primaryDomain }]) {
    const answer = await create({ organization }, { token });
    assert.deepEqual([answer.status, errorId(answer)], [403, 'AUTH-PERMISSION']);
  }
});

test('owners and user managers may create users; others are refused before the body is read', async () => {
  for (const [roles, status] of [
    [['ORG_OWNER'], 200],
    [['ORG_USER_MANAGER'], 200],
    [['ORG_OWNER_VIEWER'], 403],
    [[], 403],
  ] as const) {
    const { token } = await api.machine(org.orgId, [...roles]);
    assert.equal((await create({}, { token })).status, status, roles.join());
    if (status === 403) assert.equal((await api.call('POST', HUMANS, '{', { token })).status, 403);
  }
  assert.equal((await api.call('POST', HUMANS, '{', { token: null })).status, 401);
});

test('one event is written, without any of the fields', async () => {
  const { body } = await create({ password: { password: 'correct horse' }, metadata: [{ key: 'k', value: 'YQ==' }] });
  const { rows } = await api.deps.pool.query('select sequence, type, payload from events where aggregate_id = $1', [
    body.userId,
  ]);
  assert.deepEqual(rows, [{ sequence: body.details.sequence, type: 'user.human.added', payload: null }]);
  const { rows: kept } = await api.deps.pool.query('select password_hash from users where id = $1', [body.userId]);
  assert.match(kept[0].password_hash, /^\$2/);
});
