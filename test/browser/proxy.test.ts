import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { addHuman } from '../directory/users/people.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { launchBrowser, type TestBrowser } from '../support/browser.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { startApplication } from './application.ts';
import { logIn, welcomed } from './stage.ts';

const PREFIX = '/identity';

describe('behind a proxy that adds a path, in a browser', () => {
  let api: TestApi;
  let browser: TestBrowser | undefined;
  let proxy: Server;
  let base: string;
  before(async () => {
    proxy = createServer((req, res) => {
      const path = req.url?.startsWith(PREFIX) ? req.url.slice(PREFIX.length) : '/outside';
      const { port } = new URL(api.url);
      const onward = request(
        { port, path, method: req.method, headers: { ...req.headers, host: 'inside' } },
        (answer) => {
          res.writeHead(answer.statusCode ?? 500, answer.headers);
          answer.pipe(res);
        },
      );
      req.pipe(onward);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    base = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}${PREFIX}`;
    api = await startApi({ env: { BASE_URL: base } });
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    proxy.closeAllConnections();
    proxy.close();
    await api.stop();
  });

  it('a login, the forgotten-password page and the way back stay below the path', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !browser) return;
    const { orgId } = await api.setupOrg();
    const userId = await addHuman(api, orgId, 'correct horse');
    const app = await startApplication(api, 'Acme', base);
    t.after(() => app.stop());
    const page = await browser.openPage(t);
    await page.goto(app.start());
    await page.getByRole('link', { name: 'Forgot password?' }).click();
    await page.getByLabel('Login name').fill('nobody');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Back to sign‑in' }).click();
    await logIn(page, userId, 'wrong');
    await page.getByRole('alert').waitFor();
    assert.ok(page.url().startsWith(`${base}/ui/login/`));
    await logIn(page, userId, 'correct horse');
    await welcomed(page);
  });
});
