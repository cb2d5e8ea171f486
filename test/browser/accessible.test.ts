/** Checks every page with axe-core, on phone and wide screens, in light and dark. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { renderPage } from '../../src/platform/html/layout.ts';
import { axeProblems } from '../support/axe.ts';
import { launchBrowser, screenshot, type TestBrowser } from '../support/browser.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { fitProblems, NARROW } from './inspect.ts';
import { allPages, SCRIPT } from './pages.ts';

const pages = allPages();

const PHONE = { width: 390, height: 844 };
const WIDE = { width: 1440, height: 900 };
/** Rules whose outcome depends on screen size and color scheme. */
const OF_LOOKS = ['color-contrast', 'target-size'];
const LOOKS: { look: string; viewport: typeof PHONE; colorScheme: 'light' | 'dark'; rules?: string[] }[] = [
  { look: 'phone-light', viewport: PHONE, colorScheme: 'light' },
  { look: 'phone-dark', viewport: PHONE, colorScheme: 'dark', rules: OF_LOOKS },
  { look: 'wide-light', viewport: WIDE, colorScheme: 'light', rules: OF_LOOKS },
  { look: 'wide-dark', viewport: WIDE, colorScheme: 'dark', rules: OF_LOOKS },
];

describe('the pages', () => {
  let browser: TestBrowser | undefined;
  let server: Server;
  let url: string;
  before(async () => {
    browser = await launchBrowser();
    server = createServer((req, res) => {
      if (req.url === SCRIPT) return void res.writeHead(200, { 'content-type': 'text/javascript' }).end();
      const page = pages[(req.url ?? '').slice(1)];
      if (!page) return void res.writeHead(204).end();
      const { headers, markup } = renderPage(page);
      res.writeHead(200, headers).end(markup);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(async () => {
    await browser?.close();
    server.close();
  });

  it('have no axe-core findings in any look, and fit a narrow screen', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !browser) return;
    const tab = await browser.openPage(t, { reducedMotion: 'reduce' });
    const found: string[] = [];
    for (const [name, page] of Object.entries(pages)) {
      await tab.goto(`${url}/${name}`);
      assert.equal(await tab.title(), page?.title);
      for (const { look, viewport, colorScheme, rules } of LOOKS) {
        await tab.setViewportSize(viewport);
        await tab.emulateMedia({ colorScheme });
        await screenshot(tab, `${name}-${look}`);
        for (const finding of await axeProblems(tab, rules ? { runOnly: rules } : {}))
          found.push(`${name}, ${look}: ${finding}`);
      }
      await tab.setViewportSize({ width: 320, height: 600 });
      const width = await tab.evaluate('document.documentElement.scrollWidth');
      if (width !== 320) found.push(`${name} is ${width} wide`);
    }
    assert.deepEqual(found, []);
    assert.ok(Object.keys(pages).length >= 34);
  });

  it('fit a phone that is 360 px wide when texts are 40 % longer, as those of other languages are', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !browser) return;
    const tab = await browser.openPage(t, { viewport: NARROW });
    const found: string[] = [];
    for (const name of Object.keys(pages)) {
      await tab.goto(`${url}/${name}`);
      const list = tab.locator('.languages summary');
      if ((await list.count()) > 0) await list.click();
      await tab.evaluate(LENGTHEN);
      await screenshot(tab, `${name}-longer`, { fullPage: true });
      for (const problem of await fitProblems(tab)) found.push(`${name}: ${problem}`);
    }
    assert.deepEqual(found, []);
  });
});

/** Makes each word of the texts 40 % longer. */
const LENGTHEN = `{
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    if (text.parentElement.closest('code, strong')) continue;
    text.data = text.data.replace(/\\p{L}+/gu, (word) => word + 'x'.repeat(Math.ceil(word.length * 0.4)));
  }
}`;
