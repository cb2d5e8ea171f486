/** Passkeys in Chromium with a virtual authenticator, which holds the private keys of records that are stored here. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { storePasskey } from '../signin/passkeys/holder.ts';
import { axeProblems } from '../support/axe.ts';
import { screenshot } from '../support/browser.ts';
import { passkey, virtualAuthenticator } from '../support/passkeys.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { logIn, openStage, type Stage, welcomed } from './stage.ts';

const PASSWORD = 'correct horse';

describe('a passkey in a browser', () => {
  let stage: Stage;
  before(async () => {
    stage = await openStage({}, { host: 'localhost' });
  });
  after(() => stage.stop());

  it('signs in by the button, without name and password', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { userId } = await stage.person(PASSWORD);
    const key = passkey(`button ${userId}`, { userHandle: userId });
    await storePasskey(stage.api, userId, key);
    const page = await stage.browser.openPage(t);
    const authenticator = await virtualAuthenticator(page);
    // Otherwise the field for the name would be answered by itself.
    await authenticator.answersByItself(false);
    await authenticator.add(key);
    await page.goto(stage.app.start());
    const button = page.getByRole('button', { name: 'Use a passkey' });
    await button.waitFor();
    assert.deepEqual(await axeProblems(page), []);
    await screenshot(page, 'passkey-button');
    await authenticator.answersByItself(true);
    await button.click();
    await welcomed(page);
  });

  it('signs in by the suggestions of the field for the name', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { userId } = await stage.person(PASSWORD);
    const key = passkey(`suggestion ${userId}`, { userHandle: userId });
    await storePasskey(stage.api, userId, key);
    const page = await stage.browser.openPage(t);
    const authenticator = await virtualAuthenticator(page);
    await authenticator.add(key);
    await page.goto(stage.app.start());
    await welcomed(page);
  });

  it('is never offered if it was made for another RP id: the other ways stay', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { userId, loginName } = await stage.person(PASSWORD);
    const foreign = passkey(`foreign ${userId}`, { userHandle: userId, rpId: 'old.example.org' });
    await storePasskey(stage.api, userId, foreign);
    const page = await stage.browser.openPage(t);
    const authenticator = await virtualAuthenticator(page);
    await authenticator.add(foreign);
    await page.goto(stage.app.start());
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByText('No passkey was used. Try again, or sign in in another way.').waitFor();
    await logIn(page, loginName, PASSWORD);
    await welcomed(page);
  });

  it('is hidden without JavaScript, and the page is complete', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { loginName } = await stage.person(PASSWORD);
    const page = await stage.browser.openPage(t, { javaScriptEnabled: false });
    await page.goto(stage.app.start());
    await page.getByRole('button', { name: 'Continue', exact: true }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Use a passkey' }).count(), 0);
    await logIn(page, loginName, PASSWORD);
    await welcomed(page);
  });
});
