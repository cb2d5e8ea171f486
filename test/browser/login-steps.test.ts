import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { eventsOf, humanRow } from '../directory/users/people.ts';
import { screenshot } from '../support/browser.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { codeAt, wrongCode } from '../support/totp.ts';
import { chooseNew, headed, logIn, openStage, type Stage, welcomed } from './stage.ts';

const PASSWORD = 'correct horse';
const NEWER = 'battery staple';

describe('a login with further steps, in a browser', () => {
  let stage: Stage;
  let userId: string;
  let loginName: string;
  before(async () => {
    stage = await openStage();
    const policy = { maxAgeDays: 90, expireWarnDays: 10 };
    const { api, org } = stage;
    const set = await api.call('POST', '/management/v1/policies/password/age', policy, { orgId: org.orgId });
    assert.equal(set.status, 200);
  });
  after(() => stage.stop());
  beforeEach(async () => {
    ({ userId, loginName } = await stage.person(PASSWORD));
  });

  /** Makes the password this many days old. */
  async function age(days: number): Promise<void> {
    await stage.api.deps.pool.query(
      `update users set password_changed_at = now() - $2 * interval '1 day' where id = $1`,
      [userId, days],
    );
  }

  async function passwordIs(password: string): Promise<boolean> {
    const { password_hash: hash } = await humanRow(stage.api, userId);
    return (await stage.api.deps.hasher.verify(hash ?? '', password)).ok;
  }

  it('enforces a required password change, and accepts neither the old password nor two different ones', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    await stage.api.deps.pool.query('update users set password_change_required = true where id = $1', [userId]);
    const page = await stage.browser.openPage(t, { javaScriptEnabled: false });
    await page.goto(stage.app.start());
    await logIn(page, loginName, PASSWORD);
    await headed(page, 'Choose a new password');
    await screenshot(page, 'must-change');
    assert.ok(!(await page.content()).includes(PASSWORD), 'the password is not in the page');

    await chooseNew(page, NEWER, 'another');
    await page.getByRole('alert').filter({ hasText: 'The passwords do not match' }).waitFor();
    assert.equal(await page.title(), 'Problem: Choose a new password');
    await chooseNew(page, PASSWORD);
    await page.getByRole('alert').filter({ hasText: 'your current password' }).waitFor();
    assert.ok(await passwordIs(PASSWORD));

    await chooseNew(page, NEWER);
    await welcomed(page);
    assert.ok(await passwordIs(NEWER));
    assert.equal((await humanRow(stage.api, userId)).password_change_required, false);
    assert.deepEqual(await eventsOf(stage.api, userId), ['user.human.password.changed']);
  });

  it('enforces the change of an expired password, and does not warn the next time', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    await age(91);
    const page = await stage.browser.openPage(t);
    await page.goto(stage.app.start());
    await logIn(page, loginName, PASSWORD);
    await headed(page, 'Your password has expired');
    await screenshot(page, 'expired');
    await chooseNew(page, NEWER);
    await welcomed(page);

    await page.goto(stage.app.start({ prompt: 'login' }));
    assert.ok(
      (await page.getByLabel('Login name').inputValue()).startsWith(loginName),
      'the form names the logged-in user',
    );
    await logIn(page, loginName, NEWER);
    await welcomed(page);
  });

  it('changes an expired password of a user who is already logged in', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const page = await stage.browser.openPage(t);
    await page.goto(stage.app.start());
    await logIn(page, loginName, PASSWORD);
    await welcomed(page);
    await age(91);
    await page.goto(stage.app.start({ prompt: 'login' }));
    await logIn(page, loginName, PASSWORD);
    await chooseNew(page, NEWER);
    await welcomed(page);
  });

  it('warns that a password expires soon, and continues with it or with a new one', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    await age(84.5);
    const page = await stage.browser.openPage(t);
    await page.goto(stage.app.start());
    await logIn(page, loginName, PASSWORD);
    await headed(page, 'Your password expires in 5 days');
    await screenshot(page, 'expiring');
    await page.getByRole('button', { name: 'Not now' }).click();
    await welcomed(page);

    await age(89.5);
    await page.goto(stage.app.start({ prompt: 'login' }));
    await logIn(page, loginName, PASSWORD);
    await headed(page, 'Your password expires today');
    await page.getByRole('button', { name: 'Change now' }).click();
    await headed(page, 'Choose a new password');
    await chooseNew(page, NEWER);
    await welcomed(page);
    assert.ok(await passwordIs(NEWER));
  });

  it('does not continue with a password that somebody else has changed since', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    await age(83.5);
    const page = await stage.browser.openPage(t);
    await page.goto(stage.app.start());
    await logIn(page, loginName, PASSWORD);
    await headed(page, 'Your password expires in 6 days');
    const path = `/v2beta/users/${encodeURIComponent(userId)}/password`;
    const set = await stage.api.call('POST', path, { newPassword: { password: NEWER } });
    assert.equal(set.status, 200);
    await page.getByRole('button', { name: 'Not now' }).click();
    await page.getByRole('alert').filter({ hasText: 'Please sign in again' }).waitFor();
    await logIn(page, loginName, NEWER);
    await welcomed(page);
  });

  it('asks for the code of the second factor, but not for the password again', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    await stage.api.deps.pool.query('update users set password_change_required = true where id = $1', [userId]);
    const path = `/v2beta/users/${encodeURIComponent(userId)}/totp`;
    const { secret } = (await stage.api.call('POST', path)).body;
    assert.equal((await stage.api.call('POST', `${path}/verify`, { code: codeAt(secret) })).status, 200);
    await stage.api.deps.pool.query('update user_totp set last_step = last_step - 2 where user_id = $1', [userId]);

    const page = await stage.browser.openPage(t);
    await page.goto(stage.app.start());
    await logIn(page, loginName, PASSWORD);
    await headed(page, 'Enter your code');
    const code = page.getByLabel('Code');
    assert.deepEqual(
      [await code.getAttribute('autocomplete'), await code.getAttribute('inputmode')],
      ['one-time-code', 'numeric'],
    );
    await code.fill(wrongCode(secret));
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'The code is wrong' }).waitFor();
    await screenshot(page, 'code-wrong');
    await code.fill(codeAt(secret));
    await page.keyboard.press('Enter');
    await headed(page, 'Choose a new password');
    await chooseNew(page, NEWER);
    await welcomed(page);
  });
});
