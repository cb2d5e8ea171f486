import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addHuman, humanRow, mailCode } from '../directory/users/people.ts';
import { screenshot } from '../support/browser.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { openStage, type Stage } from './stage.ts';

describe('an email link in a browser', () => {
  let stage: Stage;
  before(async () => {
    stage = await openStage();
  });
  after(() => stage.stop());

  it('leads from the initialisation mail to a password that logs in, without JavaScript', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { api, org, browser } = stage;
    const userId = await addHuman(api, org.orgId);
    await mailCode(api, userId, 'initialise');
    const page = await browser.openPage(t, { javaScriptEnabled: false });
    await page.goto(await stage.mailedLink(t));
    await screenshot(page, 'init');

    await page.getByLabel('New password', { exact: true }).fill('first try');
    await page.getByLabel('Repeat new password').fill('another');
    await page.getByRole('button', { name: 'Set password' }).click();
    await page.getByRole('alert').filter({ hasText: 'The passwords do not match' }).waitFor();
    await screenshot(page, 'init-problem');

    await page.getByLabel('New password', { exact: true }).fill('correct horse');
    await page.getByLabel('Repeat new password').fill('correct horse');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Your password is set' }).waitFor();
    await screenshot(page, 'init-done');

    assert.equal((await humanRow(api, userId)).state, 'active');
    const checks = { user: { userId }, password: { password: 'correct horse' } };
    assert.equal((await api.call('POST', '/v2beta/sessions', { checks })).status, 201);
  });

  it('confirms an address with one key press, and says if the link was used already', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { api, org, browser } = stage;
    const userId = await addHuman(api, org.orgId, 'old');
    await mailCode(api, userId, 'verify_email');
    const page = await browser.openPage(t);
    const link = await stage.mailedLink(t);
    await page.goto(link);
    await screenshot(page, 'verify');
    const focused = page.locator(':focus');
    assert.equal(await focused.textContent(), 'Confirm email address');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Email address confirmed' }).waitFor();
    assert.equal((await humanRow(api, userId)).email_verified, true);

    await page.goto(link);
    await page.getByRole('button', { name: 'Confirm email address' }).click();
    await page.getByRole('heading', { name: 'This link has expired' }).waitFor();
    assert.equal(await page.title(), 'Problem: This link has expired');
  });

  it('exposes the labels and buttons of its form to assistive technology', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const page = await stage.browser.openPage(t);
    await page.goto(`${stage.api.url}/ui/init?userId=u&code=c`);
    assert.equal(await page.locator('html').getAttribute('lang'), 'en');
    assert.equal(await page.title(), 'Choose your password');
    for (const name of ['New password', 'Repeat new password']) {
      const field = page.getByLabel(name, { exact: true });
      assert.deepEqual(
        [await field.getAttribute('type'), await field.getAttribute('autocomplete')],
        ['password', 'new-password'],
      );
    }
    assert.equal(await page.locator(':focus').getAttribute('id'), 'password');
    // The policy allows the styles: an unstyled button would not be as wide as its form.
    const [button, form] = [await page.locator('button').boundingBox(), await page.locator('form').boundingBox()];
    assert.equal(Math.round(button?.width ?? 0), Math.round(form?.width ?? 1));
  });
});
