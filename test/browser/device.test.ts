/** The device flow (RFC 8628) through `openid-client` as the device and Chromium as the user's browser. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import * as oidc from 'openid-client';
import type { Page } from 'playwright-core';
import { CLI_CLIENT, CLI_SCOPE } from '../../src/contract/own-clients.ts';
import { type SetUp, startApi, type TestApi } from '../support/api.ts';
import { launchBrowser, type TestBrowser } from '../support/browser.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { headed, logIn } from './stage.ts';

describe('a device without a browser', () => {
  let api: TestApi;
  let org: SetUp;
  let browser: TestBrowser | undefined;
  let config: oidc.Configuration;
  before(async () => {
    api = await startApi();
    org = await api.setupOrg();
    browser = await launchBrowser();
    const options = { execute: [oidc.allowInsecureRequests] };
    config = await oidc.discovery(new URL(api.url), CLI_CLIENT.client_id, undefined, oidc.None(), options);
  });
  after(async () => {
    await browser?.close();
    await api.stop();
  });

  async function open(t: TestContext): Promise<Page | undefined> {
    return requireOrSkip(t, 'chromium') ? browser?.openPage(t) : undefined;
  }

  const begin = () => oidc.initiateDeviceAuthorization(config, { scope: CLI_SCOPE });
  /** Polls faster than the real interval of five seconds. */
  const wait = (device: Awaited<ReturnType<typeof begin>>) =>
    oidc.pollDeviceAuthorizationGrant(config, { ...device, interval: 0.1 });

  it('is authorized by a user who enters its code, on the second attempt, and logs in', async (t) => {
    const page = await open(t);
    if (!page) return;
    const device = await begin();
    const tokens = wait(device);
    await page.goto(device.verification_uri);
    await page.getByLabel('Code').fill('bbbb bbbb');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('This code is not correct').waitFor();
    assert.equal(await page.getByLabel('Code').inputValue(), 'bbbb bbbb');
    await page.getByLabel('Code').fill(device.user_code.toLowerCase());
    await page.keyboard.press('Enter');
    await headed(page, 'Is this your device?');
    await page.getByText(device.user_code).waitFor();
    await page.getByRole('button', { name: 'Continue' }).click();
    await logIn(page, org.userName, org.password);
    await headed(page, 'Your device is connected');
    const { access_token: token } = await tokens;
    assert.equal((await tokens).claims()?.sub, org.userId);
    assert.equal((await api.call('GET', '/management/v1/orgs/me', undefined, { token })).status, 200);
  });

  it('is authorized by the link with its code, without another login if the user is logged in', async (t) => {
    const page = await open(t);
    if (!page) return;
    for (const isFirst of [true, false]) {
      const device = await begin();
      const tokens = wait(device);
      await page.goto(device.verification_uri_complete as string);
      await headed(page, 'Is this your device?');
      await page.getByRole('button', { name: 'Continue' }).click();
      if (isFirst) await logIn(page, org.userName, org.password);
      await headed(page, 'Your device is connected');
      assert.equal((await tokens).claims()?.sub, org.userId);
    }
  });

  it('gets no access if the user cancels, or goes back at the login', async (t) => {
    const page = await open(t);
    if (!page) return;
    for (const [first, second] of [['Cancel'], ['Continue', 'Back to Muster command line']]) {
      const device = await begin();
      const refused = assert.rejects(wait(device), { error: 'access_denied' });
      await page.goto(device.verification_uri_complete as string);
      await page.getByRole('button', { name: first as string }).click();
      if (second) await page.getByRole('button', { name: second }).click();
      await headed(page, 'Sign‑in cancelled');
      await refused;
      await page.getByRole('link', { name: 'Enter a code' }).click();
      await page.getByLabel('Code').waitFor();
    }
  });
});
