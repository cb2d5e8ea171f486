/** The name, logo and colours of an organization in the console, with the preview of the sign-in page. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { must } from '../support/calls.ts';
import { dataUrl, png } from '../support/pictures.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { findingsOf, makeIamOwner, openWorld, type World } from './world.ts';

const POLICY = '/management/v1/policies/branding';

describe('the page for the name and look of an organization', () => {
  let world: World;
  before(async () => {
    world = await openWorld();
  });
  after(() => world.stop());

  const policy = async () =>
    (await must(world.api.call('GET', POLICY, undefined, { orgId: world.org.orgId }))).body.policy;

  it('previews, saves, refuses and resets without JavaScript', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { orgId } = world.org;
    const page = await world.enter(t, `/console/organizations/${orgId}`, undefined, { javaScriptEnabled: false });
    await page.getByRole('link', { name: 'Name and look of pages and mails' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Acme & Söhne');
    await page.getByLabel('Colour of links and buttons').fill('#ffee00');
    await page.getByLabel('Address of the help').fill('https://acme.example/help');
    await page.getByRole('button', { name: 'Preview', exact: true }).click();
    const frame = page.frameLocator('iframe.phone');
    await frame.getByText('Acme & Söhne').waitFor();
    await frame.getByRole('link', { name: 'Help' }).waitFor();
    assert.equal((await policy()).name, undefined);
    await page.getByLabel('Email that sets up an account').fill('Dear {displayName},\n\nwelcome.');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The name and look are saved.').waitFor();
    await page.getByText('A colour would be hard to read.').waitFor();
    const saved = await policy();
    assert.deepEqual(
      [saved.name, saved.primaryColor, saved.links],
      ['Acme & Söhne', '#ffee00', { help: 'https://acme.example/help' }],
    );
    assert.deepEqual(saved.texts, { initialise: 'Dear {displayName},\n\nwelcome.' });
    await page.getByLabel('Colour of links and buttons').fill('red;}');
    await page.getByLabel('Name', { exact: true }).fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('must be a colour such as #1f4fd8').waitFor();
    assert.equal((await policy()).name, 'Acme & Söhne');
    await page.getByLabel('Colour of links and buttons').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The name and look are saved.').waitFor();
    assert.deepEqual((await policy()).own, ['links.help', 'texts.initialise']);
    await page.getByRole('button', { name: 'Take everything of the service' }).click();
    await page.getByText('The name and look are saved.').waitFor();
    assert.equal((await policy()).isDefault, true);
  });

  it('previews what is typed, and takes and removes a logo, in every look without findings of axe-core', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const folder = await mkdtemp(join(tmpdir(), 'muster-logo-'));
    t.after(() => rm(folder, { recursive: true }));
    const [logo, other] = [join(folder, 'logo.png'), join(folder, 'logo.svg')];
    await writeFile(logo, png());
    await writeFile(other, '<svg xmlns="http://www.w3.org/2000/svg"/>');
    const page = await world.enter(t, `/console/organizations/${world.org.orgId}/branding`);
    const frame = page.frameLocator('iframe.desktop');
    await page.getByLabel('Name', { exact: true }).fill('Typed');
    await frame.getByText('Typed').waitFor();
    await page.locator('input[type=file]').setInputFiles(other);
    await page.getByText('The logo was not taken: logo must be a PNG or WebP').waitFor();
    await page.locator('input[type=file]').setInputFiles(logo);
    await page.getByRole('img', { name: 'Logo' }).waitFor();
    assert.equal((await policy()).logo, dataUrl(png()));
    await frame.locator('header img').waitFor();
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'Typed');
    assert.deepEqual(await findingsOf(page, 'branding'), []);
    await page.getByRole('button', { name: 'Remove the logo' }).click();
    await page.getByText('There is no logo.').waitFor();
    assert.equal((await policy()).logo, undefined);
  });

  it('takes, refuses and removes a logo without JavaScript', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, `/console/organizations/${world.org.orgId}/branding`, undefined, {
      javaScriptEnabled: false,
    });
    const take = async (name: string, mimeType: string, buffer: Buffer) => {
      await page.locator('#logo').setInputFiles({ name, mimeType, buffer });
      await page.getByRole('button', { name: 'Take this logo' }).click();
    };
    await take('logo.svg', 'image/svg+xml', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'));
    await page.getByText('The logo was not taken: must be a PNG or WebP as a data URL').waitFor();
    await take('logo.webp', 'image/webp', png());
    await page.getByText('must be what its data URL says: its content is image/png').waitFor();
    for (const bytes of [128 * 1024 + 1, 16 * 128 * 1024 + 1]) {
      await take('logo.png', 'image/png', Buffer.alloc(bytes));
      await page.getByText('The logo was not taken: It must have at most 128 KiB.').waitFor();
    }
    assert.equal((await policy()).logo, undefined);
    await take('logo.png', 'image/png', png());
    await page.getByText('The name and look are saved.').waitFor();
    assert.equal((await policy()).logo, dataUrl(png()));
    await page.getByRole('button', { name: 'Remove the logo' }).click();
    await page.getByText('There is no logo.').waitFor();
    assert.equal((await policy()).logo, undefined);
  });

  it('saves four texts of the longest length', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, `/console/organizations/${world.org.orgId}/branding`, undefined, {
      javaScriptEnabled: false,
    });
    for (const mail of ['verifyEmail', 'initialise', 'addPasskey', 'resetPassword']) {
      await page.locator(`textarea[name="texts.${mail}"]`).fill('日'.repeat(2000));
    }
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The name and look are saved.').waitFor();
    assert.equal((await policy()).texts.addPasskey.length, 2000);
    await page.getByRole('button', { name: 'Take everything of the service' }).click();
    await page.getByText('The name and look are saved.').waitFor();
  });

  it('shows the mail whose sentences are typed beside them, and without JavaScript by a button', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const path = `/console/organizations/${world.org.orgId}/branding`;
    const page = await world.enter(t, path, undefined, { viewport: { width: 1440, height: 900 } });
    const sentences = page.getByLabel('Email that adds a passkey', { exact: true });
    await sentences.fill('Signing in is easier now.');
    const said = page.frameLocator('iframe.phone').locator('p', { hasText: 'Signing in is easier now.' });
    await said.waitFor();
    assert.equal(await page.getByLabel('In the preview').inputValue(), 'addPasskey');
    const [typed, shown] = [await sentences.boundingBox(), await page.locator('iframe.phone').boundingBox()];
    assert.ok(typed && shown && shown.x > typed.x + typed.width, 'beside it');
    assert.ok(shown.y < typed.y + typed.height && shown.y + shown.height > typed.y, 'at its height');
    const plain = await world.enter(t, path, undefined, { javaScriptEnabled: false });
    await plain.getByLabel('Email that resets a password', { exact: true }).fill('Nobody but you can do this.');
    await plain.getByRole('button', { name: /^Show this email\s?: Email that resets a password$/ }).click();
    await plain.frameLocator('iframe.phone').locator('p', { hasText: 'Nobody but you can do this.' }).waitFor();
    assert.equal(new URL(plain.url()).hash, '#previews');
    assert.equal(await plain.getByLabel('In the preview').inputValue(), 'resetPassword');
  });

  it('previews the mails with the sentences that are typed, with and without JavaScript, and stores nothing', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const path = `/console/organizations/${world.org.orgId}/branding`;
    const before = await policy();
    const plain = await world.enter(t, path, undefined, { javaScriptEnabled: false });
    await plain.getByLabel('Name', { exact: true }).fill('Acme & Söhne');
    await plain.getByLabel('Email that sets up an account').fill('Willkommen, {displayName}: 日本 & <b>.');
    await plain.getByLabel('In the preview').selectOption('Email that sets up an account');
    await plain.getByRole('button', { name: 'Preview' }).click();
    for (const size of ['phone', 'desktop']) {
      const frame = plain.frameLocator(`iframe.${size}`);
      await frame.locator('p', { hasText: 'Willkommen, Ann Example: 日本 & <b>.' }).waitFor();
      await frame.locator('body', { hasText: 'Acme & Söhne' }).waitFor();
    }
    assert.equal(await plain.getByLabel('In the preview').inputValue(), 'initialise');
    const page = await world.enter(t, path);
    const frame = page.frameLocator('iframe.phone');
    for (const label of [
      'Email that confirms an address',
      'Email that sets up an account',
      'Email that adds a passkey',
      'Email that resets a password',
    ]) {
      await page.getByLabel('In the preview').selectOption(label);
      await page.getByLabel(label, { exact: true }).fill(`About ${label} – grüße {userName}.`);
      await frame.locator('p', { hasText: `About ${label} – grüße ann.` }).waitFor();
    }
    await page.getByLabel('Language', { exact: true }).fill('de');
    await frame.locator('html[lang=de]').waitFor();
    assert.deepEqual(await findingsOf(page, 'branding-mail'), []);
    await page.getByLabel('In the preview').selectOption('Sign-in page');
    await frame.getByLabel('Login name or email').waitFor();
    assert.deepEqual(await policy(), before);
  });

  it('is not for owners of another organization, and for the service only for administrators', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { orgId } = world.other;
    const page = await world.enter(t, `/console/organizations/${orgId}/branding`);
    assert.equal((await page.request.get(page.url())).status(), 403, 'an owner of another organization');
    assert.equal((await page.request.get(`${page.url()}/frame`)).status(), 403, 'the preview');
    assert.equal((await page.request.get(`${world.api.url}/console/system/branding`)).status(), 403, 'the service');
    await makeIamOwner(world.api, world.other);
    const admin = await world.enter(t, '/console/system', world.other, { javaScriptEnabled: false });
    await admin.getByRole('link', { name: 'Name and look of pages and mails' }).click();
    await admin.getByLabel('Name of the sender of emails').fill('The Service');
    await admin.getByLabel('Email that adds a passkey').fill('From the service.');
    await admin.getByLabel('In the preview').selectOption('Email that adds a passkey');
    await admin.getByRole('button', { name: 'Preview' }).click();
    await admin.frameLocator('iframe.phone').locator('p', { hasText: 'From the service.' }).waitFor();
    await admin.getByLabel('Email that adds a passkey').fill('');
    await admin.getByRole('button', { name: 'Save' }).click();
    await admin.getByText('The name and look are saved.').waitFor();
    assert.equal((await policy()).senderName, 'The Service');
  });

  it('shows in the preview only what a branding may contain', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, `/console/organizations/${world.org.orgId}/branding`);
    const query = new URLSearchParams({
      name: '<script>alert(1)</script>',
      primaryColor: 'red}*{display:none',
      theme: 'x',
    });
    const sent = await page.request.get(`${page.url()}/frame?${query}`);
    const markup = await sent.text();
    assert.match(markup, /&lt;script&gt;/);
    assert.doesNotMatch(markup, /<script|red\}/);
    const headers = sent.headers()['content-security-policy'] ?? '';
    assert.match(headers, /default-src 'none'.*form-action 'none'; frame-ancestors 'self'.*; sandbox$/);
  });
});
