/** `GET …/idps/{idpId}/_check` and the findings of `muster doctor`: what can be known before a person comes. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { checkProviders } from '../../../src/contract/findings.ts';
import { providerFacts } from '../../../src/signin/providers/check.ts';
import type { Idp } from '../../../src/signin/providers/store.ts';
import { errorId, startApi, type TestApi } from '../../support/api.ts';
import { startProvider, type TestProvider } from '../../support/providers.ts';
import { addIdp } from './visit.ts';

let api: TestApi;
let google: TestProvider;
let github: TestProvider;
let apple: TestProvider;

before(async () => {
  api = await startApi({ env: { IDP_ALLOW_PRIVATE: 'true' } });
  google = await startProvider({ kind: 'google', people: [] });
  github = await startProvider({ kind: 'github', people: [] });
  apple = await startProvider({ kind: 'apple', people: [] });
});
after(async () => {
  await Promise.all([google, github, apple].map((provider) => provider.stop()));
  await api.stop();
});

interface Checked {
  isUsable: boolean;
  checks: { name: string; ok: boolean; message: string }[];
}

async function check(idp: Idp): Promise<Checked> {
  const scope = idp.orgId === null ? 'admin' : 'management';
  const answer = await api.call('GET', `/${scope}/v1/idps/${idp.id}/_check`);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

const failed = ({ checks }: Checked) => checks.filter(({ ok }) => !ok).map(({ name }) => name);
const messageOf = ({ checks }: Checked, of: string) => checks.find(({ name }) => name === of)?.message ?? '';

test('a provider that is set up rightly is usable, and nobody signs in', async () => {
  const idp = await addIdp(api, google);
  const checked = await check(idp);
  assert.deepEqual(failed(checked), [], JSON.stringify(checked));
  assert.equal(checked.isUsable, true);
  assert.deepEqual(
    checked.checks.map(({ name }) => name),
    ['discovery', 'keys', 'authorization', 'credentials', 'links'],
  );
  assert.match(messageOf(checked, 'authorization'), /knows the client and the redirect URI/);
  assert.match(messageOf(checked, 'credentials'), /accepts the client id and its secret/);
});

test('a wrong secret, a redirect URI that is not registered, and no discovery are told apart', async () => {
  const wrong = await addIdp(api, google, { aliases: ['wrong secret'], clientSecret: 'wrong' });
  assert.deepEqual(failed(await check(wrong)), ['credentials']);
  google.redirectUris.add('https://elsewhere.example/callback');
  const unregistered = await check(await addIdp(api, google, { aliases: ['unregistered'] }));
  google.redirectUris.clear();
  assert.deepEqual(failed(unregistered), ['authorization']);
  assert.match(messageOf(unregistered, 'authorization'), /register the redirect URI http.*\/callback/i);
  const idp = await addIdp(api, google, { aliases: ['faults'] });
  for (const [endpoint, name] of [
    ['discovery', 'discovery'],
    ['jwks', 'keys'],
    ['token', 'credentials'],
    ['authorization', 'authorization'],
  ] as const) {
    google.misbehave.faults = { [endpoint]: 'down' };
    assert.deepEqual(failed(await check(idp)), [name], endpoint);
    google.misbehave.faults = { [endpoint]: 'huge' };
    assert.ok(failed(await check(idp)).includes(name), endpoint);
  }
  google.misbehave.faults = {};
});

test('GitHub and Apple are checked by what they answer to a code that does not exist', async () => {
  assert.deepEqual(failed(await check(await addIdp(api, github))), []);
  const wrong = await addIdp(api, github, { aliases: ['wrong'], clientSecret: 'wrong' });
  assert.deepEqual(failed(await check(wrong)), ['credentials']);
  const ofApple = await check(await addIdp(api, apple));
  assert.match(messageOf(ofApple, 'credentials'), /accepts the client id and its secret/);
  const otherTeam = await addIdp(api, apple, { aliases: ['team'], apple: { teamId: 'OTHER', keyId: 'KEY1234567' } });
  assert.match(messageOf(await check(otherTeam), 'credentials'), /does not accept the client id or its secret/);
});

test('links that clash and a callback path of others are said, and doctor counts the links', async () => {
  const { orgId, userId } = await api.setupOrg();
  const { token, userId: machineId } = await api.machine(orgId, ['ORG_OWNER']);
  const path = { callbackPaths: ['/oauth2/idpresponse'] };
  await addIdp(api, google, { aliases: ['path'], ...path });
  const theirs = await addIdp(api, google, { aliases: ['clash'], ...path, orgId, token });
  for (const id of [userId, machineId]) {
    await api.deps.pool.query(
      `insert into user_idp_links (user_id, idp_id, external_user_id, display_name) values ($1, 'clash', '1097', '')`,
      [id],
    );
  }
  const checked = await check(theirs);
  assert.deepEqual(failed(checked), ['callbackPaths', 'links']);
  assert.match(messageOf(checked, 'links'), /2 links belong to it. 1 accounts are held by 2 users/);
  google.misbehave.faults = { discovery: 'down' };
  const { body } = await api.call('GET', '/admin/v1/diagnostics');
  google.misbehave.faults = {};
  assert.deepEqual(body.identityProviders.clashes, { accounts: 1, users: 2 });
  const findings = checkProviders(body.identityProviders);
  assert.ok(findings.some(({ name, state }) => name === 'links to providers' && state === 'warning'));
  assert.ok(findings.some(({ message }) => /Google: The metadata of the provider could not be used/.test(message)));
  assert.ok(findings.some(({ message, state }) => state === 'ok' && /identity providers answer/.test(message)));
  const [one] = checkProviders({ providers: [{ idpId: 'a', name: 'A', answers: true }] });
  assert.equal(one?.message, '1 identity provider answers');
  assert.deepEqual(checkProviders(undefined), []);
});

test('doctor asks the providers of organizations too, in one time limit, and names the organization', async () => {
  const { pool } = api.deps;
  await pool.query('update idps set settings = settings || $1', ['{"isEnabled": false}']);
  const [acme, closed] = [await api.setupOrg(), await api.setupOrg()];
  const good = await addIdp(api, google, { aliases: ['good'], orgId: acme.orgId });
  const silent = await addIdp(api, google, { aliases: ['silent'], name: 'Silent', orgId: acme.orgId });
  const broken = await addIdp(api, google, { aliases: ['broken'], name: 'Broken', orgId: acme.orgId });
  await addIdp(api, google, { aliases: ['closed'], orgId: closed.orgId });
  await pool.query('update organizations set inactive_since = now() where id = $1', [closed.orgId]);
  await pool.query(
    `update idps set settings = jsonb_set(settings, '{issuer}', '"http://127.0.0.1:1/"') where id = $1`,
    [silent.id],
  );
  await pool.query(`update idps set secret_sealed = 'unreadable' where id = $1`, [broken.id]);
  const { identityProviders: facts } = (await api.call('GET', '/admin/v1/diagnostics')).body;
  const asked = facts.providers.map(({ idpId, orgId, answers }: { [name: string]: unknown }) => [
    idpId,
    orgId,
    answers,
  ]);
  const expected = [good, silent, broken].map(({ id }) => [id, acme.orgId, id === good.id]);
  assert.deepEqual(asked.sort(), expected.sort());
  const said = checkProviders(facts).map(({ message }) => message);
  const { rows } = await pool.query('select name from organizations where id = $1', [acme.orgId]);
  const owner = `of ${rows[0].name} \\(${acme.orgId}\\)`;
  assert.ok(
    said.some((message) => new RegExp(`^Silent ${owner}: The metadata`).test(message)),
    said.join('\n'),
  );
  assert.ok(
    said.some((message) => new RegExp(`^Broken ${owner}: It cannot be asked`).test(message)),
    said.join('\n'),
  );

  google.misbehave.faults = { discovery: 'slow' };
  const slow = await providerFacts(api.deps, 50);
  google.misbehave.faults = {};
  google.release();
  const reason = slow.providers.find(({ idpId }) => idpId === good.id)?.reason;
  assert.equal(reason, 'It has not answered within 0.05 s.');
});

test('doctor asks a hundred providers, of every organization one first, and says how many it left out', async () => {
  const { pool } = api.deps;
  await pool.query('update idps set settings = settings || $1', ['{"isEnabled": false}']);
  const orgs = await Promise.all([1, 2, 3].map(() => api.setupOrg()));
  const [first] = orgs;
  for (const { orgId } of orgs) {
    const many = orgId === first?.orgId ? 150 : 1;
    await pool.query(
      `insert into idps (id, org_id, type, name, settings, sequence, created_at, changed_at)
       select $1 || '-' || n, $1, 'oidc', 'P' || n, '{"isEnabled": true, "issuer": "http://127.0.0.1:1/",
         "aliases": [], "callbackPaths": [], "scopes": [], "domains": [], "createDomains": [], "clientId": "c"}', 1, now(), now()
       from generate_series(1, $2) n`,
      [orgId, many],
    );
  }
  const facts = await providerFacts(api.deps);
  assert.equal(facts.providers.length, 100);
  assert.equal(facts.notAsked, 52);
  for (const { orgId } of orgs) assert.ok(facts.providers.some((each) => each.orgId === orgId));
  const findings = checkProviders(facts);
  assert.equal(findings.filter(({ name, state }) => name === 'identity providers' && state === 'warning').length, 11);
  assert.ok(findings.some(({ state, message }) => state === 'skipped' && /^52 more were not asked/.test(message)));
  await pool.query(`delete from idps where id like '%-%'`);
});

test('a provider is not checked without end', async () => {
  const idp = await addIdp(api, github, { aliases: ['often'] });
  await check(idp);
  await api.deps.pool.query('update attempt_counts set attempts = 1000');
  const answer = await api.call('GET', `/admin/v1/idps/${idp.id}/_check`);
  assert.deepEqual([answer.status, errorId(answer)], [429, 'RATE-LIMIT']);
  const { orgId } = await api.setupOrg();
  const theirs = await addIdp(api, github, { aliases: ['often'], orgId });
  const path = `/management/v1/idps/${theirs.id}/_check`;
  assert.equal((await api.call('GET', path, undefined, { orgId })).status, 200);
  await api.deps.pool.query('update attempt_counts set attempts = 1000');
  const again = await api.call('GET', path, undefined, { orgId });
  assert.deepEqual([again.status, errorId(again)], [429, 'RATE-LIMIT']);
  await api.deps.pool.query('delete from attempt_counts');
});
