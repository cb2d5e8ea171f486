/**
 * Settings that an ORG_OWNER makes and that decide about other users: none of them lets the owner in as an IAM_OWNER
 * of the organization, keeps such a user out, or relaxes what the instance demands of them. The table "Settings that
 * decide about other people" in docs/security.md has each of them.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { writeBatch } from '../../src/imports/run/write-batch.ts';
import { markOf } from '../../src/passwords/marks.ts';
import type { Pool } from '../../src/platform/db/pool.ts';
import { endRound } from '../../src/signin/password-sources/store.ts';
import { findIdp, type Idp, mayDecide } from '../../src/signin/providers/store.ts';
import { type Answer, errorId, startApi, type TestApi, unique } from '../support/api.ts';
import { bulk } from '../support/imports/bodies.ts';
import { SETTINGS } from '../support/imports/existing.ts';
import { entry, openWriterPool } from '../support/imports/imports.ts';
import { must } from './rows.ts';

const SOURCES = '/management/v1/password_sources';
const PASSWORD = 'correct horse';
const KEPT = { newSecret: false };

/** Says yes to every password, as a source of the attacker does. */
const asked: string[] = [];
const yes = createServer(async (req, res) => {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  asked.push(JSON.parse(Buffer.concat(chunks).toString()).userName);
  res.writeHead(200, { 'content-type': 'application/json' }).end('{"valid":true}');
});

let api: TestApi;
let writer: Pool;
let url: string;
before(async () => {
  yes.listen(0, '127.0.0.1');
  await once(yes, 'listening');
  url = `http://127.0.0.1:${(yes.address() as AddressInfo).port}/`;
  api = await startApi({
    env: { PASSWORD_SOURCE_ALLOW_PRIVATE: 'true', RATE_LIMIT_LOGINS: '1000000', RATE_LIMIT_REQUESTS: '1000000' },
  });
  writer = openWriterPool(api.deps.config.DATABASE_URL);
});
after(async () => {
  await writer.end();
  await api.stop();
  yes.close();
  yes.closeAllConnections();
});

interface Scene {
  orgId: string;
  /** An owner of the organization. */
  owner: { userId: string; token: string };
  sourceId: string;
  boss: string;
  /** A user without roles. */
  user: string;
}

/** Users whose passwords are at a source. @param by who adds the source */
async function atSource(by: 'owner' | 'admin', rights: 'instance' | 'elsewhere' = 'instance'): Promise<Scene> {
  const { orgId } = await api.setupOrg();
  const owner = await api.machine(orgId, ['ORG_OWNER']);
  const added = await api.call('POST', SOURCES, source(), { orgId, ...(by === 'owner' ? owner : {}) });
  assert.equal(added.status, 200, JSON.stringify(added.body));
  const { sourceId } = added.body;
  const [boss, user] = [unique('boss'), unique('user')];
  const bare = (name: string) => entry(name, { hashedPassword: undefined });
  const body = bulk(orgId, [bare(boss), bare(user)]);
  const { importId } = await must(api, 'POST', `/admin/v1/import?passwordSource=${sourceId}`, body);
  await writeBatch(writer, importId, [0, 1], SETTINGS);
  if (rights === 'instance') {
    await must(api, 'POST', '/admin/v1/members', { userId: `id-${boss}`, roles: ['IAM_OWNER'] });
  } else {
    const other = (await api.setupOrg()).orgId;
    const member = { userId: `id-${boss}`, roles: ['ORG_OWNER'] };
    await must(api, 'POST', '/management/v1/orgs/me/members', member, other);
  }
  return { orgId, owner, sourceId, boss, user };
}

const source = (change: Record<string, unknown> = {}) => ({ name: 'Old', kind: 'http', settings: { url }, ...change });

/** A sign-in with a password that only the source could call right. */
function signIn(name: string, password = 'chosen by the attacker'): Promise<Answer> {
  return api.call('POST', '/v2beta/sessions', { checks: { user: { userId: `id-${name}` }, password: { password } } });
}

async function column(name: string, of: string): Promise<unknown> {
  return (await api.deps.pool.query(`select ${name} as value from users where id = $1`, [`id-${of}`])).rows[0].value;
}

for (const rights of ['instance', 'elsewhere'] as const) {
  test(`a source that its ORG_OWNER added decides for nobody with more rights: ${rights}`, async () => {
    const { boss, user } = await atSource('owner', rights);
    const refused = await signIn(boss);
    assert.deepEqual([refused.status, errorId(refused)], [400, 'SESSION-CREDENTIALS']);
    assert.ok(!asked.includes(boss), 'the password reached nobody');
    assert.equal((await signIn(user)).status, 201);
  });
}

test('a source that an IAM_OWNER added decides for an IAM_OWNER, until its owner loses that role', async () => {
  const first = await atSource('admin');
  assert.equal((await signIn(first.boss)).status, 201);
  const second = await atSource('admin');
  await api.deps.pool.query('update password_sources set set_by = $2 where id = $1', [
    second.sourceId,
    second.owner.userId,
  ]);
  assert.equal((await signIn(second.boss)).status, 400);
});

const LDAP = { url: 'ldaps://old.example', searchBase: 'dc=a', searchFilter: '(uid={name})' };
const CHANGES: [string, Record<string, unknown>][] = [
  ['the address', { settings: { url: 'http://127.0.0.1:1/' } }],
  ['the name at the source', { userName: '{email}' }],
  ['the end', { until: '2099-01-01T00:00:00Z' }],
  ['the secret', { newSecret: true }],
  ['the time limit', { timeoutMs: 600 }],
];

for (const [what, change] of CHANGES) {
  test(`an ORG_OWNER does not change ${what} of a source that decides for an IAM_OWNER`, async () => {
    const { owner, sourceId, boss, user } = await atSource('admin');
    const path = `${SOURCES}/${sourceId}`;
    const refused = await api.call('PUT', path, source(change), owner);
    assert.deepEqual([refused.status, errorId(refused)], [403, 'AUTH-PERMISSION']);
    assert.equal((await signIn(boss)).status, 201);
    const changed = await api.call('PUT', path, source({ ...KEPT, ...change }), owner);
    assert.equal(changed.status, 200, 'nobody with more rights is at the source any more');
    assert.ok(user);
  });
}

for (const [field, value] of [
  ['searchBase', 'dc=evil'],
  ['searchFilter', '(cn={name})'],
  ['bindDn', 'cn=evil'],
  ['userDn', 'uid={name},dc=evil'],
  ['caCertificate', undefined],
] as const) {
  test(`an ORG_OWNER does not change ${field} of a directory that decides for an IAM_OWNER`, async () => {
    const { orgId, owner, boss } = await atSource('admin');
    const added = await api.call('POST', SOURCES, source({ kind: 'ldap', settings: LDAP }), { orgId });
    const { sourceId } = added.body;
    await api.deps.pool.query('update users set password_hash = $2 where id = $1', [`id-${boss}`, markOf(sourceId)]);
    const settings = { ...LDAP, [field]: value, ...(field === 'bindDn' ? { bindPassword: 'x' } : {}) };
    const kept = field === 'userDn' ? { url: LDAP.url, userDn: value } : settings;
    const refused = await api.call('PUT', `${SOURCES}/${sourceId}`, source({ kind: 'ldap', settings: kept }), owner);
    assert.deepEqual([refused.status, errorId(refused)], [403, 'AUTH-PERMISSION'], JSON.stringify(refused.body));
  });
}

test('an ORG_OWNER does not end a source that decides for an IAM_OWNER, neither now nor by its end', async () => {
  const { owner, sourceId, boss, user } = await atSource('admin');
  const refused = await api.call('POST', `${SOURCES}/${sourceId}/_end`, {}, owner);
  assert.deepEqual([refused.status, errorId(refused)], [403, 'AUTH-PERMISSION']);
  await must(api, 'POST', `${SOURCES}/${sourceId}/_end`, {});
  while (await endRound(api.deps.pool, SETTINGS));
  assert.deepEqual([await column('state', boss), await column('state', user)], ['initial', 'initial']);

  const own = await atSource('owner');
  await api.deps.pool.query(`update password_sources set until = now() where id = $1`, [own.sourceId]);
  while (await endRound(api.deps.pool, SETTINGS));
  assert.deepEqual([await column('state', own.boss), await column('state', own.user)], ['active', 'initial']);
});

/** A human IAM_OWNER with a password, and an owner of their organization. */
async function withBoss() {
  const { orgId, userId, userName } = await api.setupOrg();
  await must(api, 'POST', '/admin/v1/members', { userId, roles: ['IAM_OWNER'] });
  return { orgId, userId, userName, owner: { ...(await api.machine(orgId, ['ORG_OWNER'])), orgId } };
}

const signInOf = (userId: string) =>
  api.call('POST', '/v2beta/sessions', { checks: { user: { userId }, password: { password: PASSWORD } } });

test('the login policy of an organization does not relax the second factor that the instance demands', async () => {
  const { userId, owner } = await withBoss();
  const relaxed = await api.call('POST', '/management/v1/policies/login', { forceMfa: false }, owner);
  assert.equal(relaxed.status, 200, JSON.stringify(relaxed.body));
  assert.equal((await signInOf(userId)).status, 201);
  await must(api, 'PUT', '/admin/v1/policies/login', { forceMfa: true });
  const refused = await signInOf(userId);
  await must(api, 'PUT', '/admin/v1/policies/login', { forceMfa: false });
  assert.equal(errorId(refused), 'SESSION-MFA-SETUP-REQUIRED');
});

test('the age policy of an organization does not relax that of the instance', async () => {
  const { userId, owner } = await withBoss();
  const relaxed = { maxAgeDays: 0, expireWarnDays: 0 };
  const answer = await api.call('POST', '/management/v1/policies/password/age', relaxed, owner);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const aged = `update users set password_changed_at = now() - interval '40 days' where id = $1`;
  await api.deps.pool.query(aged, [userId]);
  assert.equal((await signInOf(userId)).status, 201);
  await must(api, 'PUT', '/admin/v1/policies/password/age', { maxAgeDays: 30, expireWarnDays: 0 });
  const { body } = await signInOf(userId);
  await must(api, 'PUT', '/admin/v1/policies/password/age', relaxed);
  assert.match(JSON.stringify(body), /xpired|PASSWORD/);
});

test('the complexity policy of an organization does not relax that of the instance', async () => {
  const { userId, owner } = await withBoss();
  const rules = (minLength: number) => {
    return { minLength, hasUppercase: false, hasLowercase: false, hasNumber: false, hasSymbol: false };
  };
  const relaxed = await api.call('POST', '/management/v1/policies/password/complexity', rules(8), owner);
  assert.equal(relaxed.status, 200, JSON.stringify(relaxed.body));
  const path = `/v2beta/users/${userId}/password`;
  const set = (password: string) => api.call('POST', path, { newPassword: { password } });
  await must(api, 'PUT', '/admin/v1/policies/password/complexity', rules(14));
  const weak = await set('zq7 hbm wx');
  const good = await set('zq7 hbm wx yv kd');
  await must(api, 'PUT', '/admin/v1/policies/password/complexity', rules(8));
  assert.deepEqual([errorId(weak), good.status], ['PASSWORD-POLICY', 200], JSON.stringify(weak.body));
});

test('the sign-in names of an organization keep no IAM_OWNER out', async () => {
  const { userId, userName, owner, orgId } = await withBoss();
  await api.deps.pool.query('update users set email_verified = false where id = $1', [userId]);
  const set = await api.call('PUT', '/management/v1/orgs/me/sign_in_names', { signInNames: ['email'] }, owner);
  assert.equal(set.status, 200, JSON.stringify(set.body));
  const { rows } = await api.deps.pool.query('select primary_domain as domain from organizations where id = $1', [
    orgId,
  ]);
  const loginName = `${userName}@${rows[0].domain}`;
  const checks = { user: { loginName }, password: { password: PASSWORD } };
  assert.equal((await api.call('POST', '/v2beta/sessions', { checks })).status, 201);
});

test('the allowed URLs of an organization send no code of an IAM_OWNER there', async () => {
  const { userId, owner } = await withBoss();
  const urls = { allowedUrls: ['https://evil.example'] };
  assert.equal((await api.call('PUT', '/management/v1/orgs/me/allowed_urls', urls, owner)).status, 200);
  const urlTemplate = 'https://evil.example/?code={{.Code}}&user={{.UserID}}';
  for (const [path, body] of [
    [`/v2beta/users/${userId}/password_reset`, { sendLink: { urlTemplate } }],
    [`/v2beta/users/${userId}/email/resend`, { sendCode: { urlTemplate } }],
    [`/v2beta/users/${userId}/email`, { email: 'evil@example.com', sendCode: { urlTemplate } }],
  ] as const) {
    const refused = await api.call('POST', path, body, owner);
    assert.deepEqual([refused.status, errorId(refused)], [403, 'AUTH-PERMISSION'], path);
  }
});

const IDPS = '/management/v1/idps';

/** A user of the organization with a link of this name, and with a role elsewhere or in the instance. */
async function linked(orgId: string, idpId: string, rights: 'instance' | 'elsewhere'): Promise<string> {
  const name = unique('linked');
  const { userId } = await must(api, 'POST', '/v2beta/users/human', {
    username: name,
    organization: { orgId },
    profile: { givenName: 'Ann', familyName: 'Arbor' },
    email: { email: `${name}@acme.example`, isVerified: true },
    idpLinks: [{ idpId, userId: name, userName: name }],
  });
  if (rights === 'instance') await must(api, 'POST', '/admin/v1/members', { userId, roles: ['IAM_OWNER'] });
  else {
    const other = (await api.setupOrg()).orgId;
    await must(api, 'POST', '/management/v1/orgs/me/members', { userId, roles: ['ORG_OWNER'] }, other);
  }
  return userId;
}

test('an ORG_OWNER does not change a provider that decides for somebody with more rights', async () => {
  const { orgId } = await api.setupOrg();
  const owner = { ...(await api.machine(orgId, ['ORG_OWNER'])), orgId };
  const google = { type: 'google', clientId: 'c', clientSecret: 's' };
  const { idpId } = await must(api, 'POST', IDPS, google, orgId);
  const userId = await linked(orgId, 'Google-OAuth2', 'elsewhere');
  const provider = async () => (await findIdp(api.deps.pool, idpId)) as Idp;
  assert.equal(await mayDecide(api.deps.pool, await provider(), userId), true);
  for (const change of [{ issuer: 'https://a.example', clientSecret: 'x' }, { isEnabled: false }, { aliases: [] }]) {
    const refused = await api.call('PATCH', `${IDPS}/${idpId}`, change, owner);
    assert.deepEqual([refused.status, errorId(refused)], [403, 'AUTH-PERMISSION'], JSON.stringify(change));
  }
  assert.equal((await api.call('DELETE', `${IDPS}/${idpId}`, undefined, owner)).status, 403);

  await api.deps.pool.query('update idps set set_by = $2 where id = $1', [idpId, owner.userId]);
  assert.equal(await mayDecide(api.deps.pool, await provider(), userId), false);
  const changed = await api.call('PATCH', `${IDPS}/${idpId}`, { isEnabled: false }, owner);
  assert.equal(changed.status, 200, 'it decides about nobody with more rights any more');
});

test('a provider of an organization never decides for an IAM_OWNER, one of the instance for everybody', async () => {
  const { orgId } = await api.setupOrg();
  const owner = { ...(await api.machine(orgId, ['ORG_OWNER'])), orgId };
  const google = { type: 'google', clientId: 'c' };
  const { idpId } = await must(api, 'POST', IDPS, google, orgId);
  const userId = await linked(orgId, 'google', 'instance');
  assert.equal(await mayDecide(api.deps.pool, (await findIdp(api.deps.pool, idpId)) as Idp, userId), false);
  assert.equal((await api.call('PATCH', `${IDPS}/${idpId}`, { name: 'x' }, owner)).status, 200);
  assert.equal(await mayDecide(api.deps.pool, { orgId: null, setBy: null }, userId), true);
});

test('a provider that an ORG_OWNER adds takes no links of an IAM_OWNER from one of the instance', async () => {
  const { orgId } = await api.setupOrg();
  const owner = { ...(await api.machine(orgId, ['ORG_OWNER'])), orgId };
  await linked(orgId, 'acme-hub', 'instance');
  const own = { type: 'github', clientId: 'c', aliases: ['x', 'ACME-Hub'] };
  const add = () => api.call('POST', IDPS, own, owner);
  const first = await add();
  assert.equal(first.status, 200, 'there is none of the instance');
  await must(api, 'DELETE', `${IDPS}/${first.body.idpId}`, undefined);
  const shared = await must(api, 'POST', '/admin/v1/idps', { ...own, aliases: ['Acme-Hub'] });
  assert.deepEqual([(await add()).status, errorId(await add())], [403, 'AUTH-PERMISSION']);
  const { idpId } = (await api.call('POST', IDPS, { ...own, aliases: [] }, owner)).body;
  const change = () => api.call('PATCH', `${IDPS}/${idpId}`, { aliases: ['acme-hub'] }, owner);
  assert.equal((await change()).status, 403);
  await must(api, 'DELETE', `/admin/v1/idps/${shared.idpId}`, undefined);
  assert.equal((await change()).status, 200);
});
