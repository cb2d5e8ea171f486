/** Organizations, members, clients, tokens and the state of the service in the console. */
import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { SignJWT } from 'jose';
import type { Page } from 'playwright-core';
import { composeMail } from '../../src/messages/mail/message.ts';
import { openTextTransport, openTransport } from '../../src/messages/mail/open-transport.ts';
import { headed } from '../browser/stage.ts';
import { addVerified } from '../directory/users/people.ts';
import type { SetUp } from '../support/api.ts';
import { tokenCall } from '../support/oauth.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { findingsOf, makeIamOwner, openWorld, type World } from './world.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const MARKUP = '<img src=x onerror=alert(1)>';

describe('managing in the console', () => {
  let world: World;
  let admin: SetUp;
  let dataDir: string;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'muster-console-'));
    world = await openWorld({ DATA_DIR: dataDir });
    admin = await world.api.setupOrg({ org: { name: MARKUP } });
    await makeIamOwner(world.api, admin);
  });
  after(async () => {
    await world.stop();
    await rm(dataDir, { recursive: true });
  });

  async function answers(page: Page, path: string, form?: Record<string, string>): Promise<number> {
    const to = world.api.url + path;
    const options = { form: form ?? {}, maxRedirects: 0, headers: { origin: world.api.url } };
    return (form ? await page.request.post(to, options) : await page.request.get(to)).status();
  }

  function signed({ userId: id, keyId: kid, key }: Record<'userId' | 'keyId' | 'key', string>): Promise<string> {
    return new SignJWT({ iss: id, sub: id, aud: world.api.url })
      .setProtectedHeader({ alg: 'RS256', kid })
      .setIssuedAt()
      .setExpirationTime('5m')
      .sign(createPrivateKey(key));
  }

  it('shows an owner their organizations only, and nothing of others', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/organizations');
    await headed(page, 'Organizations');
    const markup = await page.content();
    assert(markup.includes(world.org.orgId) && !markup.includes(world.other.orgId));
    for (const hidden of ['System', 'Clients', 'New organization']) {
      assert.equal(await page.getByRole('link', { name: hidden, exact: true }).count(), 0, hidden);
    }
    const foreign = `/console/organizations/${world.other.orgId}`;
    const machine = await world.api.machine(world.other.orgId);
    const tokens = `/console/users/${machine.userId}/tokens`;
    for (const path of [
      ...['/console/system/administrators', `/console/system/administrators/${world.org.userId}/remove`],
      ...[
        '/console/system',
        '/console/clients',
        '/console/clients/new',
        '/console/clients/x/remove',
        '/console/clients/x/claims',
        '/console/clients/x/edit',
        '/console/clients/x/start',
      ],
      ...['/console/organizations/new', foreign, `${foreign}/machines/new`, tokens, `${tokens}/x/remove`],
      `${foreign}/members/${world.other.userId}/remove`,
    ]) {
      assert.equal(await answers(page, path), 403, path);
      if (['/console/system', '/console/clients', '/console/clients/x/start'].includes(path)) continue;
      const form = { name: 'New', userId: world.org.userId, role: 'ORG_OWNER', userName: 'new', days: '30' };
      assert.equal(await answers(page, path, form), 403, path);
    }
  });

  it('adds and removes a member, by forms without JavaScript', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const userId = await addVerified(world.api, world.org.orgId, 'correct horse');
    await world.api.deps.pool.query('update users set display_name = $2 where id = $1', [userId, MARKUP]);
    const path = `${world.api.url}/console/organizations/${world.org.orgId}`;
    const page = await world.enter(t, path.slice(world.api.url.length), world.org, { javaScriptEnabled: false });
    await page.getByLabel('User id').fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByText('You can see no user with this id.').waitFor();
    assert.equal(await page.getByLabel('User id').inputValue(), 'nobody', 'the input is kept');
    await page.getByLabel('User id').fill(userId);
    await page.getByLabel('Role').selectOption('ORG_OWNER_VIEWER');
    await page.getByRole('button', { name: 'Add member' }).click();
    await page.getByText('The member is added.').waitFor();
    await page.getByRole('link', { name: `Remove ${MARKUP}` }).click();
    await page.getByText('They lose all their roles').waitFor();
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('The member is removed.').waitFor();
    assert.equal(await page.getByText(MARKUP).count(), 0);
  });

  it('deactivates and reactivates an organization, for an administrator only', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { orgId } = await world.api.setupOrg({ org: { name: 'Stopped Ltd' } });
    const path = `/console/organizations/${orgId}`;
    const owner = await world.enter(t, `/console/organizations/${world.org.orgId}`);
    assert.equal(await owner.getByRole('link', { name: 'Deactivate', exact: true }).count(), 0);
    const page = await world.enter(t, path, admin, { javaScriptEnabled: false });
    for (const [change, said, state] of [
      ['Deactivate', 'The organization is deactivated.', 'Deactivated'],
      ['Reactivate', 'The organization is reactivated.', 'Active'],
    ] as const) {
      await page.getByRole('link', { name: change, exact: true }).click();
      await headed(page, `${change} Stopped Ltd`);
      await page.getByRole('button', { name: change, exact: true }).click();
      await page.getByText(said).waitFor();
      await page.getByText(state, { exact: true }).waitFor();
    }
  });

  it('deletes an organization after its id was typed, and takes it back', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { orgId } = await world.api.setupOrg({ org: { name: 'Gone Ltd' } });
    const page = await world.enter(t, `/console/organizations/${orgId}`, admin, { javaScriptEnabled: false });
    await page.getByRole('link', { name: 'Delete', exact: true }).click();
    await headed(page, 'Delete Gone Ltd');
    await page.getByText('People', { exact: true }).waitFor();
    const typed = page.getByLabel(`Type ${orgId} to confirm`);
    await typed.fill('another');
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('This is not the id of the organization.').waitFor();
    await typed.fill(orgId);
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('The organization is deleted.').waitFor();
    await page.getByText('Removed for good', { exact: true }).waitFor();
    // It takes nobody, and nothing of it can be changed.
    for (const name of ['New machine user', 'Change the limits', 'Name and look of pages and mails']) {
      assert.equal(await page.getByRole('link', { name, exact: true }).count(), 0, name);
    }
    assert.equal(await page.getByRole('button', { name: 'Add member' }).count(), 0);
    await page.getByRole('link', { name: 'Take the deletion back' }).click();
    await page.getByRole('button', { name: 'Take the deletion back' }).click();
    await page.getByText('The organization is back.').waitFor();
  });

  it('lists, adds and removes administrators without JavaScript, and keeps the last one', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const first = (await world.api.call('GET', '/management/v1/me')).body.user.userId;
    const page = await world.enter(t, '/console/system', admin, { javaScriptEnabled: false });
    await page.getByRole('link', { name: 'Administrators' }).click();
    await headed(page, 'Administrators');
    assert.equal(await page.locator('tbody tr').count(), 2);
    const add = async (userId: string, said: string) => {
      await page.getByLabel('User id').fill(userId);
      await page.getByRole('button', { name: 'Add administrator' }).click();
      await page.getByText(said).waitFor();
    };
    await add('nobody', 'The user does not exist.');
    assert.equal(await page.getByLabel('User id').inputValue(), 'nobody', 'the input is kept');
    await add(world.other.userId, 'The administrator is added.');
    assert.equal(await page.locator('tbody tr').count(), 3);
    const remove = async (userId: string, said: string) => {
      await page.goto(`${world.api.url}/console/system/administrators/${userId}/remove`);
      await page.getByText('They are no administrator any more').waitFor();
      await page.getByRole('button', { name: 'Remove' }).click();
      await page.getByText(said).waitFor();
    };
    await remove(world.other.userId, 'The administrator is removed.');
    await remove(first, 'The administrator is removed.');
    await remove(admin.userId, 'must keep at least one active IAM_OWNER');
    await page.getByText('This is you').waitFor();
    await page.getByRole('link', { name: 'Back, change nothing' }).click();
    await add(first, 'The administrator is added.');
    await add(first, 'The user is already a member.');

    const looks = await world.enter(t, '/console/system/administrators', admin);
    await headed(looks, 'Administrators');
    assert.deepEqual(await findingsOf(looks, 'administrators'), []);
  });

  it('shows the key file of a machine user once, which a program can sign in with', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { userId } = await world.api.machine(world.org.orgId);
    const page = await world.enter(t, `/console/users/${userId}`, world.org, { javaScriptEnabled: false });
    await page.getByRole('link', { name: 'Keys' }).click();
    await page.getByText('This machine user has no key.').waitFor();
    await page.getByLabel('Ends after').selectOption('365');
    await page.getByRole('button', { name: 'New key' }).click();
    await headed(page, 'Copy it now');
    const file = JSON.parse(String(await page.locator('code.shown').first().textContent()));
    assert.deepEqual([file.type, file.userId], ['serviceaccount', userId]);
    const signIn = async () =>
      (await tokenCall(world.api, { grant_type: JWT_BEARER, scope: 'openid', assertion: await signed(file) })).status;
    assert.equal(await signIn(), 200);
    await page.getByRole('link', { name: 'I have copied it' }).click();
    await page.getByRole('link', { name: `Remove ${file.keyId}` }).waitFor();
    assert(!(await page.content()).includes('PRIVATE KEY'));
    const looks = await world.enter(t, `/console/users/${userId}/keys`);
    await headed(looks, 'Keys');
    assert.deepEqual(await findingsOf(looks, 'keys'), []);
    await page.getByRole('link', { name: /^Remove/ }).click();
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('This machine user has no key.').waitFor();
    assert.equal(await signIn(), 400);
  });

  it('shows the token of a machine user once', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, `/console/organizations/${world.org.orgId}/machines/new`);
    await page.getByLabel('User name').fill('reader');
    await page.getByLabel('Name', { exact: true }).fill(MARKUP);
    await page.keyboard.press('Enter');
    await headed(page, MARKUP);
    await page.getByRole('link', { name: 'Tokens' }).click();
    await page.getByRole('button', { name: 'New token' }).click();
    await headed(page, 'Copy it now');
    const token = String(await page.locator('code.shown').first().textContent());
    const me = await world.api.call('GET', '/management/v1/me', undefined, { token });
    assert.equal(me.body.user.username, 'reader');
    assert.deepEqual(await findingsOf(page, 'once'), []);
    await page.getByRole('link', { name: 'I have copied it' }).click();
    await page.getByRole('link', { name: /^Remove/ }).waitFor();
    assert(!(await page.content()).includes(token));
    assert.deepEqual(await findingsOf(page, 'tokens'), []);
    await page.getByRole('link', { name: /^Remove/ }).click();
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('This machine user has no token.').waitFor();
    assert.equal((await world.api.call('GET', '/management/v1/me', undefined, { token })).status, 401);
  });

  it('lets an IAM_OWNER create organizations and clients, and see the state of the service', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/organizations', admin);
    await page.getByRole('link', { name: MARKUP }).waitFor();
    assert.deepEqual(await findingsOf(page, 'organizations'), []);
    await page.getByRole('link', { name: MARKUP }).click();
    await headed(page, MARKUP);
    assert.deepEqual(await findingsOf(page, 'organization'), []);
    assert.equal(await answers(page, '/console/organizations/nowhere'), 404);
    await page.goto(`${world.api.url}/console/organizations/new`);
    await page.getByLabel('Name').fill('Globex');
    await page.getByLabel('Domain').fill('not a domain');
    await page.keyboard.press('Enter');
    await page.getByText('must be a domain such as').waitFor();
    await page.getByLabel('Domain').fill('globex.example');
    await page.keyboard.press('Enter');
    await headed(page, 'Globex');

    await page.goto(`${world.api.url}/console/clients/new`);
    await page.getByLabel('Name').fill(MARKUP);
    await page.getByRole('button', { name: 'New client' }).click();
    await page.getByText('must not be empty with the grant type').waitFor();
    assert.deepEqual(await findingsOf(page, 'client-new'), []);
    await page.getByLabel('Redirect URIs', { exact: true }).fill('https://app.example/callback');
    await page.getByRole('button', { name: 'New client' }).click();
    await headed(page, 'Copy it now');
    const secret = String(await page.locator('code.shown').nth(1).textContent());
    assert.match(secret, /^[\w-]{20,}$/);
    await page.getByRole('link', { name: 'I have copied it' }).click();
    await headed(page, 'Clients');
    assert(!(await page.content()).includes(secret));
    assert.deepEqual(await findingsOf(page, 'clients'), []);
    await page.getByRole('link', { name: `Edit ${MARKUP}` }).click();
    assert.equal(await page.getByLabel('Redirect URIs', { exact: true }).inputValue(), 'https://app.example/callback');
    await page.getByLabel('Redirect URIs', { exact: true }).fill('not a URI');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('.wrong').waitFor();
    assert.deepEqual(await findingsOf(page, 'client-edit'), []);
    await page.getByLabel('Redirect URIs', { exact: true }).fill('https://app.example/a\nhttps://app.example/b');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('https://app.example/a https://app.example/b').waitFor();
    await page.getByRole('link', { name: `Claims ${MARKUP}` }).click();
    await page.getByLabel('Claims', { exact: true }).selectOption('auth0');
    await page.getByLabel('Namespace of Auth0 claims').fill('no address');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('must be a URL such as').first().waitFor();
    assert.deepEqual(await findingsOf(page, 'client-claims'), []);
    assert.equal(await page.locator('button.danger').count(), 0, 'nothing is removed');
    await page.getByLabel('Namespace of Auth0 claims').fill('https://acme.example/');
    await page.getByRole('button', { name: 'Save' }).click();
    await headed(page, 'Clients');
    await page.getByRole('link', { name: `Claims ${MARKUP}` }).click();
    await page.getByText('https://acme.example/app_metadata').waitFor();
    await page.goBack();
    await page.getByRole('link', { name: `Remove ${MARKUP}` }).click();
    await page.getByRole('button', { name: 'Remove' }).click();
    await headed(page, 'Clients');
    assert.equal(await page.getByText(MARKUP).count(), 0);

    await world.api.deps.pool.query(
      `insert into workers (id, host, pid, version, roles, backend, shards, is_stopping, import_jobs, mail_jobs,
         users_per_second, failing, started_at, seen_at)
       values ('w', $1, 42, '1.0.0', '{import,mail}', 'postgres', 1, false, 3, 0, 1234.5, '{}', now(),
         now() + interval '1 hour')`,
      [MARKUP],
    );
    await page.goto(`${world.api.url}/console/system`);
    await headed(page, 'System');
    const markup = await page.content();
    for (const text of ['1,235/s', 'Start a worker', 'No worker has this role']) assert(markup.includes(text), text);
    assert(!markup.includes('<img'), 'markup stays text');
    assert.deepEqual(await findingsOf(page, 'system'), []);
  });

  it('shows kept mails to an IAM_OWNER, as text and in a frame that runs nothing', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/mailbox', admin);
    await headed(page, 'No mails yet');
    assert.deepEqual(await findingsOf(page, 'mailbox-empty'), []);
    const link = `${world.api.url}/ui/verify?code=abc`;
    const mail = composeMail(
      { id: '7', createdAt: new Date(), from: 'Muster <a@b.example>', toName: MARKUP, toAddress: 'fay@acme.example' },
      {
        language: 'en',
        subject: `Confirm ${MARKUP}`,
        text: `Hello ${MARKUP}\n\n${link}\n\njavascript:alert(1)`,
        html: `<!doctype html><html lang="en"><head><title>x</title></head><body><a href="${link}" style="color:#123456">Confirm</a></body></html>`,
      },
    );
    await openTransport({ DATA_DIR: dataDir }).send(mail);
    await openTextTransport({ DATA_DIR: dataDir }).send({ id: '8', key: 'k', to: '+41791234567', text: '123456' });
    await page.reload();
    assert.deepEqual(await page.locator('tbody th').allTextContents(), ['Text message', `Confirm ${MARKUP}`]);
    assert.deepEqual(await findingsOf(page, 'mailbox'), []);
    await page.getByRole('link', { name: 'Confirm' }).click();
    await headed(page, `Confirm ${MARKUP}`);
    assert.equal(await page.locator('main img').count(), 0, 'markup stays text');
    assert.deepEqual(await page.locator('main ul a').allTextContents(), [link], 'nothing but addresses of the web');
    const frame = page.locator('iframe');
    assert.doesNotMatch(String(await frame.getAttribute('sandbox')), /scripts|same-origin|top-navigation/);
    await page.frameLocator('iframe').getByRole('link', { name: 'Confirm' }).waitFor();
    assert.deepEqual(await findingsOf(page, 'mail'), []);
    const path = new URL(String(await frame.getAttribute('src')), world.api.url);
    const policy = (await page.request.get(path.href)).headers()['content-security-policy'] ?? '';
    assert.match(
      policy,
      /default-src 'none'.*frame-ancestors 'self'.*sandbox allow-popups allow-popups-to-escape-sandbox$/,
    );
    for (const name of [
      'mail-00000009.eml',
      'sms-00000008.txt/html',
      '..%2f..%2fpostgres.log',
      'mail-00000007.eml%00',
    ]) {
      assert.equal(await answers(page, `/console/mailbox/${name}`), 404, name);
    }
    const owner = await world.enter(t, '/console/organizations');
    assert.equal(await owner.getByRole('link', { name: 'Mailbox' }).count(), 0);
    for (const name of ['', '/mail-00000007.eml', '/mail-00000007.eml/html', '/mail-00000009.eml']) {
      assert.equal(await answers(owner, `/console/mailbox${name}`), 403, name);
    }
  });
});
