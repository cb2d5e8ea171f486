/**
 * People who come from old systems sign in at the provider that they used there, in Chromium: with one button, at the
 * first try, as the same user, without a mail; also where the provider leads back to the path of the old system.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { startDispatcher } from '../../workers/dispatcher.ts';
import { startImportWorker } from '../../workers/import-users.ts';
import { addVerified, humanRow } from '../directory/users/people.ts';
import { addLink, addProvider } from '../signin/providers/traveller.ts';
import { screenshot } from '../support/browser.ts';
import { runMuster } from '../support/processes/muster.ts';
import { type Person, startProvider, type TestProvider } from '../support/providers.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { sourceFixtures } from '../support/sources.ts';
import { codeAt } from '../support/totp.ts';
import { headed, logIn, openStage, type Stage, welcomed } from './stage.ts';

const PASSWORD = 'correct horse';
/** The sources, and where providers led back to there. */
const OLD_PATHS: Readonly<Record<string, string>> = {
  auth0: '/login/callback',
  firebase: '/__/auth/handler',
  clerk: '/v1/oauth_callback',
  supabase: '/auth/v1/callback',
  keycloak: '/realms/acme/broker/google/endpoint',
  cognito: '/oauth2/idpresponse',
  'better-auth': '/api/auth/callback/google',
  logto: '/callback/google',
};
/** The second factors of their fixtures, by user id. */
const SECRETS: Readonly<Record<string, string>> = { logtoann0001: 'JBSWY3DPEHPK3PXP' };
/** With JavaScript, and without. */
const BOTH = [{}, { javaScriptEnabled: false }];

let stage: Stage;
let google: TestProvider;
let github: TestProvider;
let googleId: string;
before(async () => {
  stage = await openStage({ IDP_ALLOW_PRIVATE: 'true', RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0' });
  google = await startProvider({ kind: 'google', people: [] });
  github = await startProvider({ kind: 'github', people: [] });
  googleId = await addProvider(stage.api, google);
  await addProvider(stage.api, github);
});
after(async () => {
  await google.stop();
  await github.stop();
  await stage.stop();
});

/** Presses the button of the provider, and signs in there as the person of this account. */
async function continueWith(page: Page, name: string, login: string): Promise<void> {
  await page.getByRole('button', { name: `Continue with ${name}`, exact: true }).click();
  await page.getByLabel('Account').fill(login);
  await page.keyboard.press('Enter');
}

interface Linked {
  userId: string;
  name: string;
  subject: string;
}

/** Those of the organization who have an account at Google or GitHub, and may sign in. */
async function linked(orgId: string): Promise<Linked[]> {
  const { rows } = await stage.api.deps.pool.query<Linked>(
    `select u.id as "userId", p.name, l.external_user_id as subject
     from user_idp_links l join users u on u.id = l.user_id
       join idp_names(u.org_id) n on n.name = lower(l.idp_id) join idps p on p.id = n.idp_id
     where u.org_id = $1 and u.state in ('active', 'initial') order by u.id`,
    [orgId],
  );
  return rows;
}

/** The second factor comes along, and is asked for here. */
async function enterCode(page: Page, userId: string, secret: string): Promise<void> {
  await headed(page, 'Enter your code');
  await stage.api.deps.pool.query('update user_totp set last_step = last_step - 2 where user_id = $1', [userId]);
  await page.getByLabel('Code').fill(codeAt(secret));
  await page.keyboard.press('Enter');
}

async function signIn(page: Page, { name, subject, userId }: Linked, orgId: string): Promise<void> {
  const totp = SECRETS[userId];
  const at = name === 'GitHub' ? github : google;
  const person: Person = { login: `${subject}@provider.example`, id: subject, claims: {} };
  at.people.splice(0, at.people.length, person);
  await page.goto(stage.app.start({ organization: orgId }));
  await continueWith(page, name, person.login);
  if (totp) await enterCode(page, userId, totp);
  await page.getByRole('heading', { name: /^Welcome / }).waitFor();
  assert.equal(stage.app.claims.at(-1)?.sub, userId);
  assert.equal((await humanRow(stage.api, userId)).state, 'active');
}

async function importFixture(t: TestContext, name: string): Promise<string> {
  const { api } = stage;
  const workers = [startImportWorker(api.deps), startDispatcher(api.deps)];
  t.after(() => Promise.all(workers.map((worker) => worker.stop())));
  const { orgId } = await api.setupOrg();
  const fixture = sourceFixtures().find(({ source }) => source === name) ?? assert.fail(name);
  const { token } = await api.machine(orgId, ['ORG_OWNER']);
  const args = [...fixture.files, '--from', name, '--org', orgId, '--timeout', '10m', '--watch', '--mails', 'none'];
  const env = { MUSTER_URL: api.url, MUSTER_TOKEN: token };
  const { stdout, stderr } = await runMuster(['import', ...args, ...fixture.args], { env, terminal: true });
  assert.match(stdout + stderr, /is accepted/);
  return orgId;
}

describe('the button of a provider', () => {
  for (const [name, path] of Object.entries(OLD_PATHS)) {
    it(`signs in the users of ${name} at the first try, also through ${path}`, async (t) => {
      if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
      const orgId = await importFixture(t, name);
      const users = await linked(orgId);
      assert.ok(users.length > 0, 'the fixture has users with links');
      for (const user of users) await signIn(await stage.browser.openPage(t), user, orgId);
      await addProvider(stage.api, google, { orgId, name: 'Google', callbackPaths: [path] });
      for (const user of users.filter((one) => one.name === 'Google')) {
        const page = await stage.browser.openPage(t, { javaScriptEnabled: false });
        const seen: string[] = [];
        page.on('request', (request) => seen.push(new URL(request.url()).pathname));
        await signIn(page, user, orgId);
        assert.ok(seen.includes(path), seen.join('\n'));
      }
      const sent = `select from mail_outbox m join users u on u.id = m.user_id where u.org_id = $1 and m.state = 'sent'`;
      assert.equal((await stage.api.deps.pool.query(sent, [orgId])).rowCount, 0);
    });
  }
});

describe('the pages of a provider', () => {
  it('connect an account once somebody has signed in, by a button from then on', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { orgId } = stage.org;
    for (const [index, options] of BOTH.entries()) {
      const { userId } = await stage.person(PASSWORD);
      await stage.api.call('PUT', '/management/v1/policies/login', { linking: 'confirm' }, { orgId });
      google.people.splice(0, 9, {
        login: 'ann@gmail.example',
        id: `new-${index}`,
        claims: { email: 'ann@gmail.example' },
      });
      const page = await stage.browser.openPage(t, options);
      await page.goto(stage.app.start({ organization: orgId }));
      await screenshot(page, 'provider-buttons');
      await continueWith(page, 'Google', 'ann@gmail.example');
      await headed(page, 'Sign in once to connect Google');
      await screenshot(page, 'provider-confirm');
      await logIn(page, userId, PASSWORD);
      await welcomed(page);
      const again = await stage.browser.openPage(t, options);
      await again.goto(stage.app.start({ organization: orgId }));
      await continueWith(again, 'Google', 'ann@gmail.example');
      await welcomed(again);
      assert.equal(stage.app.claims.at(-1)?.sub, userId);
    }
  });

  it('ask which organization, and say what is wrong', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { api } = stage;
    const other = await api.setupOrg();
    const users = [await addVerified(api, stage.org.orgId), await addVerified(api, other.orgId)];
    for (const id of users) await addLink(api, id, 'google.com', 'g-both');
    google.people.splice(0, 9, { login: 'both', id: 'g-both', claims: {} }, { login: 'nobody', id: 'g-nobody' });
    const { rows } = await api.deps.pool.query('select name from organizations where id = $1', [other.orgId]);
    for (const options of BOTH) {
      const page = await stage.browser.openPage(t, options);
      await page.goto(stage.app.start());
      await continueWith(page, 'Google', 'both');
      await headed(page, 'Choose an organization');
      await screenshot(page, 'provider-organizations');
      await page.getByRole('button', { name: rows[0].name, exact: true }).click();
      await welcomed(page);
      assert.equal(stage.app.claims.at(-1)?.sub, users[1]);

      const stranger = await stage.browser.openPage(t, options);
      await stranger.goto(stage.app.start({ organization: other.orgId }));
      await continueWith(stranger, 'Google', 'nobody');
      await stranger.getByRole('alert').filter({ hasText: 'Your Google account is not connected' }).waitFor();
      await screenshot(stranger, 'provider-unknown');
      google.misbehave.faults = { token: 'down' };
      await stranger.getByRole('button', { name: 'Continue with Google', exact: true }).click();
      await stranger.getByRole('alert').filter({ hasText: 'We cannot reach Google right now' }).waitFor();
      await screenshot(stranger, 'provider-down');
      google.misbehave.faults = {};
      await stranger.getByRole('button', { name: 'Back to Acme & Sons' }).click();
      await headed(stranger, 'Not logged in: access_denied');
    }
  });

  it('let people connect and remove accounts after a recent sign-in, but not their last way in', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { api, browser } = stage;
    const { userId } = await stage.person(PASSWORD);
    google.people.splice(0, 9, { login: 'mine', id: `own-${userId}`, claims: { email: 'mine@gmail.example' } });
    const page = await browser.openPage(t, { javaScriptEnabled: false });
    await page.goto(`${api.url}/account/links`);
    await logIn(page, userId, PASSWORD);
    await headed(page, 'Connected accounts');
    await page.getByRole('button', { name: 'Connect Google' }).click();
    await page.getByLabel('Account').fill('mine');
    await page.keyboard.press('Enter');
    await page.getByText('mine@gmail.example').waitFor();
    await screenshot(page, 'links');
    const count = async () =>
      (await api.deps.pool.query('select from user_idp_links where user_id = $1', [userId])).rowCount;
    assert.equal(await count(), 1);

    await api.deps.pool.query('update users set password_hash = null, email_verified = false where id = $1', [userId]);
    await page.getByRole('button', { name: 'Remove Google mine@gmail.example' }).click();
    await page.getByRole('alert').filter({ hasText: 'the only way in which you can sign in' }).waitFor();
    assert.equal(await count(), 1);
    await api.deps.pool.query('update users set email_verified = true where id = $1', [userId]);
    await page.getByRole('button', { name: 'Remove Google mine@gmail.example' }).click();
    await page.getByText('No account is connected.').waitFor();
    assert.equal(await count(), 0);

    const sessions = `update oauth_models set payload = jsonb_set(payload::jsonb, '{loginTs}', '1')::json where kind = 'Session' and user_id = $1`;
    assert.equal((await api.deps.pool.query(sessions, [userId])).rowCount, 1);
    await page.goto(`${api.url}/account/links`);
    await headed(page, 'Sign in');
  });

  it('signs in no provider that was set aside', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const page = await stage.browser.openPage(t);
    await page.goto(stage.app.start());
    await page.getByRole('button', { name: 'Continue with Google', exact: true }).waitFor();
    await stage.api.call('PATCH', `/admin/v1/idps/${googleId}`, { isEnabled: false });
    await page.getByRole('button', { name: 'Continue with Google', exact: true }).click();
    await page.getByRole('alert').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Continue with Google', exact: true }).count(), 0);
    await stage.api.call('PATCH', `/admin/v1/idps/${googleId}`, { isEnabled: true });
  });
});
