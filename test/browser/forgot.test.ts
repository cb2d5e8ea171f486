import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { screenshot } from '../support/browser.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { chooseNew, headed, logIn, openStage, type Stage, welcomed } from './stage.ts';

const PASSWORD = 'correct horse';
const NEWER = 'battery staple';

describe('a forgotten password in a browser', () => {
  let stage: Stage;
  before(async () => {
    stage = await openStage();
  });
  after(() => stage.stop());

  it('leads from the login to an email, a new password, and back to the same login', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { loginName } = await stage.person(PASSWORD);
    const page = await stage.browser.openPage(t, { javaScriptEnabled: false });
    await page.goto(stage.app.start());
    await page.getByRole('link', { name: 'Forgot password?' }).click();
    await page.getByLabel('Login name').fill(loginName);
    await screenshot(page, 'forgot');
    await page.keyboard.press('Enter');
    await headed(page, 'Check your email');
    await screenshot(page, 'forgot-done');

    const mail = await page.context().newPage();
    const link = await stage.mailedLink(t);
    await mail.goto(link);
    await chooseNew(mail, NEWER, 'another');
    await mail.getByRole('alert').filter({ hasText: 'The passwords do not match' }).waitFor();
    await chooseNew(mail, NEWER);
    await headed(mail, 'Your password is set');
    await mail.goto(link);
    await chooseNew(mail, PASSWORD);
    await mail.getByRole('heading', { name: 'This link has expired' }).waitFor();
    await screenshot(mail, 'reset-used');

    await page.getByRole('link', { name: 'Back to sign‑in' }).click();
    await logIn(page, loginName, PASSWORD);
    await page.getByRole('alert').waitFor();
    await logIn(page, loginName, NEWER);
    await welcomed(page);
  });

  it('shows the same page for an unknown user, and works without a login', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const page = await stage.browser.openPage(t);
    await page.goto(`${stage.api.url}/ui/forgot`);
    await page.getByLabel('Login name').fill('nobody');
    await page.getByRole('button', { name: 'Send link' }).click();
    await headed(page, 'Check your email');
    assert.equal(await page.getByRole('link').count(), 0);
  });

  it('asks before it signs out, and confirms it', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { loginName } = await stage.person(PASSWORD);
    const page = await stage.browser.openPage(t);
    await page.goto(stage.app.start());
    await logIn(page, loginName, PASSWORD);
    await welcomed(page);

    await page.goto(`${stage.api.url}/oidc/v1/end_session`);
    await headed(page, 'Sign out?');
    await page.getByRole('button', { name: 'Stay signed in' }).click();
    await headed(page, 'You are still signed in');
    await page.goto(stage.app.start());
    await welcomed(page);

    await page.goto(`${stage.api.url}/oidc/v1/end_session`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await headed(page, 'You are signed out');
    await screenshot(page, 'signed-out');
    await page.goto(stage.app.start());
    await headed(page, 'Sign in');
  });
});
