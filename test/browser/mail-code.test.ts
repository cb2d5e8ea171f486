/** People who have no password sign in with a code from their mailbox, in a browser without JavaScript. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { addHuman, humanRow } from '../directory/users/people.ts';
import { screenshot } from '../support/browser.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { codeAt } from '../support/totp.ts';
import { headed, openStage, type Stage, welcomed } from './stage.ts';

describe('a code by mail in a browser', () => {
  let stage: Stage;
  before(async () => {
    stage = await openStage();
  });
  after(() => stage.stop());

  /** From the application to the page that asks for the code; the code is in the mail that SMTP delivered. */
  async function askedFor(t: TestContext, page: Page, loginName: string): Promise<string> {
    await page.goto(stage.app.start());
    await page.getByLabel('Login name').fill(loginName);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Email me a code' }).click();
    await headed(page, 'Check your email');
    const code = /\b(\d{4})[ -]?(\d{4})\b/.exec(await stage.mailedText(t));
    assert.ok(code, 'the mail has no code');
    return code.slice(1).join(' ');
  }

  async function enter(page: Page, code: string): Promise<void> {
    await page.getByLabel('Code').fill(code);
    await page.keyboard.press('Enter');
  }

  it('is typed from the mail, and leads to the application, which learns how', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const userId = await addHuman(stage.api, stage.org.orgId);
    const page = await stage.browser.openPage(t, { javaScriptEnabled: false });
    const code = await askedFor(t, page, userId);
    await screenshot(page, 'mail-code');
    assert.equal(await page.locator(':focus').getAttribute('autocomplete'), 'one-time-code');

    await enter(
      page,
      code.replace(/\d$/, (digit) => String((Number(digit) + 1) % 10)),
    );
    await page.getByRole('alert').filter({ hasText: 'The code is wrong' }).waitFor();
    assert.equal((await humanRow(stage.api, userId)).state, 'initial');

    await enter(page, code);
    await welcomed(page);
    assert.ok(page.url().startsWith(`${stage.app.redirectUri}?code=`), page.url());
    const { sub, amr } = stage.app.claims.at(-1) ?? {};
    assert.deepEqual([sub, amr], [userId, ['otp']]);
    const { state, email_verified } = await humanRow(stage.api, userId);
    assert.deepEqual([state, email_verified], ['active', true]);
  });

  it('is followed by the second factor of the user', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { api, org } = stage;
    const userId = await addHuman(api, org.orgId);
    const path = `/v2beta/users/${encodeURIComponent(userId)}/totp`;
    const { secret } = (await api.call('POST', path)).body;
    await api.call('POST', `${path}/verify`, { code: codeAt(secret) });
    await api.deps.pool.query('update user_totp set last_step = last_step - 2 where user_id = $1', [userId]);
    // The mail that tells of the new factor would come first.
    await api.deps.pool.query('delete from mail_outbox where user_id = $1', [userId]);
    const page = await stage.browser.openPage(t, { javaScriptEnabled: false });
    await enter(page, await askedFor(t, page, userId));
    await headed(page, 'Enter your code');
    const before = stage.app.callbacks.length;
    await enter(page, codeAt(secret));
    await welcomed(page);
    assert.equal(stage.app.callbacks.length, before + 1);
    assert.deepEqual(stage.app.claims.at(-1)?.amr, ['otp', 'mfa']);
  });
});
