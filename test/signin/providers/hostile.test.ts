/** Providers that change while somebody is there, and providers that answer nonsense: nobody gets in, and nothing breaks. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { takeResult } from '../../../src/signin/providers/round-trip.ts';
import { addHuman, addVerified, allowUrl, humanRow } from '../../directory/users/people.ts';
import { errorId } from '../../support/answers.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { startProvider, type TestProvider } from '../../support/providers.ts';
import { codeAt } from '../../support/totp.ts';
import { addClient } from '../pages/visitor.ts';
import { addLink, addProvider, alertOf, hasCode, newestEvent, signedIn, traveller } from './traveller.ts';
import { addIdp, atProvider, begin, open, requestOf } from './visit.ts';

let api: TestApi;
let google: TestProvider;
let other: TestProvider;
let org: SetUp;
let clientId: string;
before(async () => {
  api = await startApi({
    env: { IDP_ALLOW_PRIVATE: 'true', LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0' },
  });
  google = await startProvider({ kind: 'google', people: [] });
  other = await startProvider({ kind: 'google', people: [] });
  clientId = await addClient(api);
});
beforeEach(async () => {
  org = await api.setupOrg();
  await api.deps.pool.query('delete from user_idp_links');
  await api.deps.pool.query('truncate attempt_counts');
  google.misbehave = { faults: {} };
  google.people.splice(0, google.people.length, { login: 'ann', id: 'g-ann', claims: VERIFIED });
});
after(async () => {
  await google.stop();
  await other.stop();
  await api.stop();
});

const VERIFIED = { email: 'ann@corp.example', email_verified: true };

/** Somebody who signs in at the provider for an application that names the organization. */
async function arrive(idpId: string, organization = org.orgId) {
  const named: Record<string, string> = organization === '' ? {} : { organization };
  const more = { idp_hint: idpId, login_hint: 'ann', ...named };
  const by = await traveller(api, { clientId, more });
  return { by, ...(await by.get(by.path)) };
}

const ownAddress = (userId: string, email: string) =>
  api.deps.pool.query('update users set email = $2, email_key = $2 where id = $1', [userId, email]);

/** Gives the user a new second factor; returns its secret. */
async function setFactor(userId: string): Promise<string> {
  const path = `/v2beta/users/${encodeURIComponent(userId)}/totp`;
  await api.deps.pool.query('delete from user_totp where user_id = $1', [userId]);
  const { secret } = (await api.call('POST', path)).body;
  await api.call('POST', `${path}/verify`, { code: codeAt(secret) });
  await api.deps.pool.query('update user_totp set last_step = last_step - 2 where user_id = $1', [userId]);
  return secret;
}

/** The provider under a new issuer, as its owner sets it while somebody is there. */
async function move(idpId: string): Promise<void> {
  const { issuer, clientSecret } = other;
  const moved = await api.call('PATCH', `/admin/v1/idps/${idpId}`, { issuer, clientSecret });
  assert.equal(moved.status, 200, JSON.stringify(moved.body));
}

describe('a provider that changes while somebody is there', () => {
  it('gets no code that another issuer gave', async () => {
    const idp = await addIdp(api, google, { aliases: [] });
    const begun = await begin(api, idp);
    const callback = await atProvider(google, begun, 'ann');
    callback.searchParams.delete('iss');
    await move(idp.id);
    const before = other.requests.length;
    const answer = await open(callback, begun.cookie);
    assert.equal(answer.status, 400);
    assert.deepEqual(other.requests.slice(before), []);
  });

  it('does not speak for the one before it, nor after it was switched off or removed', async () => {
    const changes: ((id: string) => Promise<unknown>)[] = [
      move,
      (id) => api.call('PATCH', `/admin/v1/idps/${id}`, { isEnabled: false }),
      (id) => api.call('DELETE', `/admin/v1/idps/${id}`),
    ];
    for (const change of changes) {
      const idp = await addIdp(api, google, { aliases: [] });
      const begun = await begin(api, idp);
      const answer = await open(await atProvider(google, begun, 'ann'), begun.cookie);
      assert.equal(answer.status, 303);
      const tripId = answer.headers.get('location')?.split('/').at(-1) as string;
      await change(idp.id);
      assert.equal(await takeResult(api.deps, requestOf(begun.cookie), { tripId, uid: begun.uid }), undefined);
    }
  });

  it('has its word forgotten by the forms of a sign-in', async () => {
    const idpId = await addProvider(api, google, { aliases: [], linking: 'confirm' });
    const userId = await addVerified(api, org.orgId, 'correct horse');
    const page = await arrive(idpId);
    assert.match(page.text, /Sign in once to connect Google/);
    await move(idpId);
    const told = await page.by.send(page, 'password', { loginName: userId, password: 'correct horse' });
    assert.match(told.text, /Google is not connected/);
    assert.equal((await api.deps.pool.query('select from user_idp_links')).rowCount, 0);

    const back = await api.call('PATCH', `/admin/v1/idps/${idpId}`, google.settings({ aliases: [] }));
    assert.equal(back.status, 200);
    await addLink(api, userId, idpId, 'g-ann');
    await setFactor(userId);
    const code = await arrive(idpId);
    assert.match(code.text, /Enter your code/);
    const since = await newestEvent(api);
    await move(idpId);
    assert.ok(!hasCode(await code.by.send(code, 'code', { code: codeAt(await setFactor(userId)) })));
    assert.deepEqual(await signedIn(api, since), []);

    await api.call('PATCH', `/admin/v1/idps/${idpId}`, google.settings({ aliases: [] }));
    const elsewhere = await api.setupOrg();
    await addLink(api, await addVerified(api, elsewhere.orgId), idpId, 'g-ann');
    const choice = await arrive(idpId, '');
    assert.match(choice.text, /Choose an organization/);
    await move(idpId);
    const chosen = await choice.by.send(choice, 'organization', { orgId: elsewhere.orgId });
    assert.match(alertOf(chosen), /took too long/);
    assert.deepEqual(await signedIn(api, since), []);
  });

  it('may change its name meanwhile', async () => {
    const idp = await addIdp(api, google, { aliases: [] });
    const begun = await begin(api, idp);
    await api.call('PATCH', `/admin/v1/idps/${idp.id}`, { name: 'Google here', aliases: ['anything'] });
    assert.equal((await open(await atProvider(google, begun, 'ann'), begun.cookie)).status, 303);
  });
});

describe('a provider that answers nonsense', () => {
  for (const metadata of [
    { authorization_endpoint: undefined },
    { authorization_endpoint: 'javascript:alert(1)' },
    { authorization_endpoint: 'no address' },
    { token_endpoint: undefined },
    { token_endpoint: 7 },
    { jwks_uri: 'no address' },
    { jwks_uri: 7 },
    { userinfo_endpoint: 'no address' },
  ]) {
    it(`is a page that leaves the other ways open, and a finding of its check: ${JSON.stringify(metadata)}`, async () => {
      google.people[0] = { login: 'ann', id: 'g-ann' };
      google.misbehave.metadata = metadata;
      const idpId = await addProvider(api, google, { orgId: org.orgId, aliases: [] });
      const page = await arrive(idpId);
      assert.ok([400, 503].includes(page.status), `${page.status} ${page.text.slice(0, 500)}`);
      assert.match(alertOf(page), /^(?:Google did not confirm who you are|We cannot reach Google)|not connected/);
      const checked = await api.call('GET', `/management/v1/idps/${idpId}/_check`, undefined, { orgId: org.orgId });
      assert.equal(checked.status, 200, JSON.stringify(checked.body));
    });
  }

  it('says ids, addresses and names with control characters: no id, no address, no name', async () => {
    const fields = { orgId: org.orgId, aliases: [], trustsAddresses: true };
    const idpId = await addProvider(api, google, fields);
    const userId = await addVerified(api, org.orgId);
    const set = async (more: object) => {
      const changed = await api.call('PATCH', `/management/v1/idps/${idpId}`, more, { orgId: org.orgId });
      assert.equal(changed.status, 200);
    };
    await set({ linking: 'verifiedAddress' });
    for (const sub of ['g\u0000', '\u001b[2Jg', 'g\ud800']) {
      google.misbehave.claims = { sub };
      assert.match(alertOf(await arrive(idpId)), /did not confirm/, JSON.stringify(sub));
    }
    for (const email of ['ann\u0000@corp.example', '\u001b[2J@corp.example']) {
      google.misbehave.claims = { email };
      assert.match(alertOf(await arrive(idpId)), /not connected/, JSON.stringify(email));
    }
    await ownAddress(userId, 'pat@corp.example');
    const names = { name: '\u001b[2JAnn', preferred_username: 'ann\u0000' };
    google.misbehave.claims = { email: 'pat@corp.example', ...names };
    const linked = await arrive(idpId);
    assert.ok(hasCode(linked), linked.text);
    assert.equal((await api.deps.pool.query('delete from user_idp_links')).rowCount, 1);
    await set({ linking: 'create', createDomains: ['corp.example'] });
    google.misbehave.claims = { email: 'new@corp.example', ...names, given_name: 'A\u001bnn', locale: 'de\u0000' };
    assert.ok(hasCode(await arrive(idpId)));
    const { rows } = await api.deps.pool.query(`select id, given_name from users where email_key = 'new@corp.example'`);
    assert.deepEqual([rows.length, rows[0]?.given_name], [1, 'new']);
  });

  it('or a rule of the instance that an organization does not have: nobody is linked or created there', async () => {
    const settings = { aliases: [], trustsAddresses: true, createDomains: ['corp.example'] };
    const idpId = await addProvider(api, google, { ...settings, linking: 'create' });
    const users = async () =>
      (await api.deps.pool.query('select from users where org_id = $1 and email_key is not null', [org.orgId]))
        .rowCount;
    const before = await users();
    assert.match(alertOf(await arrive(idpId)), /not connected/);
    assert.equal(await users(), before);
    const policy = await api.call('PUT', '/management/v1/policies/login', { linking: 'create' }, { orgId: org.orgId });
    assert.equal(policy.status, 200);
    assert.ok(hasCode(await arrive(idpId)));
    assert.equal(await users(), Number(before) + 1);
  });

  it('counts for the network that asks for it, and leaves no event beyond the limit', async () => {
    const idpId = await addProvider(api, google, { orgId: org.orgId, aliases: [] });
    google.misbehave.faults = { discovery: 'down' };
    const page = await arrive(idpId);
    assert.equal(page.status, 503);
    await api.deps.pool.query('update attempt_counts set attempts = 1000 where attempts < 1000');
    const since = await newestEvent(api);
    const again = await page.by.send(page, 'provider', { idpId });
    assert.equal(again.status, 429);
    assert.equal(await newestEvent(api), since);
  });
});

describe('visits that people begin, and those of programs', () => {
  it('are counted apart, so that neither use up the places of the others', async () => {
    const idpId = await addProvider(api, google, { orgId: org.orgId, aliases: [] });
    await allowUrl(api, org.orgId, 'https://app.example.com');
    const { token } = await api.machine(org.orgId, ['ORG_OWNER_VIEWER']);
    const urls = { successUrl: 'https://app.example.com/in', failureUrl: 'https://app.example.com/out' };
    const intent = () => api.call('POST', '/v2beta/idp_intents', { idpId, urls }, { token });
    const page = await arrive(idpId);
    await api.deps.pool.query('update attempt_counts set attempts = 100000 where attempts < 100000');
    assert.equal((await page.by.send(page, 'provider', { idpId })).status, 429);
    assert.equal((await intent()).status, 200);
    await api.deps.pool.query('update attempt_counts set attempts = 100000 where attempts < 100000');
    const refused = await intent();
    assert.deepEqual([refused.status, errorId(refused)], [429, 'RATE-LIMIT']);
  });
});

describe('an organization that was deactivated', () => {
  it('gets no new users and no links, and its users stay as they are', async () => {
    const idpId = await addProvider(api, google, {
      ...{ orgId: org.orgId, aliases: [], trustsAddresses: true, createDomains: ['corp.example'] },
    });
    const [linked, verified] = [await addHuman(api, org.orgId), await addVerified(api, org.orgId)];
    await addLink(api, linked, idpId, 'g-ann');
    await ownAddress(verified, 'pat@corp.example');
    const set = (fields: object) => api.call('PATCH', `/management/v1/idps/${idpId}`, fields, { orgId: org.orgId });
    const active = (since: string) =>
      api.deps.pool.query(`update organizations set inactive_since = ${since} where id = $1`, [org.orgId]);
    const state = (await humanRow(api, linked)).state;
    const since = await newestEvent(api);
    await active('now()');
    assert.match((await arrive(idpId)).text, /Your account is deactivated/);
    assert.equal((await humanRow(api, linked)).state, state);
    for (const [linking, id, email] of [
      ['create', 'g-new', 'new@corp.example'],
      ['verifiedAddress', 'g-verified', 'pat@corp.example'],
    ]) {
      await active('null');
      assert.equal((await set({ linking })).status, 200);
      await active('now()');
      google.people[0] = { login: 'ann', id: id as string, claims: { email, email_verified: true } };
      assert.match(alertOf(await arrive(idpId)), /not connected/, String(linking));
    }
    const made = await api.deps.pool.query(
      `select from users where org_id = $1 and user_name = 'new@corp.example'
       union all select from user_idp_links where user_id = $2`,
      [org.orgId, verified],
    );
    assert.equal(made.rowCount, 0);
    assert.deepEqual(await signedIn(api, since), []);
  });
});
