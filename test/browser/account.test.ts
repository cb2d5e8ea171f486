/** The pages of one's own account in Chromium: in every look, with the keyboard alone, without scripts. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { LANGUAGES } from '../../src/platform/messages/catalogue.ts';
import { storePasskey } from '../signin/passkeys/holder.ts';
import { axeProblems } from '../support/axe.ts';
import { screenshot } from '../support/browser.ts';
import { addProvider } from '../support/idp-rows.ts';
import { addClient, tokensOf } from '../support/oauth.ts';
import { passkey, virtualAuthenticator } from '../support/passkeys.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { NARROW, problemsIn } from './inspect.ts';
import { headed, logIn, openStage, type Stage } from './stage.ts';

const PASSWORD = 'correct horse';
const LONG = 'Vereinigte Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft';
const HEADINGS: Readonly<Record<string, string>> = {
  '': 'Your account',
  profile: 'Name and language',
  email: 'Email address',
  phone: 'Phone number',
  password: 'Password',
  authenticators: 'Authenticator apps',
  'sent-codes': 'Codes by email and text message',
  'recovery-codes': 'Recovery codes',
  passkeys: 'Passkeys and security keys',
  links: 'Connected accounts',
  logins: 'Where you are signed in',
  data: 'Your data',
  delete: 'Delete your account',
};
const OF_LOOKS = ['color-contrast', 'target-size'];
const LOOKS = [390, 1440].flatMap((width) =>
  (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme, name: `${width}-${colorScheme}` })),
);

let stage: Stage;
before(async () => {
  stage = await openStage({ RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0' }, { host: 'localhost' });
  await stage.api.call('PUT', '/management/v1/policies/login', { deleteAccount: true }, { orgId: stage.org.orgId });
  await addProvider(stage.api.deps.pool, { name: 'Google' });
  await addProvider(stage.api.deps.pool, { name: LONG });
});
after(() => stage.stop());

/** Somebody with everything that the pages can show. */
async function person(): Promise<string> {
  const { api } = stage;
  const { userId } = await stage.person(PASSWORD);
  const { pool } = api.deps;
  await pool.query(`update users set phone = '+41791234567', phone_verified = false, display_name = $2 where id = $1`, [
    userId,
    LONG,
  ]);
  await pool.query(
    `insert into user_idp_links (user_id, idp_id, external_user_id, display_name) values ($1, 'google', $1, $2)`,
    [userId, `${'ann.'.repeat(20)}arbor@example.com`],
  );
  const shop = await addClient(api, { name: 'Shop <b>' });
  await tokensOf(api, shop, { userId, scope: 'openid offline_access' });
  return userId;
}

/** Gives the person, who is signed in, factors of every kind, with long names. */
async function equip(userId: string): Promise<void> {
  const { pool } = stage.api.deps;
  await pool.query(
    `insert into user_totp (user_id, id, secret, name, confirmed_at, last_used_at) values ($1, '1', '-', $2, now(), now())`,
    [userId, LONG],
  );
  await pool.query(
    `insert into user_factors (user_id, otp_email, recovery_sealed, recovery_left) values ($1, true, '-', 3)`,
    [userId],
  );
  const old = passkey(`old ${userId}`, { rpId: `${'old.'.repeat(15)}example.org` });
  await storePasskey(stage.api, userId, old, { passwordless: false });
  await storePasskey(stage.api, userId, passkey(`here ${userId}`, { userHandle: userId }));
  await pool.query('update user_passkeys set name = $2 where user_id = $1 and passwordless', [userId, LONG]);
}

/** What is wrong with the page in any look. */
async function looked(page: Page, named: string): Promise<string[]> {
  const found: string[] = [];
  for (const [index, { width, colorScheme, name }] of LOOKS.entries()) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    await screenshot(page, `account-${named}-${name}`);
    const options = index === 0 ? {} : { runOnly: OF_LOOKS };
    for (const finding of await axeProblems(page, options)) found.push(`${named}, ${name}: ${finding}`);
  }
  await page.setViewportSize({ width: 320, height: 600 });
  const width = await page.evaluate('document.documentElement.scrollWidth');
  if (width !== 320) found.push(`${named} is ${width} wide`);
  return found;
}

async function enter(page: Page, userId: string): Promise<void> {
  await page.goto(`${stage.api.url}/account`);
  await logIn(page, userId, PASSWORD);
  await headed(page, 'Your account');
}

describe('the pages of an account', () => {
  it('have no axe-core findings in any look, and fit a narrow screen', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const page = await stage.browser.openPage(t, { reducedMotion: 'reduce' });
    const userId = await person();
    await enter(page, userId);
    await equip(userId);
    const found: string[] = [];
    for (const [section, heading] of Object.entries(HEADINGS)) {
      await page.goto(`${stage.api.url}/account${section === '' ? '' : `/${section}`}`);
      await headed(page, heading);
      found.push(...(await looked(page, section || 'overview')));
    }
    await page.goto(`${stage.api.url}/account/authenticators`);
    await page.getByRole('button', { name: 'Add an authenticator app' }).click();
    await page.getByLabel('Name of the app').waitFor();
    found.push(...(await looked(page, 'new-authenticator')));
    await page.goto(`${stage.api.url}/account/recovery-codes`);
    await page.getByRole('button', { name: 'Make new recovery codes' }).click();
    await headed(page, 'Your new recovery codes');
    found.push(...(await looked(page, 'new-recovery-codes')));
    assert.deepEqual(found, []);
  });

  it('are in every language, and fit a phone in each', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const page = await stage.browser.openPage(t, { viewport: NARROW });
    const userId = await person();
    await enter(page, userId);
    await equip(userId);
    const found: string[] = [];
    for (const language of LANGUAGES) {
      for (const section of Object.keys(HEADINGS)) {
        const answer = await page.goto(`${stage.api.url}/account/${section}?ui_locales=${language}`);
        assert.equal(answer?.status(), 200, section);
        await screenshot(page, `${language}-account-${section || 'overview'}`, { fullPage: true });
        for (const problem of await problemsIn(page, language)) found.push(`${section} in ${language}: ${problem}`);
      }
    }
    assert.deepEqual(found, []);
  });

  it('add a passkey, which then signs in without name and password', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const page = await stage.browser.openPage(t);
    const authenticator = await virtualAuthenticator(page);
    await authenticator.answersByItself(false);
    await enter(page, await person());
    await page.getByRole('link', { name: 'Passkeys and security keys' }).click();
    await page.getByLabel('Name of the passkey').fill('Laptop');
    await authenticator.answersByItself(true);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('status').filter({ hasText: 'The passkey is added.' }).waitFor();
    await page.getByText('Laptop', { exact: true }).waitFor();
    assert.equal((await authenticator.credentialIds()).length, 1);
    await page.context().clearCookies();
    await authenticator.answersByItself(false);
    await page.goto(`${stage.api.url}/account`);
    await page.getByRole('button', { name: 'Use a passkey' }).waitFor();
    await authenticator.answersByItself(true);
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await headed(page, 'Your account');
  });

  it('are used with the keyboard alone, and show what was done', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const page = await stage.browser.openPage(t, { javaScriptEnabled: false });
    await enter(page, await person());
    await page.getByRole('link', { name: 'Name and language' }).focus();
    await page.keyboard.press('Enter');
    await headed(page, 'Name and language');
    await page.getByLabel('Nickname').focus();
    await page.keyboard.type('Annie');
    await page.keyboard.press('Enter');
    await page.getByRole('status').filter({ hasText: 'Your changes are saved.' }).waitFor();
    await page.getByRole('link', { name: 'Your account' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Password', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Current password').fill('wrong');
    await page.getByLabel('New password', { exact: true }).fill('another horse battery');
    await page.getByLabel('Repeat new password').fill('another horse battery');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: 'The current password is wrong.' }).waitFor();
    assert.equal(await page.title(), 'Problem: Password');
    await screenshot(page, 'account-password-problem');
    assert.deepEqual(await page.getByLabel('Current password').getAttribute('aria-invalid'), 'true');
  });

  it('list where somebody is signed in, and end one and all others', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const page = await stage.browser.openPage(t, { javaScriptEnabled: false });
    await enter(page, await person());
    await page.getByRole('link', { name: 'Where you are signed in' }).click();
    await page.getByText('Chrome on Linux (this browser)').waitFor();
    await page.getByRole('button', { name: /^End Shop <b>/ }).click();
    await page.getByText('The sign‑in has ended.').waitFor();
    assert.equal(await page.getByText('Shop <b>').count(), 0);
  });
});
