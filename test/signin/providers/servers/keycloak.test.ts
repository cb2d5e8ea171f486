/**
 * A real Keycloak, with the users of its fixture, is the provider of an organization: people whose old system led them to
 * it sign in by the button at the first try, as the same users, without a mail.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { decodeJwt } from 'jose';
import type { SignInCounts } from '../../../../src/contract/sign-in.ts';
import { startDispatcher } from '../../../../workers/dispatcher.ts';
import { startImportWorker } from '../../../../workers/import-users.ts';
import { startMailer } from '../../../../workers/mailer.ts';
import { humanRow } from '../../../directory/users/people.ts';
import { startApi, type TestApi } from '../../../support/api.ts';
import { type Keycloak, keycloakOrSkip, startKeycloak } from '../../../support/keycloak.ts';
import { Browser, challenge, tokenCall } from '../../../support/oauth.ts';
import { runMuster } from '../../../support/processes/muster.ts';
import { type SmtpCatcher, startSmtp } from '../../../support/smtp.ts';
import { addClient, hiddenOf, REDIRECT_URI } from '../../pages/visitor.ts';
import { type Arrived, alertOf, hasCode, traveller } from '../traveller.ts';

const FIXTURE = 'test/fixtures/ways/keycloak/acme-realm.json';
const SECRET = 'a secret of the client';
/** Where the old system, a Keycloak with the realm `app`, had the company's Keycloak send people back to. */
const OLD_PATH = '/realms/app/broker/acme-oidc/endpoint';

/** What the tests read of a user of a realm. */
interface Person {
  id: string;
  username: string;
  email: string;
  enabled: boolean;
}

interface Place {
  api: TestApi;
  smtp: SmtpCatcher;
  keycloak: Keycloak;
  /** Of the company's realm. */
  people: Person[];
  clientId: string;
}

/** Starts the company's Keycloak, with a client for us, and the service; undefined without a Keycloak. */
async function openPlace(t: TestContext): Promise<Place | undefined> {
  const folder = await keycloakOrSkip(t);
  if (folder === undefined) return undefined;
  const smtp = await startSmtp();
  const limits = { LOGIN_DELAY_MS: '0', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0' };
  const api = await startApi({ env: { IDP_ALLOW_PRIVATE: 'true', SMTP_URL: smtp.url, ...limits } });
  const workers = [startImportWorker(api.deps), startDispatcher(api.deps), startMailer(api.deps)];
  t.after(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await api.stop();
    await smtp.stop();
  });
  const realm = JSON.parse(await readFile(FIXTURE, 'utf8'));
  const [ann] = realm.users;
  const olga = { ...ann, id: '0b7c9d1e-5a2f-4c3d-8e4f-000000010099', username: 'kc-olga', email: 'olga@other.example' };
  const people = [...realm.users, olga];
  const client = {
    clientId: 'muster',
    secret: SECRET,
    redirectUris: [`${api.url}/ui/idps/*`, api.url + OLD_PATH],
    protocol: 'openid-connect',
  };
  const keycloak = await startKeycloak(folder, { ...realm, sslRequired: 'none', users: people, clients: [client] });
  t.after(() => keycloak.stop());
  return { api, smtp, keycloak, people, clientId: await addClient(api) };
}

/** What the tests read of the result of an import. */
interface Imported {
  signIn: SignInCounts;
  mails: Record<string, number>;
}

interface Company {
  orgId: string;
  idpId: string;
  imported: Imported;
  muster(args: string[], env?: Record<string, string>): ReturnType<typeof runMuster>;
}

/** An organization with the Keycloak as its provider, set up and filled by its owner on the command line. */
async function openCompany(t: TestContext, place: Place): Promise<Company> {
  const { api, keycloak, people } = place;
  const { orgId, muster } = await openOrg(api);
  const policy = await muster(['orgs', 'login-policy', orgId, '--init-mail', 'unlessWayIn']);
  assert.equal(policy.code, 0, policy.stderr);
  const settings = ['--preset', 'keycloak', '--issuer', keycloak.issuer, '--client-id', 'muster', '--org', orgId];
  const added = await muster(['idps', 'add', 'Acme', ...settings, '--alias', 'acme-oidc', '--json'], {
    MUSTER_IDP_SECRET: SECRET,
  });
  assert.equal(added.code, 0, added.stderr);
  const isInactive = ({ username }: Person) => username === 'kc-mia';
  const staff = people.filter(({ username }) => username !== 'kc-olga');
  const users = staff.map((person) => ({ ...oldUser(person, 'acme'), enabled: !isInactive(person) }));
  const imported = await importUsers(t, { orgId, muster, users });
  return { orgId, muster, idpId: JSON.parse(added.stdout).idpId, imported };
}

async function openOrg(api: TestApi): Promise<Pick<Company, 'orgId' | 'muster'>> {
  const { orgId } = await api.setupOrg();
  const { token } = await api.machine(orgId, ['ORG_OWNER']);
  const env = { MUSTER_URL: api.url, MUSTER_TOKEN: token };
  return { orgId, muster: (args, more = {}) => runMuster(args, { env: { ...env, ...more } }) };
}

const oldId = ({ username }: Pick<Person, 'username'>, where: string) => `${where}-${username}`;

/** The user of the old system: without a password there, led to the company's Keycloak. */
function oldUser(person: Person, where: string) {
  const link = { identityProvider: 'acme-oidc', userId: person.id, userName: person.username };
  const { username, email } = person;
  return { id: oldId(person, where), username, email, emailVerified: true, enabled: true, federatedIdentities: [link] };
}

async function importUsers(
  t: TestContext,
  { orgId, muster, users }: Pick<Company, 'orgId' | 'muster'> & { users: object[] },
): Promise<Imported> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-realm-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'app-realm.json');
  await writeFile(file, JSON.stringify({ realm: 'app', enabled: true, users }));
  const options = ['--from', 'keycloak', '--org', orgId, '--without-email', '--timeout', '10m', '--watch'];
  const { code, stdout, stderr } = await muster(['import', file, ...options, '--json']);
  assert.equal(code, 0, stdout + stderr);
  return JSON.parse(stdout).import;
}

/** Enters a name and the fixtures' password on Keycloak's page; returns where it redirects to, or its page. */
async function signInThere(url: string, username: string): Promise<{ location?: string; page: string }> {
  const browser = new Browser();
  const html = await (await browser.fetch(url)).text();
  const action = /action="([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&');
  assert(action, html);
  const body = new URLSearchParams({ username, password: 'correct horse' });
  const answer = await browser.fetch(action, { method: 'POST', body });
  const location = answer.headers.get('location');
  return { ...(location === null ? {} : { location }), page: await answer.text() };
}

interface Visit {
  /** The organization that the application names. */
  orgId?: string;
  idpId: string;
  username: string;
}

/** Presses the button and signs in at Keycloak; returns where the browser ends. */
async function arrive({ api, clientId }: Place, { orgId, idpId, username }: Visit) {
  const verifier = randomBytes(32).toString('base64url');
  const named: Record<string, string> = orgId === undefined ? { idp_hint: idpId } : { organization: orgId };
  const by = await traveller(api, { clientId, more: { ...named, code_challenge: challenge(verifier) } });
  const shown = await by.by.get(by.path);
  if (orgId !== undefined) assert.match(shown.text, />Continue with Acme</);
  const pressed = orgId === undefined ? shown : await by.by.post(by.path, { ...hiddenOf(shown, 'provider'), idpId });
  const to = pressed.headers.get('location');
  assert(to, pressed.text);
  const { location, page } = await signInThere(to, username);
  assert(location, page);
  return { ...(await by.get(location.slice(api.url.length))), back: new URL(location), verifier };
}

/** The application's `sub` of whoever has arrived. */
async function subOf({ api, clientId }: Place, arrived: Arrived & { verifier: string }): Promise<string | undefined> {
  assert.ok(hasCode(arrived), `${arrived.way.join('\n')}\n${arrived.text}`);
  const code = new URL(arrived.at).searchParams.get('code') ?? '';
  const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT_URI, code_verifier: arrived.verifier };
  const { body } = await tokenCall(api, form, { clientId });
  return decodeJwt(body.id_token).sub;
}

test('a real Keycloak', async (t) => {
  const place = await openPlace(t);
  if (!place) return;
  const { api, smtp } = place;
  const company = await openCompany(t, place);
  const { orgId, idpId } = company;

  await t.test('is checked: a wrong secret and a redirect URI that is not registered are told apart', () =>
    checkIt(place, company),
  );

  await t.test('signs its users in by the button at the first try, as the same users, without a mail', async () => {
    const { ways } = company.imported.signIn;
    assert.deepEqual([ways.PROVIDER, ways.NONE], [place.people.length - 2, 1]);
    const userId = oldId({ username: 'kc-ann' }, 'acme');
    assert.equal((await humanRow(api, userId)).state, 'initial');
    const arrived = await arrive(place, { orgId, idpId, username: 'kc-ann' });
    assert.equal(arrived.back.pathname, `/ui/idps/${idpId}/callback`);
    assert.equal(await subOf(place, arrived), userId);
    assert.equal((await humanRow(api, userId)).state, 'active');
    assert.deepEqual(company.imported.mails, { pending: 0, held: 0, sent: 0, failed: 0 });
    const mails = 'select m.kind from mail_outbox m join users u on u.id = m.user_id where u.org_id = $1';
    assert.deepEqual((await api.deps.pool.query(mails, [orgId])).rows, []);
    assert.equal(smtp.mails.length, 0);
  });

  await t.test('answers on the path of the old system too', async () => {
    const changed = await company.muster(['idps', 'update', idpId, '--callback-path', OLD_PATH]);
    assert.equal(changed.code, 0, changed.stderr);
    const arrived = await arrive(place, { orgId, idpId, username: 'kc-ann' });
    assert.equal(arrived.back.pathname, OLD_PATH);
    assert.equal(await subOf(place, arrived), oldId({ username: 'kc-ann' }, 'acme'));
  });

  await t.test('signs in nobody who is inactive here, or disabled there', async () => {
    const arrived = await arrive(place, { orgId, idpId, username: 'kc-mia' });
    assert.deepEqual([arrived.status, arrived.text.includes('Your account is deactivated')], [400, true]);
    assert.equal((await humanRow(api, oldId({ username: 'kc-mia' }, 'acme'))).state, 'inactive');
    await assert.rejects(arrive(place, { orgId, idpId, username: 'kc-cleo' }), /Account is disabled/);
  });

  await t.test('signs in nobody of another organization, whatever links its users have', () =>
    stayOut(t, place, company),
  );
});

async function checkIt({ api, keycloak }: Place, { orgId, idpId, muster }: Company): Promise<void> {
  // Keycloak compiles its sign-in page for the first visitor, which may take longer than a check waits.
  const asked = new URLSearchParams({
    ...{ client_id: 'muster', response_type: 'code', scope: 'openid' },
    redirect_uri: `${api.url}/ui/idps/${idpId}/callback`,
  });
  assert.equal((await fetch(`${keycloak.issuer}/protocol/openid-connect/auth?${asked}`)).status, 200);
  const right = await muster(['idps', 'check', idpId]);
  assert.equal(right.code, 0, right.stdout + right.stderr);
  assert.match(right.stdout, /^ok +authorization: The provider knows the client and the redirect URI\.$/m);
  assert.match(right.stdout, /^ok +credentials: The provider accepts the client id and its secret\.$/m);

  const settings = ['--preset', 'keycloak', '--issuer', keycloak.issuer, '--client-id', 'muster', '--org', orgId];
  const added = await muster(['idps', 'add', 'Wrong', ...settings, '--json'], { MUSTER_IDP_SECRET: 'another' });
  const { idpId: wrong } = JSON.parse(added.stdout);
  const failing = async () => {
    const { body } = await api.call('GET', `/management/v1/idps/${wrong}/_check`);
    const failed = body.checks.filter(({ ok }: { ok: boolean }) => !ok);
    assert.equal(body.isUsable, failed.length === 0);
    return failed.map(({ name }: { name: string }) => name);
  };
  assert.deepEqual(await failing(), ['credentials']);
  const said = await muster(['idps', 'check', wrong]);
  assert.equal(said.code, 1);
  assert.match(said.stdout, /^wrong +credentials: The provider does not accept the client id or its secret/m);

  await muster(['idps', 'update', wrong, '--callback-path', '/login/callback'], { MUSTER_IDP_SECRET: SECRET });
  assert.deepEqual(await failing(), ['authorization']);
  const { stdout } = await muster(['idps', 'check', wrong]);
  assert.match(stdout, /^wrong +authorization: .*register the redirect URI http\S+\/login\/callback there/m);
  assert.equal((await muster(['idps', 'remove', wrong, '--yes'])).code, 0);
}

async function stayOut(t: TestContext, place: Place, { orgId, idpId }: Company): Promise<void> {
  const { api, people, clientId } = place;
  const other = await openOrg(api);
  const users = people.filter(({ username }) => ['kc-ann', 'kc-olga'].includes(username));
  await importUsers(t, { ...other, users: users.map((person) => oldUser(person, 'other')) });

  const olga = await arrive(place, { orgId, idpId, username: 'kc-olga' });
  assert.match(alertOf(olga), /^Your Acme account is not connected/);
  assert.ok(!hasCode(olga));
  const unnamed = await arrive(place, { idpId, username: 'kc-olga' });
  assert.match(alertOf(unnamed), /^Your Acme account is not connected/);
  const ann = await arrive(place, { idpId, username: 'kc-ann' });
  assert.equal(await subOf(place, ann), oldId({ username: 'kc-ann' }, 'acme'));

  const by = await traveller(api, { clientId, more: { organization: other.orgId } });
  const page = await by.get(by.path);
  assert.doesNotMatch(page.text, /Continue with Acme/);
  const forced = await by.by.post(by.path, { ...hiddenOf(page, 'password'), step: 'provider', idpId });
  assert.deepEqual([forced.status, forced.headers.get('location')], [400, null]);
}
