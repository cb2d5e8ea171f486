/**
 * Attacks on sign-ins at external providers, over HTTP, each refused; the numbers name them. The attacks on the protocol
 * itself (T9 to T12) are beside its code.
 */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { batchStore } from '../../../src/imports/run/stores.ts';
import {
  addHuman,
  addVerified,
  contactOf,
  humanRow,
  mailCode,
  tokenOf,
  unsentMails,
} from '../../directory/users/people.ts';
import { errorId, type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';
import { bulk } from '../../support/imports/bodies.ts';
import { SETTINGS } from '../../support/imports/existing.ts';
import { entry, openWriterPool } from '../../support/imports/imports.ts';
import { type Person, startProvider, type TestProvider } from '../../support/providers.ts';
import { addClient, comparable } from '../pages/visitor.ts';
import { addLink, addProvider, alertOf, hasCode, newestEvent, signedIn, traveller } from './traveller.ts';

const ADDRESS = 'ann@corp.example';
const PASSWORD = 'correct horse';

let api: TestApi;
let google: TestProvider;
let microsoft: TestProvider;
let org: SetUp;
let clientId: string;
let googleId: string;
let microsoftId: string;
before(async () => {
  const env = { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0', LOCK_AFTER_FAILURES: '0' };
  api = await startApi({ env: { ...env, IDP_ALLOW_PRIVATE: 'true' } });
  google = await startProvider({ kind: 'google', people: [] });
  microsoft = await startProvider({ kind: 'microsoft', people: [] });
  clientId = await addClient(api);
  googleId = await addProvider(api, google, { trustsAddresses: true });
  microsoftId = await addProvider(api, microsoft);
});
beforeEach(async () => {
  org = await api.setupOrg();
  await api.deps.pool.query('delete from user_idp_links');
  await api.deps.pool.query('truncate attempt_counts');
});
after(async () => {
  await google.stop();
  await microsoft.stop();
  await api.stop();
});

/** Somebody at Google, or at another provider, who signs in for an application that names the organization. */
async function arrive(person: Omit<Person, 'login'>, { at = google, idpId = googleId, organization = org.orgId } = {}) {
  at.people.splice(0, at.people.length, { ...person, login: 'somebody' });
  const named: Record<string, string> = organization === '' ? {} : { organization };
  const by = await traveller(api, { clientId, more: { idp_hint: idpId, login_hint: 'somebody', ...named } });
  return { by, ...(await by.get(by.path)) };
}

const setRule = async (linking: string, more: object = {}, orgId = org.orgId) =>
  assert.equal((await api.call('PUT', '/management/v1/policies/login', { linking, ...more }, { orgId })).status, 200);

async function ownAddress(userId: string, email = ADDRESS): Promise<void> {
  await api.deps.pool.query('update users set email = $2, email_key = lower($2) where id = $1', [userId, email]);
}

const links = async (userId: string) =>
  (
    await api.deps.pool.query('select external_user_id as id from user_idp_links where user_id = $1 order by 1', [
      userId,
    ])
  ).rows.map(({ id }) => id);

const verified = { email: ADDRESS, email_verified: true };

describe('attacks on sign-ins at providers', () => {
  it('T1: an address links only if both sides have verified it, and the provider is listed as trusted', async () => {
    await setRule('verifiedAddress');
    const userId = await addVerified(api, org.orgId);
    await ownAddress(userId);
    const since = await newestEvent(api);
    for (const claims of [{ email: ADDRESS, email_verified: false }, { email: ADDRESS }, { email_verified: true }]) {
      const page = await arrive({ id: 'g-1', claims });
      assert.match(alertOf(page), /not connected to an account here/, JSON.stringify(claims));
    }
    await api.deps.pool.query('update users set email_verified = false where id = $1', [userId]);
    assert.match(alertOf(await arrive({ id: 'g-1', claims: verified })), /not connected/);
    await api.deps.pool.query('update users set email_verified = true where id = $1', [userId]);
    const untrusted = await addProvider(api, google, { orgId: org.orgId, aliases: [] });
    assert.match(alertOf(await arrive({ id: 'g-1', claims: verified }, { idpId: untrusted })), /not connected/);
    const twin = await addVerified(api, org.orgId);
    await ownAddress(twin);
    assert.match(alertOf(await arrive({ id: 'g-1', claims: verified })), /not connected/, 'two have the address');
    assert.deepEqual([await links(userId), await links(twin), await signedIn(api, since)], [[], [], []]);
    await ownAddress(twin, 'other@corp.example');
    assert.ok(hasCode(await arrive({ id: 'g-1', claims: verified })));
    assert.deepEqual(await links(userId), ['g-1']);
    assert.deepEqual(await unsentMails(api, userId), ['link_added'], 'and the owner is told');
  });

  it('T1: an IAM_OWNER is never linked by an address', async () => {
    await setRule('verifiedAddress');
    const userId = await addVerified(api, org.orgId);
    await ownAddress(userId);
    await api.call('POST', '/admin/v1/members', { userId, roles: ['IAM_OWNER'] });
    assert.match(alertOf(await arrive({ id: 'g-1', claims: verified })), /not connected/);
    assert.deepEqual(await links(userId), []);
  });

  it('T2: of Microsoft, an address, a UPN or a user name finds nobody', async () => {
    const userId = await addVerified(api, org.orgId, PASSWORD);
    await ownAddress(userId);
    await api.deps.pool.query('update users set user_name = $2, user_name_key = $2 where id = $1', [userId, ADDRESS]);
    await addLink(api, userId, 'microsoft', ADDRESS);
    const claims = {
      ...{ ...verified, upn: ADDRESS, preferred_username: ADDRESS, name: ADDRESS, xms_edov: true },
      ...{ oid: '00000000-0000-0000-0000-00000000000b', tid: '00000000-0000-0000-0000-00000000000a' },
    };
    for (const rule of ['refuse', 'verifiedAddress', 'create']) {
      await setRule(rule);
      const page = await arrive({ id: 'm-1', claims }, { at: microsoft, idpId: microsoftId });
      assert.match(alertOf(page), /not connected/, rule);
    }
    assert.deepEqual(await links(userId), [ADDRESS]);
    const trusted = await api.call('PATCH', `/admin/v1/idps/${microsoftId}`, { trustsAddresses: true });
    assert.equal(trusted.status, 400);
  });

  it('T3: the subject decides: another address there changes nobody, another subject with the address is not linked', async () => {
    await setRule('verifiedAddress');
    const [userId, other] = [await addVerified(api, org.orgId), await addVerified(api, org.orgId)];
    await ownAddress(userId);
    await ownAddress(other, 'bob@corp.example');
    await addLink(api, userId, 'google-oauth2', 'g-1');
    const since = await newestEvent(api);
    assert.ok(hasCode(await arrive({ id: 'g-1', claims: { email: 'bob@corp.example', email_verified: true } })));
    assert.deepEqual(
      (await signedIn(api, since)).map((one) => one.userId),
      [userId],
    );
    assert.equal((await contactOf(api, userId)).email, ADDRESS);
    assert.match(alertOf(await arrive({ id: 'g-2', claims: verified })), /not connected/);
    assert.deepEqual([await links(userId), await links(other)], [['g-1'], []]);
  });

  it('T4: nobody is linked unless the organization says so, and `confirm` needs the credential of the account', async () => {
    const userId = await addVerified(api, org.orgId, PASSWORD);
    await ownAddress(userId);
    const since = await newestEvent(api);
    assert.match(alertOf(await arrive({ id: 'g-1', claims: verified })), /not connected/, 'by default');
    await setRule('confirm');
    const { by, ...page } = await arrive({ id: 'g-1', claims: verified });
    assert.deepEqual([page.status, /Sign in once to connect Google/.test(page.text)], [200, true]);
    const unknown = await arrive({ id: 'g-9', claims: { email: 'nobody@corp.example', email_verified: true } });
    const text = (one: typeof page) =>
      comparable(one).replaceAll(/(?:ann|nobody)@corp\.example|name="connect" value="[^"]*"|action="[^"]*"/g, '');
    assert.equal(text(unknown), text(page), 'whether or not there is an account');
    const wrong = await by.send(page, 'password', { loginName: userId, password: 'wrong' });
    assert.deepEqual([wrong.status, await links(userId), await signedIn(api, since)], [400, [], []]);
    const other = await traveller(api, { clientId, more: { organization: org.orgId } });
    const theirs = await other.get(other.path);
    const { connect = '' } = Object.fromEntries(
      [...page.text.matchAll(/name="(connect)" value="([^"]*)"/g)].map(([, name, value]) => [name, value]),
    );
    assert.ok(hasCode(await other.send(theirs, 'password', { loginName: userId, password: PASSWORD, connect })));
    assert.deepEqual(await links(userId), [], 'the form of another sign-in');
    assert.ok(hasCode(await by.send(wrong, 'password', { loginName: userId, password: PASSWORD })));
    assert.deepEqual([await links(userId), await unsentMails(api, userId)], [['g-1'], ['link_added']]);
    assert.ok(hasCode(await arrive({ id: 'g-1', claims: verified })), 'from then on by button');
  });

  it('T4: where the organization is not known, that of the user decides once they have signed in', async () => {
    await api.deps.pool.query(`update login_policies set linking = 'refuse'`);
    const elsewhere = await api.setupOrg();
    const userId = await addVerified(api, elsewhere.orgId, PASSWORD);
    assert.match(alertOf(await arrive({ id: 'g-1', claims: verified }, { organization: '' })), /not connected/);
    await setRule('confirm');
    const { by, ...page } = await arrive({ id: 'g-1', claims: verified }, { organization: '' });
    assert.match(page.text, /Sign in once to connect Google/);
    const since = await newestEvent(api);
    const told = await by.send(page, 'password', { loginName: userId, password: PASSWORD });
    assert.match(told.text, /Google is not connected/);
    assert.deepEqual([await links(userId), await signedIn(api, since)], [[], []]);
    assert.ok(hasCode(await by.send(told, 'later')));
    assert.deepEqual(await links(userId), []);
  });

  it('T4: a form made by hand with the account of another visit does not make a sign-in at a provider one of ours', async () => {
    const elsewhere = await api.setupOrg();
    const person = { id: 'g-1', claims: {}, amr: ['pwd', 'mfa'] };
    const users = [await addVerified(api, org.orgId), await addVerified(api, elsewhere.orgId)];
    for (const userId of users) await addLink(api, userId, 'google', 'g-1');
    await setRule('confirm');
    const claims = { oid: '00000000-0000-0000-0000-00000000000c', tid: '00000000-0000-0000-0000-00000000000a' };
    const there = { at: microsoft, idpId: microsoftId, organization: '' };
    const { by, ...asked } = await arrive({ id: 'm-9', claims }, there);
    const [, connect = ''] = /name="connect" value="([^"]*)"/.exec(asked.text) ?? [];
    assert.notEqual(connect, '');
    google.people.splice(0, google.people.length, { ...person, login: 'somebody' });
    const choice = await by.send(await by.get(by.path), 'provider', { idpId: googleId });
    assert.match(choice.text, /Choose an organization/);
    const since = await newestEvent(api);
    const told = await by.send(choice, 'organization', { orgId: elsewhere.orgId, connect });
    assert.match(told.text, /Microsoft is not connected/);
    assert.ok(hasCode(await by.send(told, 'later')));
    const [, userId = ''] = users;
    assert.deepEqual(await signedIn(api, since), [{ userId, amr: ['pwd', 'mfa'], idpId: googleId }]);
    await setRule('refuse', { forceMfa: true }, elsewhere.orgId);
    assert.match(await by.by.begin(clientId), /^\/ui\/login\//, 'the second factor of the provider is not ours');
  });

  it('T5: nobody sets a password of an imported user, and what was begun ends when the owner comes by the provider', async () => {
    const userId = await addHuman(api, org.orgId);
    await ownAddress(userId);
    await addLink(api, userId, 'google', 'g-1');
    const path = `/v2beta/users/${encodeURIComponent(userId)}`;
    const chosen = { newPassword: { password: 'chosen by a stranger' } };
    for (const body of [chosen, { ...chosen, verificationCode: 'AAAAAAAAAAAA' }, { ...chosen, currentPassword: '' }]) {
      const { status } = await api.call('POST', `${path}/password`, body, { token: null });
      assert.ok([400, 401].includes(status), JSON.stringify(body));
    }
    assert.equal((await humanRow(api, userId)).password_hash, null);
    const codes = {
      initialise: (await mailCode(api, userId, 'initialise')).code,
      reset: (await mailCode(api, userId, 'reset_password')).code,
      verify: (await mailCode(api, userId, 'verify_email')).code,
    };
    assert.ok(hasCode(await arrive({ id: 'g-1', claims: verified })));
    assert.deepEqual([(await humanRow(api, userId)).state, await unsentMails(api, userId)], ['active', []]);
    for (const verificationCode of [codes.initialise, codes.reset]) {
      const { status } = await api.call('POST', `${path}/password`, { ...chosen, verificationCode }, { token: null });
      assert.equal(status, 400);
    }
    assert.equal((await api.call('POST', `${path}/email/verify`, { verificationCode: codes.verify })).status, 400);
  });

  it('T6 (unexpired session): a session and tokens from before end', async () => {
    const userId = await addHuman(api, org.orgId, PASSWORD);
    await addLink(api, userId, 'google', 'g-1');
    const checks = { user: { userId }, password: { password: PASSWORD } };
    const { sessionId, sessionToken } = (await api.call('POST', '/v2beta/sessions', { checks })).body;
    const token = await tokenOf(api, userId);
    const alive = async () => [
      (await api.call('GET', `/v2beta/sessions/${sessionId}?sessionToken=${sessionToken}`)).status,
      (await api.call('GET', '/auth/v1/users/me', undefined, { token })).status,
    ];
    assert.deepEqual(await alive(), [200, 200]);
    assert.ok(hasCode(await arrive({ id: 'g-1', claims: {} })));
    assert.deepEqual(await alive(), [404, 401]);
    const own = await tokenOf(api, userId);
    assert.ok(hasCode(await arrive({ id: 'g-1', claims: {} })));
    const me = await api.call('GET', '/auth/v1/users/me', undefined, { token: own });
    assert.equal(me.status, 200, 'a later sign-in ends nothing, though the address is still not verified');
  });

  it('T6 (trojan identifier): a number that nobody has verified is removed, and its code ends; an imported one stays', async () => {
    const [userId, imported] = [await addHuman(api, org.orgId), await addHuman(api, org.orgId)];
    await addLink(api, userId, 'google', 'g-1');
    await addLink(api, imported, 'google', 'g-2');
    await api.deps.pool.query(`update users set phone = '+41791234500' where id = $1`, [imported]);
    const path = `/v2beta/users/${encodeURIComponent(userId)}/phone`;
    const { verificationCode } = (await api.call('POST', path, { phone: '+41791234567', returnCode: {} })).body;
    assert.ok(hasCode(await arrive({ id: 'g-1', claims: {} })));
    assert.equal((await contactOf(api, userId)).phone, null);
    assert.equal((await api.call('POST', `${path}/verify`, { verificationCode })).status, 400);
    assert.ok(hasCode(await arrive({ id: 'g-2', claims: {} })));
    assert.equal((await contactOf(api, imported)).phone, '+41791234500');
  });

  it('T6 (unexpired email change): an address that waits for its code is given up', async () => {
    const userId = await addHuman(api, org.orgId, PASSWORD);
    await addLink(api, userId, 'google', 'g-1');
    const path = `/v2beta/users/${encodeURIComponent(userId)}/email`;
    const attackers = 'mallory@evil.example';
    await api.deps.pool.query(
      `insert into codes (user_id, purpose, expires_at, address) values ($1, 'verify_email', now() + interval '1 hour', $2)`,
      [userId, attackers],
    );
    const { rows } = await api.deps.pool.query('select id, generation from codes where user_id = $1', [userId]);
    const verificationCode = api.deps.secrets.code(rows[0].id, rows[0].generation);
    assert.ok(hasCode(await arrive({ id: 'g-1', claims: {} })));
    assert.equal((await api.call('POST', `${path}/verify`, { verificationCode })).status, 400);
    assert.notEqual((await contactOf(api, userId)).email, attackers);
  });

  it('T6 (non-verifying provider): its word verifies no address', async () => {
    const userId = await addHuman(api, org.orgId);
    await ownAddress(userId);
    await addLink(api, userId, 'google', 'g-1');
    for (const claims of [
      {},
      { email: ADDRESS, email_verified: false },
      { email: 'x@corp.example', email_verified: true },
    ]) {
      assert.ok(hasCode(await arrive({ id: 'g-1', claims })));
      assert.equal((await contactOf(api, userId)).emailVerified, false, JSON.stringify(claims));
    }
    assert.ok(hasCode(await arrive({ id: 'g-1', claims: verified })));
    assert.equal((await contactOf(api, userId)).emailVerified, true, 'a trusted one, of this very address');
  });

  it('T6 (classic-federated merge): a code by mail does not open what the provider has opened', async () => {
    const userId = await addHuman(api, org.orgId);
    await addLink(api, userId, 'google', 'g-1');
    const { code } = await mailCode(api, userId, 'initialise');
    assert.ok(hasCode(await arrive({ id: 'g-1', claims: {} })));
    const body = { newPassword: { password: 'chosen by a stranger' }, verificationCode: code };
    const path = `/v2beta/users/${encodeURIComponent(userId)}/password`;
    assert.equal((await api.call('POST', path, body, { token: null })).status, 400);
    assert.equal((await humanRow(api, userId)).password_hash, null);
  });

  /** Neither of two users comes by their account at a provider, until one gives it up; the other ways stay open. */
  async function checkHeldTwice(one: string, two: string, subject: string, at: { idpId?: string } = {}) {
    const since = await newestEvent(api);
    const { by, ...page } = await arrive({ id: subject, claims: verified }, at);
    assert.deepEqual([page.status, alertOf(page).includes('is connected to several accounts here')], [400, true]);
    assert.match(page.text, /name="loginName"[\s\S]*type="password"[\s\S]*Continue with /);
    assert.deepEqual(await signedIn(api, since), []);
    assert.ok(hasCode(await by.send(page, 'password', { loginName: one, password: PASSWORD })));
    const path = `/v2beta/users/${encodeURIComponent(one)}/links`;
    const [link] = (await api.call('GET', path)).body.result;
    assert.deepEqual([link.isHeldTwice, await links(two)], [true, [subject]]);
    const own = `${path}/${encodeURIComponent(link.idpId)}/${encodeURIComponent(subject)}`;
    const removed = await api.call('DELETE', own, undefined, { token: await tokenOf(api, one) });
    assert.equal(removed.status, 200, JSON.stringify(removed.body));
    assert.ok(hasCode(await arrive({ id: subject, claims: verified }, at)));
    const users = (await signedIn(api, since)).map(({ userId }) => userId);
    assert.deepEqual(users, [one, two], 'the first one by the password');
  }

  it('T7: an account that an import gives to a second user signs in neither, which the import says', async () => {
    const one = await addVerified(api, org.orgId, PASSWORD);
    await addLink(api, one, 'google', 'g-1');
    const two = unique('auth0|two');
    const idps = [{ configId: 'google-oauth2', externalUserId: 'g-1', displayName: 'Two' }];
    const user = { ...entry(unique('two'), { hashedPassword: undefined, idps }), userId: two };
    const { importId } = (await api.call('POST', '/admin/v1/import', bulk(org.orgId, [user]))).body;
    const causes = async () => {
      const { items } = (await api.call('GET', `/admin/v1/imports/${importId}/items`)).body;
      return items.map(({ signIn }: { signIn: { cause?: string } }) => signIn.cause);
    };
    assert.deepEqual(await causes(), ['LINK_HELD_TWICE']);
    const writer = openWriterPool(api.deps.config.DATABASE_URL);
    await batchStore(writer, SETTINGS).write(importId, [0]);
    await writer.end();
    assert.deepEqual([await links(two), await causes()], [['g-1'], ['LINK_HELD_TWICE']]);
    await checkHeldTwice(one, two, 'g-1');
  });

  it('T7: nobody is given an account that another user has, not even at the same time; names may turn out to be one', async () => {
    const [one, two] = [await addVerified(api, org.orgId, PASSWORD), await addVerified(api, org.orgId)];
    const add = (userId: string, idpId: string) =>
      api.call('POST', `/v2beta/users/${encodeURIComponent(userId)}/links`, { idpLink: { idpId, userId: 'g-1' } });
    const both = await Promise.all([add(one, 'google'), add(two, 'google-oauth2')]);
    assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409]);
    assert.deepEqual(both.map(errorId).filter(Boolean), ['IDP-LINK-HELD']);
    await api.deps.pool.query('delete from user_idp_links');

    const orgId = org.orgId;
    const own = await addProvider(api, google, { orgId, name: 'Acme Google', aliases: ['new-name'] });
    assert.deepEqual([(await add(one, 'old-name')).status, (await add(two, 'new-name')).status], [200, 200]);
    const named = await api.call(
      'PATCH',
      `/management/v1/idps/${own}`,
      { aliases: ['new-name', 'old-name'] },
      { orgId },
    );
    assert.equal(named.status, 200, JSON.stringify(named.body));
    await checkHeldTwice(one, two, 'g-1', { idpId: own });
  });

  it('T8: a link of one organization signs nobody into another, and an own provider only its users', async () => {
    const other = await api.setupOrg();
    const [ours, theirs] = [await addVerified(api, org.orgId), await addVerified(api, other.orgId)];
    await addLink(api, theirs, 'google', 'g-1');
    const since = await newestEvent(api);
    assert.match(alertOf(await arrive({ id: 'g-1', claims: {} })), /not connected/);
    const own = await addProvider(api, google, {
      orgId: org.orgId,
      name: 'Evil',
      linking: 'create',
      aliases: ['google'],
    });
    for (const organization of ['', org.orgId, other.orgId]) {
      const page = await arrive({ id: 'g-1', claims: {} }, { idpId: own, organization });
      assert.ok(!hasCode(page), organization);
    }
    assert.deepEqual(await signedIn(api, since), []);
    await addLink(api, ours, own, 'g-1');
    assert.ok(hasCode(await arrive({ id: 'g-1', claims: {} }, { idpId: own, organization: '' })));
    assert.deepEqual(
      (await signedIn(api, since)).map(({ userId }) => userId),
      [ours],
    );
  });

  it("T8: an organization's provider signs in no IAM_OWNER, and nobody with more rights than who set it up", async () => {
    const setter = await api.machine(org.orgId, ['ORG_OWNER']);
    const own = await addProvider(api, google, { orgId: org.orgId, token: setter.token, aliases: [] });
    const [admin, owner, user] = [
      await addVerified(api, org.orgId),
      await addVerified(api, org.orgId),
      await addVerified(api, org.orgId),
    ];
    await api.call('POST', '/admin/v1/members', { userId: admin, roles: ['IAM_OWNER'] });
    await api.call(
      'POST',
      '/management/v1/orgs/me/members',
      { userId: owner, roles: ['ORG_OWNER'] },
      { orgId: org.orgId },
    );
    for (const [index, id] of [admin, owner, user].entries()) await addLink(api, id, own, `g-${index}`);
    const comes = async (index: number) => hasCode(await arrive({ id: `g-${index}`, claims: {} }, { idpId: own }));
    assert.deepEqual([await comes(0), await comes(1), await comes(2)], [false, true, true]);
    await api.call('DELETE', `/management/v1/orgs/me/members/${setter.userId}`, undefined, { orgId: org.orgId });
    assert.deepEqual([await comes(1), await comes(2)], [false, true], 'who set it up has fewer rights now');
    await api.deps.pool.query(`update users set state = 'locked' where id = $1`, [user]);
    assert.deepEqual([await comes(2), (await humanRow(api, user)).state], [false, 'locked']);
  });

  it('T20: users are created only where that is on, for verified addresses of listed domains, and without roles', async () => {
    const claims = { ...verified, given_name: 'Ann', family_name: 'Arbor', groups: ['admins'], roles: ['IAM_OWNER'] };
    const count = async () =>
      (await api.deps.pool.query('select id from users where org_id = $1 and email_key = $2', [org.orgId, ADDRESS]))
        .rows;
    assert.match(alertOf(await arrive({ id: 'g-1', claims })), /not connected/, 'off by default');
    await setRule('create');
    assert.match(alertOf(await arrive({ id: 'g-1', claims })), /not connected/, 'no domain is listed');
    const own = await addProvider(api, google, { orgId: org.orgId, aliases: [], createDomains: ['corp.example'] });
    const at = { idpId: own };
    for (const wrong of [
      { ...claims, email_verified: false },
      { ...claims, email_verified: undefined },
      { ...claims, email: 'ann@corp.example.evil.example' },
      { ...claims, email: 'ann@evil.example', hd: 'corp.example' },
    ])
      assert.match(alertOf(await arrive({ id: 'g-1', claims: wrong }, at)), /not connected/, JSON.stringify(wrong));
    assert.deepEqual(await count(), []);
    const since = await newestEvent(api);
    assert.ok(hasCode(await arrive({ id: 'g-1', claims }, at)));
    const [created] = await count();
    assert.deepEqual(
      (await signedIn(api, since)).map(({ userId }) => userId),
      [created.id],
    );
    const roles = `select from instance_members where user_id = $1 union all select from org_members where user_id = $1`;
    assert.equal((await api.deps.pool.query(roles, [created.id])).rowCount, 0);
    assert.deepEqual([await links(created.id), await unsentMails(api, created.id)], [['g-1'], []]);
    assert.match(alertOf(await arrive({ id: 'g-2', claims }, at)), /an account here with the address/);
    assert.equal((await count()).length, 1);
  });

  it('T21: who owns a domain after it was sold has other subjects, and is nobody here', async () => {
    await setRule('verifiedAddress');
    const userId = await addVerified(api, org.orgId, PASSWORD);
    await ownAddress(userId);
    await addLink(api, userId, 'google-oauth2', 'g-before');
    const since = await newestEvent(api);
    for (const rule of ['verifiedAddress', 'create', 'refuse']) {
      await setRule(rule);
      const page = await arrive({ id: 'g-after', claims: { ...verified, hd: 'corp.example' } });
      assert.match(alertOf(page), /not connected|an account here with the address/, rule);
    }
    assert.deepEqual([await links(userId), await signedIn(api, since)], [['g-before'], []]);
  });
});
