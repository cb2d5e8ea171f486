/** Signing in at an external provider: who arrives, what is stored of it, and which ways lead there. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { addHuman, addVerified, eventsOf, humanRow, unsentMails } from '../../directory/users/people.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { startProvider, type TestProvider } from '../../support/providers.ts';
import { codeAt } from '../../support/totp.ts';
import { addClient, hiddenOf } from '../pages/visitor.ts';
import { addLink, addProvider, alertOf, hasCode, newestEvent, signedIn, traveller } from './traveller.ts';

let api: TestApi;
let google: TestProvider;
let org: SetUp;
let clientId: string;
let idpId: string;
before(async () => {
  api = await startApi({
    env: { IDP_ALLOW_PRIVATE: 'true', LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0' },
  });
  const email = { email: 'ann@gmail.example', email_verified: true };
  google = await startProvider({
    kind: 'google',
    people: [
      { login: 'ann@gmail.example', id: 'g-ann', claims: { ...email, name: 'Ann Arbor' } },
      { login: 'bob@gmail.example', id: 'g-bob', claims: { email: 'bob@gmail.example', email_verified: true } },
      { login: 'pat@gmail.example', id: 'g-pat', amr: ['pwd', 'mfa', 'made-up'], claims: {} },
    ],
  });
  clientId = await addClient(api);
  idpId = await addProvider(api, google);
});
beforeEach(async () => {
  org = await api.setupOrg();
  await api.deps.pool.query('delete from user_idp_links');
});
after(async () => {
  await google.stop();
  await api.stop();
});

const PASSWORD = 'correct horse battery staple';
const ann = { login_hint: 'ann@gmail.example' };
const go = (more: Record<string, string> = {}) => traveller(api, { clientId, more });
/** Arrives by a hint, which leads straight to the provider. */
const arrive = async (more: Record<string, string> = {}) => {
  const by = await go({ idp_hint: idpId, ...ann, ...more });
  return { by, ...(await by.get(by.path)) };
};

describe('a sign-in at a provider', () => {
  it('begins with a button, and signs in the user whose link it is, without a mail, as an event with the provider', async () => {
    const userId = await addHuman(api, org.orgId);
    await addLink(api, userId, 'google-oauth2', 'g-ann');
    const [since, by] = [await newestEvent(api), await go(ann)];
    const page = await by.get(by.path);
    assert.match(page.text, />Continue with Google</);
    assert.ok(!/src=|href="http/.test(page.text), 'the page loads nothing');
    assert.ok(page.headers.get('content-security-policy')?.includes(`form-action 'self' ${google.issuer}`));
    const arrived = await by.send(page, 'provider', { idpId });
    assert.ok(hasCode(arrived), arrived.way.join('\n'));
    assert.deepEqual(await signedIn(api, since), [{ userId, amr: [], idpId }]);
    assert.equal((await humanRow(api, userId)).state, 'active');
    assert.deepEqual(await unsentMails(api, userId), []);
    assert.deepEqual((await eventsOf(api, userId)).slice(-1), ['user.human.initialised']);
  });

  it('passes on what the provider says in amr, as far as RFC 8176 knows it', async () => {
    const userId = await addVerified(api, org.orgId);
    await addLink(api, userId, idpId, 'g-pat');
    const since = await newestEvent(api);
    assert.ok(hasCode(await arrive({ login_hint: 'pat@gmail.example' })));
    assert.deepEqual(await signedIn(api, since), [{ userId, amr: ['pwd', 'mfa'], idpId }]);
  });

  it('asks for the second factor here, whatever the provider says, and signs in nobody whose link is gone then', async () => {
    const userId = await addVerified(api, org.orgId);
    await addLink(api, userId, idpId, 'g-pat');
    const path = `/v2beta/users/${encodeURIComponent(userId)}/totp`;
    const { secret } = (await api.call('POST', path)).body;
    await api.call('POST', `${path}/verify`, { code: codeAt(secret) });
    const again = 'update user_totp set last_step = last_step - 2 where user_id = $1';
    await api.deps.pool.query(again, [userId]);
    const since = await newestEvent(api);
    const { by, ...page } = await arrive({ login_hint: 'pat@gmail.example' });
    assert.match(page.text, /Enter your code/);
    assert.deepEqual(await signedIn(api, since), []);
    const wrong = await by.send(page, 'code', { code: '000000' });
    assert.equal(wrong.status, 400);
    assert.ok(hasCode(await by.send(page, 'code', { code: codeAt(secret) })));
    assert.deepEqual(await signedIn(api, since), [{ userId, amr: ['pwd', 'mfa', 'otp'], idpId }]);

    await api.deps.pool.query(again, [userId]);
    const later = await arrive({ login_hint: 'pat@gmail.example' });
    await api.deps.pool.query('delete from user_idp_links where user_id = $1', [userId]);
    const refused = await later.by.send(later, 'code', { code: codeAt(secret) });
    assert.ok(!hasCode(refused) && refused.status === 400, refused.text);
  });

  it('lets a user set up the second factor that the policy requires, and asks again once a policy requires one', async () => {
    const policy = (forceMfa: boolean) =>
      api.call('PUT', '/management/v1/policies/login', { forceMfa }, { orgId: org.orgId });
    const userId = await addVerified(api, org.orgId);
    await addLink(api, userId, idpId, 'g-pat');
    const before = await arrive({ login_hint: 'pat@gmail.example' });
    assert.ok(hasCode(before));
    await policy(true);
    const path = await before.by.by.begin(clientId);
    assert.match(path, /^\/ui\/login\//, 'the session of the provider is not enough any more');
    const page = await arrive({ login_hint: 'pat@gmail.example' });
    assert.match(page.text, /Set up a second factor/);
    const key = /class="key">([^<]+)</.exec(page.text)?.[1]?.replaceAll(' ', '') ?? '';
    assert.ok(hasCode(await page.by.send(page, 'setup', { code: codeAt(key) })));
    await policy(false);
  });

  it('shows locked and inactive users their page, and changes nothing for them', async () => {
    const userId = await addHuman(api, org.orgId);
    await addLink(api, userId, idpId, 'g-ann');
    for (const [state, words] of [
      ['locked', 'Your account is locked'],
      ['inactive', 'Your account is deactivated'],
    ] as const) {
      await api.deps.pool.query('update users set state = $2 where id = $1', [userId, state]);
      const page = await arrive();
      assert.deepEqual([page.status, page.text.includes(words)], [400, true]);
      assert.equal((await humanRow(api, userId)).state, state);
    }
    await api.deps.pool.query('update organizations set inactive_since = now() where id = $1', [org.orgId]);
    await api.deps.pool.query(`update users set state = 'active' where id = $1`, [userId]);
    assert.match((await arrive()).text, /Your account is deactivated/);
  });

  it('lets people choose among the organizations of their account, and only among these', async () => {
    const other = await api.setupOrg();
    const third = await api.setupOrg();
    const [here, there] = [await addHuman(api, org.orgId), await addHuman(api, other.orgId)];
    await addLink(api, here, 'google', 'g-ann');
    await addLink(api, there, idpId, 'g-ann');
    const since = await newestEvent(api);
    const { by, ...page } = await arrive();
    assert.match(page.text, /Choose an organization/);
    assert.ok(!page.text.includes(`value="${third.orgId}"`));
    const forged = await by.send(page, 'organization', { orgId: third.orgId });
    assert.match(alertOf(forged), /not connected to an account here/);
    assert.ok(hasCode(await by.send(page, 'organization', { orgId: other.orgId })));
    assert.deepEqual(await signedIn(api, since), [{ userId: there, amr: [], idpId }]);
    const named = await arrive({ organization: org.orgId });
    assert.ok(hasCode(named));
    assert.equal((await signedIn(api, since)).at(-1)?.userId, here);
  });

  it('says what is wrong when the provider does not answer or confirm, and leaves the other ways open', async () => {
    google.misbehave.faults = { token: 'down' };
    const down = await arrive();
    google.misbehave.faults = {};
    assert.equal(down.status, 503);
    assert.equal(
      alertOf(down),
      'We cannot reach Google right now. Try again in a few minutes, or use a code by email.',
    );
    google.misbehave.signing = 'other-key';
    const forged = await arrive();
    google.misbehave.signing = undefined;
    assert.equal(forged.status, 400);
    assert.equal(alertOf(forged), 'Google did not confirm who you are. Try again, or use a code by email.');
    for (const page of [down, forged]) {
      assert.match(page.text, />Continue with Google</);
      const password = await page.by.send(page, 'password', { loginName: 'somebody' });
      assert.deepEqual([password.status, password.text.includes('type="password"')], [200, true]);
    }
    const retried = await forged.by.send(forged, 'provider', { idpId });
    assert.match(alertOf(retried), /not connected to an account here/);
  });

  it('leads back to the page after a cancellation at the provider', async () => {
    const { by, ...page } = await arrive({ login_hint: 'cancel' });
    assert.deepEqual([page.status, page.at], [200, `${api.url}${by.path}`]);
    assert.equal(alertOf(page), '');
  });

  it('reads the answer of the provider once', async () => {
    const userId = await addVerified(api, org.orgId);
    await addLink(api, userId, idpId, 'g-ann');
    const { by, way } = await arrive();
    const back = way.find((address) => address.includes('/idps/') && address.includes('/ui/login/')) ?? '';
    const again = await by.get(back.slice(api.url.length));
    assert.ok(!hasCode(again) && [400, 410].includes(again.status));
  });
});

describe('the way to a provider', () => {
  it('is straight for the id, an alias or the name, also under the names of Keycloak and Auth0', async () => {
    const leads = async (more: Record<string, string>) => {
      const by = await go(more);
      return (await by.by.get(by.path)).headers.get('location')?.startsWith(google.issuer) === true;
    };
    for (const more of [
      { idp_hint: idpId },
      { kc_idp_hint: 'Google' },
      { connection: 'google-oauth2' },
      { idp_hint: 'oauth_google' },
    ])
      assert.ok(await leads(more as Record<string, string>), JSON.stringify(more));
    for (const more of [{ idp_hint: 'nobody' }, { connection: 'x'.repeat(300) }, { login_hint: 'ann@gmail.example' }])
      assert.ok(!(await leads(more as Record<string, string>)), JSON.stringify(more));
  });

  it('is straight once: a failure, and a reload, show the other ways', async () => {
    google.misbehave.faults = { discovery: 'down', token: 'down' };
    const { by, ...failed } = await arrive();
    google.misbehave.faults = {};
    assert.equal(failed.status, 503);
    const reloaded = await by.get(by.path);
    assert.deepEqual([reloaded.status, reloaded.at], [200, api.url + by.path]);
    assert.match(reloaded.text, /Continue with Google/);
  });

  it('is straight for the domain of an address, also once it is typed; of an organization only with its own domain', async () => {
    const domain = `${org.orgId.toLowerCase()}.example.org`;
    const own = await addProvider(api, google, {
      orgId: org.orgId,
      name: 'Acme sign-in',
      domains: [domain],
      aliases: [],
    });
    const address = `ann@${domain}`;
    const named = await go({ organization: org.orgId });
    const page = await named.get(named.path);
    assert.match(page.text, /Continue with Acme sign-in/);
    const typed = await named.by.post(named.path, { ...hiddenOf(page, 'password'), loginName: address });
    assert.ok(typed.headers.get('location')?.startsWith(google.issuer), typed.text);
    const again = await named.by.post(named.path, { ...hiddenOf(page, 'password'), loginName: address });
    assert.deepEqual([again.status, again.text.includes('type="password"')], [200, true], 'not a second time');

    const elsewhere = await go({ login_hint: address });
    const shown = await elsewhere.get(elsewhere.path);
    assert.deepEqual([shown.status, shown.text.includes('Acme sign-in')], [200, false]);
    await api.deps.pool.query('update organizations set primary_domain = $2 where id = $1', [org.orgId, domain]);
    const ofDomain = await go({ login_hint: address });
    assert.ok((await ofDomain.by.get(ofDomain.path)).headers.get('location')?.startsWith(google.issuer));
    await api.call('DELETE', `/management/v1/idps/${own}`, undefined, { orgId: org.orgId });
  });

  it('passes on prompt, max_age and login_hint', async () => {
    const ask = async (more: Record<string, string>) => {
      const by = await go({ idp_hint: idpId, ...more });
      return new URL((await by.by.get(by.path)).headers.get('location') ?? '').searchParams;
    };
    const asked = await ask({ ...ann, max_age: '300', prompt: 'login' });
    assert.deepEqual([asked.get('login_hint'), asked.get('prompt')], ['ann@gmail.example', 'login']);
    assert.ok(asked.has('max_age'));
    assert.equal((await ask({})).get('prompt'), null);
  });

  it('asks who has to sign in recently for something else, where the provider does not say when they did', async () => {
    const undated = async (more: Record<string, string> = {}) => {
      google.misbehave.claims = { auth_time: undefined };
      const page = await arrive({ max_age: '300', ...more });
      google.misbehave.claims = undefined;
      return page;
    };
    const policy = async (mailCode: string) => {
      const answer = await api.call('PUT', '/management/v1/policies/login', { mailCode }, { orgId: org.orgId });
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
    };
    const [since, withPassword] = [await newestEvent(api), await addVerified(api, org.orgId, PASSWORD)];
    await addLink(api, withPassword, idpId, 'g-ann');
    const named = { organization: org.orgId };
    await policy('off');
    const page = await undated(named);
    assert.equal(page.status, 400);
    assert.match(alertOf(page), /^This needs a recent sign‑in, and Google does not say when.* Enter your password\.$/);
    const [, loginName = ''] = /name="loginName"[^>]* value="([^"]*)"/.exec(page.text) ?? [];
    assert.ok(loginName.startsWith(`${withPassword}@`), 'the name is there');
    assert.deepEqual(await signedIn(api, since), []);
    assert.ok(hasCode(await page.by.send(page, 'password', { loginName, password: PASSWORD })), 'the password does');
    await policy('all');
    assert.match(alertOf(await undated(named)), /Enter your password, or use a code by email\.$/);

    await api.deps.pool.query('delete from user_idp_links');
    const without = await addHuman(api, org.orgId);
    await addLink(api, without, idpId, 'g-ann');
    assert.match(alertOf(await undated(named)), /there\. Use a code by email\.$/);
    await policy('off');
    assert.match(alertOf(await undated(named)), /Select “Forgot password\?” to choose a password/);
    await api.deps.pool.query('delete from user_idp_links');
    assert.match(alertOf(await undated(named)), /does not say when .* Sign in in another way, or ask/);
    const events = await api.deps.pool.query(
      `select distinct payload ->> 'reason' as reason from audit_events where type = 'user.signin.failed' and sequence > $1::bigint`,
      [since],
    );
    assert.deepEqual(events.rows, [{ reason: 'provider_undated' }]);
    const dated = { ...named, max_age: '300' };
    await addLink(api, withPassword, idpId, 'g-ann');
    assert.ok(hasCode(await arrive(dated)), 'a provider that says it is enough');
  });

  it('leaves "Continue" to somebody who is signed in', async () => {
    const native = await addClient(api, { redirectUris: ['http://127.0.0.1/callback'] });
    const userId = await addVerified(api, org.orgId);
    await addLink(api, userId, idpId, 'g-ann');
    const { by } = await arrive();
    const path = await by.by.begin(native, { idp_hint: idpId, redirect_uri: 'http://127.0.0.1/callback' });
    assert.match((await by.by.get(path)).text, />Continue</);
  });
});
