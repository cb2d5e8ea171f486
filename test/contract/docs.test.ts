import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { startApi, type TestApi } from '../support/api.ts';
import { launchBrowser, screenshot, type TestBrowser } from '../support/browser.ts';
import { requireOrSkip } from '../support/runner/programs.ts';

/** Swagger UI has only the rows near the view in the page: so this scrolls through all. */
async function operationsSeen(page: Page): Promise<Set<string>> {
  const seen = new Set<string>();
  for (let atEnd = false; !atEnd; ) {
    for (const id of await page.locator('.opblock').evaluateAll((rows) => rows.map((row) => row.id))) seen.add(id);
    atEnd = await page.evaluate<boolean>(scrollOn);
  }
  return seen;
}

/** Resolves when the rows of the new place are there, with whether the end had been reached before. */
const scrollOn = `(async () => {
  const { scrollHeight, clientHeight } = document.documentElement;
  const atEnd = window.scrollY + clientHeight >= scrollHeight - 1;
  window.scrollBy(0, clientHeight / 2);
  for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
  return atEnd;
})()`;

describe('the documentation in a browser', () => {
  let api: TestApi;
  let browser: TestBrowser | undefined;

  before(async () => {
    api = await startApi();
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await api.stop();
  });

  it('shows every operation, loads from this service only, and reports no error', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await (browser as TestBrowser).openPage(t, { viewport: { width: 1200, height: 1000 } });
    const elsewhere: string[] = [];
    page.on('request', (r) => {
      if (!r.url().startsWith(api.url) && !r.url().startsWith('data:')) elsewhere.push(r.url());
    });
    await page.goto(`${api.url}/docs`);
    await page.getByRole('heading', { name: /^Muster/ }).waitFor();
    await page.locator('.opblock').first().waitFor();
    const { paths } = (await api.call('GET', '/openapi.json')).body;
    const operations = Object.values<Record<string, unknown>>(paths).flatMap((item) => Object.keys(item));
    await screenshot(page, 'docs');
    assert.equal((await operationsSeen(page)).size, operations.length);

    await page.goto('about:blank'); // a link from elsewhere
    await page.goto(`${api.url}/docs#/Imports/importUsers`);
    await page.getByText('Acceptance is all or nothing').waitFor();
    await page.getByText('"dataOrgs"').first().waitFor();
    await screenshot(page, 'docs-import');
    assert.deepEqual(elsewhere, []);
  });

  it('sends a request with a token by Try it out', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await (browser as TestBrowser).openPage(t, { viewport: { width: 1200, height: 1000 } });
    await page.goto(`${api.url}/docs`);
    await page.getByRole('button', { name: 'Authorize', exact: true }).click();
    await page.getByLabel('auth-bearer-value').fill(api.token);
    await page.getByLabel('Apply credentials').first().click();
    await page.getByRole('button', { name: 'Close' }).first().click();

    const operation = page.locator('#operations-Organizations-getMyOrg');
    await operation.getByRole('button').first().click();
    await operation.getByRole('button', { name: 'Try it out' }).click();
    await operation.getByRole('button', { name: 'Execute' }).click();
    await operation.locator('.live-responses-table').getByText('"primaryDomain"').waitFor();
    await screenshot(page, 'docs-tried');
  });

  it('sends a Content-Security-Policy that forbids other origins and inline scripts', async () => {
    const { headers } = await api.call('GET', '/docs', undefined, { token: null });
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /script-src 'self';/);
    assert.doesNotMatch(policy, /https?:|unsafe-eval/);
  });

  it('works below the path of the public address', async () => {
    const below = await startApi({ env: { BASE_URL: 'https://id.example.com/muster/' } });
    const [page, start] = await Promise.all(
      ['/docs', '/docs/start.js'].map((path) => below.call('GET', path, undefined, { token: null })),
    );
    await below.stop();
    const links = [...String(page?.body).matchAll(/(?:src|href)="([^"]*)"/g)].map(([, link]) => link);
    assert.ok(links.length >= 4 && links.every((link) => link?.startsWith('/muster/docs/')), links.join());
    assert.match(String(start?.body), /url: '\/muster\/openapi\.json'/);
  });

  it('lets browsers cache its files, and answers 404 for any other file', async () => {
    for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png', 'start.js']) {
      const { status, headers } = await api.call('GET', `/docs/${file}`, undefined, { token: null });
      assert.equal(status, 200, file);
      assert.match(headers.get('cache-control') ?? '', /max-age=86400/);
    }
    for (const file of ['index.html', '..%2fpackage.json', 'swagger-ui.js.map']) {
      assert.equal((await api.call('GET', `/docs/${file}`, undefined, { token: null })).status, 404, file);
    }
  });
});
