import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addHuman, humanRow, mailCode } from '../directory/users/people.ts';
import { screenshot } from '../support/browser.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { chooseNew, headed, logIn, openStage, type Stage, welcomed } from './stage.ts';

const PASSWORD = 'correct horse';

describe('a login in a browser', () => {
  let stage: Stage;
  before(async () => {
    stage = await openStage({ LOCK_AFTER_FAILURES: '3' });
  });
  after(() => stage.stop());

  it('leads from the initialisation mail to the application, without JavaScript', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { api, org, app } = stage;
    const userId = await addHuman(api, org.orgId);
    await mailCode(api, userId, 'initialise');
    const page = await stage.browser.openPage(t, { javaScriptEnabled: false });
    await page.goto(await stage.mailedLink(t));
    await chooseNew(page, PASSWORD, 'another');
    await page.getByRole('alert').filter({ hasText: 'The passwords do not match' }).waitFor();
    await chooseNew(page, PASSWORD);
    await headed(page, 'Your password is set');
    assert.equal((await humanRow(api, userId)).state, 'active');

    await page.goto(app.start());
    await page.getByText('Acme & Sons', { exact: true }).waitFor();
    await screenshot(page, 'login');
    await logIn(page, userId, PASSWORD);
    await welcomed(page);
    assert.deepEqual([...(app.callbacks.at(-1)?.keys() ?? [])].sort(), ['code', 'iss', 'state']);

    await page.goto(app.start());
    await welcomed(page); // already logged in: no questions
  });

  it('works with the keyboard alone, from field to field', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { loginName } = await stage.person(PASSWORD);
    const page = await stage.browser.openPage(t);
    await page.goto(stage.app.start());
    const focused = () => page.evaluate('document.activeElement.id || document.activeElement.textContent');
    await page.locator('#loginName:focus').waitFor();
    await page.keyboard.type(loginName);
    for (const next of ['Continue', 'Forgot password?', 'Back to Acme & Sons']) {
      await page.keyboard.press('Tab');
      assert.equal(await focused(), next);
    }
    for (let i = 0; i < 2; i++) await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Space');
    await page.locator('#password:focus').waitFor();
    await page.keyboard.type('wrong');
    for (const next of ['Sign in', 'Email me a code', 'Forgot password?', 'Back to Acme & Sons']) {
      await page.keyboard.press('Tab');
      assert.equal(await focused(), next);
    }
    for (let i = 0; i < 3; i++) await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Space');
    await page.getByRole('alert').waitFor();
    await page.locator('#password:focus').waitFor();
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press('Enter');
    await welcomed(page);
  });

  it('shows the same page for a wrong password and an unknown user', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { loginName } = await stage.person(PASSWORD);
    const page = await stage.browser.openPage(t);
    await page.goto(stage.app.start({ login_hint: loginName }));
    assert.equal(await page.getByLabel('Login name').inputValue(), loginName);
    assert.equal(await page.locator(':focus').getAttribute('id'), 'password');
    const shown = new Set<string | null>();
    for (const name of [loginName, 'nobody at all']) {
      await Promise.all([page.waitForNavigation(), logIn(page, name, 'wrong')]);
      await page.getByRole('alert').waitFor();
      assert.equal(await page.title(), 'Problem: Sign in');
      assert.equal(await page.getByLabel('Login name').inputValue(), name);
      assert.equal(await page.getByLabel('Password').inputValue(), '');
      for (const field of ['Login name', 'Password']) {
        const described = await page.getByLabel(field).getAttribute('aria-describedby');
        assert.equal(await page.locator(`#${described}`).textContent(), 'The login name or the password is wrong.');
      }
      shown.add(await page.locator('main').textContent());
    }
    assert.equal(shown.size, 1);
    await screenshot(page, 'login-wrong');
  });

  it('asks to wait after too many failures, with the right password too, as for an unknown user; a reset helps', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { loginName, userId } = await stage.person(PASSWORD);
    const page = await stage.browser.openPage(t);
    await page.goto(stage.app.start());
    const shown = new Set<string | null>();
    for (const name of [loginName, 'nobody here']) {
      // Each page looks like the one before it, so nothing on it tells that it has arrived.
      for (let i = 0; i < 3; i++) await Promise.all([page.waitForNavigation(), logIn(page, name, 'wrong')]);
      await page.getByRole('alert').filter({ hasText: 'The login name or the password is wrong.' }).waitFor();
      await logIn(page, name, PASSWORD);
      await headed(page, 'Please wait before you try again');
      shown.add(await page.locator('main').textContent());
      if (name === loginName) await screenshot(page, 'paused');
      await page.getByRole('link', { name: 'Sign in as a different user' }).click();
    }
    assert.equal(shown.size, 1);
    assert.match([...shown].join(), /Please try again in a minute\./);
    assert.equal((await humanRow(stage.api, userId)).state, 'active');
    await logIn(page, loginName, PASSWORD);
    await page.getByRole('link', { name: 'Forgot password?' }).click();
    await headed(page, 'Forgot password?');
    await stage.api.deps.pool.query('update users set password_changed_at = now() where id = $1', [userId]);
    await page.goto(stage.app.start());
    await logIn(page, loginName, PASSWORD);
    await welcomed(page);
  });

  it('shows a locked user only after the right password, and leads back', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { loginName, userId } = await stage.person(PASSWORD);
    const path = `/v2beta/users/${encodeURIComponent(userId)}/lock`;
    assert.equal((await stage.api.call('POST', path)).status, 200);
    const page = await stage.browser.openPage(t);
    await page.goto(stage.app.start());
    await logIn(page, loginName, 'wrong');
    await page.getByRole('alert').filter({ hasText: 'The login name or the password is wrong.' }).waitFor();
    await logIn(page, loginName, PASSWORD);
    await headed(page, 'Your account is locked');
    assert.equal(await page.title(), 'Problem: Your account is locked');
    await screenshot(page, 'locked');

    await page.getByRole('link', { name: 'Sign in as a different user' }).click();
    await headed(page, 'Sign in');
    await page.getByRole('button', { name: 'Back to Acme & Sons' }).click();
    await headed(page, 'Not logged in: access_denied');
  });

  it('shows a deactivated user', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { loginName, userId } = await stage.person(PASSWORD);
    const path = `/v2beta/users/${encodeURIComponent(userId)}/deactivate`;
    assert.equal((await stage.api.call('POST', path)).status, 200);
    const page = await stage.browser.openPage(t);
    await page.goto(stage.app.start());
    await logIn(page, loginName, PASSWORD);
    await headed(page, 'Your account is deactivated');
  });

  it('has expired in another browser, and after it is complete', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { loginName } = await stage.person(PASSWORD);
    const page = await stage.browser.openPage(t);
    await page.goto(stage.app.start());
    const address = page.url();
    const other = await stage.browser.openPage(t);
    assert.equal((await other.goto(address))?.status(), 410);
    await headed(other, 'This sign‑in has expired');
    await screenshot(other, 'gone');

    await logIn(page, loginName, PASSWORD);
    await welcomed(page);
    assert.equal((await page.goto(address))?.status(), 410);
    await headed(page, 'This sign‑in has expired');
  });

  it('accepts a different user in the same browser if the application requests a login', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { api, app } = stage;
    const [first, second] = [await stage.person(PASSWORD), await stage.person(PASSWORD)];
    await api.deps.pool.query(`update users set display_name = 'Bea Other' where id = $1`, [second.userId]);
    const page = await stage.browser.openPage(t);
    await page.goto(app.start());
    await logIn(page, first.loginName, PASSWORD);
    await welcomed(page);
    await page.goto(app.start({ prompt: 'login' }));
    await logIn(page, second.loginName, PASSWORD);
    await headed(page, 'Welcome Bea Other');
    await page.goto(app.start());
    await headed(page, 'Welcome Bea Other');
  });
});
