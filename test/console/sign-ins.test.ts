/** How the users of an import sign in, in the console: on the page Decide, and on the import's own page with its list. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { must } from '../support/calls.ts';
import { bulk, OLD_PASSWORD } from '../support/imports/bodies.ts';
import { entry } from '../support/imports/imports.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { waitFor } from '../support/wait.ts';
import { openWorking } from './new-import.ts';
import { findingsOf, type World } from './world.ts';

describe('how the users of an import sign in', () => {
  let world: World;
  before(async () => {
    world = await openWorking();
  });
  after(() => world.stop());

  /** Two with a password, one without, one who is inactive. */
  const users = (name: string) => [
    entry(`ann-${name}`),
    entry(`bea-${name}`, { idps: [{ configId: 'google-oauth2', externalUserId: name, displayName: name }] }),
    entry(`cleo-${name}`, { hashedPassword: undefined }),
    entry(`dora-${name}`, {}, { state: 'USER_STATE_INACTIVE' }),
  ];

  it('is shown before the import, with links to those who need something else', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { api, org } = world;
    const draft = (await must(api.call('POST', '/admin/v1/import?draft=true', bulk(org.orgId, users('a'))))).body;
    const path = `/admin/v1/imports/${draft.importId}`;
    await must(api.call('POST', `${path}/_check`, { timeout: '10m' }));
    await waitFor(async () => (await api.call('GET', path)).body.state === 'IMPORT_STATE_CHECKED', {
      what: 'the check',
    });
    const page = await world.enter(t, `/console/imports/new/${draft.importId}/decide`, undefined, {
      javaScriptEnabled: false,
    });
    const card = page.getByRole('region', { name: 'Who will be able to sign in' });
    const facts = (await card.locator('.facts div').allTextContents()).map((text) => text.replace(/\s+/g, ' ').trim());
    assert.deepEqual(facts, ['As before2', 'In another way1', 'Cannot sign in1']);
    await card.getByText('The import brings no password for the user.').waitFor();
    await card.getByRole('link', { name: 'Change how users sign in' }).waitFor();
    await card.getByRole('link', { name: 'Set up this provider google-oauth2' }).click();
    await page.getByRole('heading', { name: 'Add Google' }).waitFor();
    assert.match(await page.getByLabel('Names in exports').inputValue(), /^google-oauth2$/m);
    await page.goBack();
    await card.getByRole('link', { name: 'A code by email' }).click();
    await page.waitForURL(/signIn=MAIL_CODE/);
    const rows = await page.locator('#items tbody tr').allTextContents();
    assert.equal(rows.length, 1);
    assert.match(String(rows), /cleo-a/);
    assert.equal(await page.getByLabel('Signs in with').inputValue(), 'MAIL_CODE');
  });

  it('is shown on the page of the import afterwards', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { api, org } = world;
    const { importId } = (await must(api.call('POST', '/admin/v1/import', bulk(org.orgId, users('b'))))).body;
    const ended = async () => !/RUNNING/.test((await api.call('GET', `/admin/v1/imports/${importId}`)).body.state);
    await waitFor(ended, { what: 'the import' });
    const page = await world.enter(t, `/console/imports/${importId}`);
    const card = page.getByRole('region', { name: 'How they sign in' });
    await card.getByRole('link', { name: 'Not at all' }).click();
    await page.waitForURL(/signIn=NONE/);
    const rows = await page.locator('#items tbody tr').allTextContents();
    assert.equal(rows.length, 1);
    assert.match(String(rows), /dora-b/);
    assert.deepEqual(await findingsOf(page, 'import-sign-ins'), []);
  });

  it('is followed by who has signed in since, day by day', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { api, org } = world;
    const { importId } = (await must(api.call('POST', '/admin/v1/import', bulk(org.orgId, users('d'))))).body;
    const ended = async () => !/RUNNING/.test((await api.call('GET', `/admin/v1/imports/${importId}`)).body.state);
    await waitFor(ended, { what: 'the import' });
    for (const user of ['ann', 'bea']) {
      const checks = { user: { userId: `id-${user}-d` }, password: { password: OLD_PASSWORD } };
      await must(api.call('POST', '/v2beta/sessions', { checks }));
    }
    await api.deps.pool.query(`update first_sign_ins set at = at - interval '2 days' where user_id = 'id-bea-d'`);
    const page = await world.enter(t, `/console/imports/${importId}`, undefined, { javaScriptEnabled: false });
    const card = page.getByRole('region', { name: 'Who has signed in since' });
    const facts = (await card.locator('.facts div').allTextContents()).map((text) => text.replace(/\s+/g, ' ').trim());
    assert.deepEqual(facts, ['Have signed in2', 'Have not yet2']);
    assert.equal(await card.locator('tbody tr').count(), 2);
    await card.getByRole('img', { name: /^2 of 4 users have signed in/ }).waitFor();
    const said = await card.locator('svg title').allTextContents();
    assert.deepEqual(
      said.map((text) => text.replace(/^\d{4}-\d\d-\d\d /, '')),
      ['UTC · 1 for the first time · 1 so far', 'UTC · 1 for the first time · 2 so far'],
    );
    await card.locator('.facts a').nth(1).click();
    await page.waitForURL(/signedIn=false/);
    assert.deepEqual((await page.locator('#items tbody tr .mono').allTextContents()).sort(), [
      'id-cleo-d',
      'id-dora-d',
    ]);
    assert.equal(await page.getByLabel('Has signed in', { exact: true }).inputValue(), 'false');
    const scripted = await world.enter(t, `/console/imports/${importId}`);
    await scripted.getByRole('region', { name: 'Who has signed in since' }).waitFor();
    assert.deepEqual(await findingsOf(scripted, 'import-since'), []);
  });

  it('mails those who have not signed in, without JavaScript', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { api, org } = world;
    const { importId } = (await must(api.call('POST', '/admin/v1/import', bulk(org.orgId, users('e'))))).body;
    const ended = async () => !/RUNNING/.test((await api.call('GET', `/admin/v1/imports/${importId}`)).body.state);
    await waitFor(ended, { what: 'the import' });
    const checks = { user: { userId: 'id-ann-e' }, password: { password: OLD_PASSWORD } };
    await must(api.call('POST', '/v2beta/sessions', { checks }));
    const page = await world.enter(t, `/console/imports/${importId}`, undefined, { javaScriptEnabled: false });
    const button = 'Mail users who have not signed in';
    await page.getByRole('link', { name: button }).click();
    await page.getByText('1 user gets a mail that says how to sign in.').waitFor();
    await page.getByText('1 have signed in').waitFor();
    await page.getByText('1 are inactive or locked').waitFor();
    await page.getByLabel('Where they sign in').fill('https://elsewhere.example.net/');
    await page.getByRole('button', { name: button }).click();
    await page.getByText('must begin with a URL that the organization allows').first().waitFor();
    await page.getByLabel('Where they sign in').fill('');
    await page.getByRole('button', { name: button }).click();
    await page.getByText('The mails are being written.').waitFor();
    await page.getByRole('heading', { name: 'Mails to those who have not' }).waitFor();
    const { rows } = await api.deps.pool.query('select import_id from import_sign_in_mails where import_id = $1', [
      importId,
    ]);
    assert.equal(rows.length, 1);
  });

  it('has a page Decide that everybody can use', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { api, org } = world;
    const draft = (await must(api.call('POST', '/admin/v1/import?draft=true', bulk(org.orgId, users('c'))))).body;
    const path = `/admin/v1/imports/${draft.importId}`;
    await must(api.call('POST', `${path}/_check`, { timeout: '10m' }));
    await waitFor(async () => (await api.call('GET', path)).body.state === 'IMPORT_STATE_CHECKED', {
      what: 'the check',
    });
    const page = await world.enter(t, `/console/imports/new/${draft.importId}/decide`);
    await page.getByRole('region', { name: 'Who will be able to sign in' }).waitFor();
    assert.deepEqual(await findingsOf(page, 'decide-sign-ins'), []);
  });
});
