/** A user sets up the second factor that their organization requires, in a browser without JavaScript. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { requireOrSkip } from '../support/runner/programs.ts';
import { codeAt, wrongCode } from '../support/totp.ts';
import { headed, logIn, openStage, type Stage, welcomed } from './stage.ts';

const PASSWORD = 'correct horse';

let stage: Stage;
before(async () => {
  stage = await openStage();
  const { api, org } = stage;
  const set = await api.call('POST', '/management/v1/policies/login', { forceMfa: true }, { orgId: org.orgId });
  assert.equal(set.status, 200);
});
after(() => stage.stop());

it('a user adds the key to their app, and is signed in with its code', async (t) => {
  if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
  const { userId, loginName } = await stage.person(PASSWORD);
  const page = await stage.browser.openPage(t, { javaScriptEnabled: false });
  await page.goto(stage.app.start());
  await logIn(page, loginName, PASSWORD);
  await headed(page, 'Set up a second factor');
  const secret = ((await page.locator('code.key').textContent()) ?? '').replaceAll(' ', '');
  const link = page.getByRole('link', { name: 'open the key in the app' });
  assert.match((await link.getAttribute('href')) ?? '', new RegExp(`^otpauth://totp/.*secret=${secret}`));

  const enter = async (code: string) => {
    await page.getByLabel('Code', { exact: true }).fill(code);
    await page.getByRole('button', { name: 'Continue' }).click();
  };
  await enter(wrongCode(secret));
  await page.getByRole('alert').filter({ hasText: 'The code is wrong.' }).waitFor();
  assert.equal(await page.title(), 'Problem: Set up a second factor');
  await enter(codeAt(secret));
  await welcomed(page);
  const { rows } = await stage.api.deps.pool.query(
    'select confirmed_at is not null as active from user_totp where user_id = $1',
    [userId],
  );
  assert.deepEqual(rows, [{ active: true }]);
});
