/** A person signs in in their own language, in a real browser. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { mailLook } from '../../src/messages/mail/branding.ts';
import { previewMail } from '../../src/messages/mail/preview.ts';
import { type HtmlPage, renderPage } from '../../src/platform/html/layout.ts';
import { inLanguage, LANGUAGES } from '../../src/platform/messages/catalogue.ts';
import { axeProblems } from '../support/axe.ts';
import { screenshot } from '../support/browser.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { NARROW, problemsIn } from './inspect.ts';
import { allPages, SCRIPT } from './pages.ts';
import { headed, logIn, openStage, type Stage, welcomed } from './stage.ts';

const PASSWORD = 'correct horse';

describe('the language of the pages, in a browser', () => {
  let stage: Stage;
  before(async () => {
    stage = await openStage();
  });
  after(() => stage.stop());

  async function languageOf(page: Page): Promise<string | null> {
    return page.locator('html').getAttribute('lang');
  }

  async function choose(page: Page, current: string, name: string): Promise<void> {
    await page.locator('.languages summary').filter({ hasText: current }).click();
    await page.getByRole('link', { name, exact: true }).click();
  }

  it('is that of the browser, from the first page to the application', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { loginName } = await stage.person(PASSWORD);
    const page = await stage.browser.openPage(t, { locale: 'de-AT', viewport: NARROW, colorScheme: 'dark' });
    await page.goto(stage.app.start());
    await headed(page, 'Anmelden');
    await screenshot(page, 'german-name');
    await page.getByLabel('Anmeldename').fill(loginName);
    await page.getByRole('button', { name: 'Weiter', exact: true }).click();
    await page.getByLabel('Passwort', { exact: true }).fill('wrong');
    await page.getByRole('button', { name: 'Anmelden', exact: true }).click();
    await page.getByRole('alert').filter({ hasText: 'Der Anmeldename oder das Passwort ist falsch.' }).waitFor();
    assert.equal(await page.title(), 'Problem: Anmelden');
    await screenshot(page, 'german-wrong');
    assert.deepEqual(await axeProblems(page), []);
    await page.getByLabel('Passwort', { exact: true }).fill(PASSWORD);
    await page.getByRole('button', { name: 'Anmelden', exact: true }).click();
    await welcomed(page);
  });

  it('is chosen in the list at the foot, without JavaScript, and kept for the next sign-in', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const page = await stage.browser.openPage(t, { javaScriptEnabled: false, viewport: NARROW });
    await page.goto(stage.app.start());
    await headed(page, 'Sign in');
    await choose(page, 'English', 'Deutsch');
    await headed(page, 'Anmelden');
    await screenshot(page, 'german-chosen');
    await page.getByRole('link', { name: 'Passwort vergessen?' }).click();
    await headed(page, 'Passwort vergessen?');
    await page.getByRole('link', { name: 'Zurück zur Anmeldung' }).click();
    await headed(page, 'Anmelden');
    await page.goto(stage.app.start({ prompt: 'login' }));
    await headed(page, 'Anmelden');
    await choose(page, 'Deutsch', 'English');
    await headed(page, 'Sign in');
  });

  it('is that of the application, until the person chooses another one', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { loginName } = await stage.person(PASSWORD);
    const page = await stage.browser.openPage(t);
    await page.goto(stage.app.start({ ui_locales: 'de' }));
    await headed(page, 'Anmelden');
    await choose(page, 'Deutsch', 'English');
    await headed(page, 'Sign in');
    await page.getByLabel('Login name').fill(loginName);
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
    await page.getByLabel('Password').fill(PASSWORD);
    assert.equal(await languageOf(page), 'en');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await welcomed(page);
  });

  it('keeps the link of a mail when another language is chosen', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { loginName } = await stage.person(PASSWORD);
    const page = await stage.browser.openPage(t, { javaScriptEnabled: false });
    await page.goto(`${stage.api.url}/ui/forgot`);
    await page.getByLabel('Login name').fill(loginName);
    await page.getByRole('button', { name: 'Send link' }).click();
    await headed(page, 'Check your email');
    await page.goto(await stage.mailedLink(t));
    await headed(page, 'Choose a new password');
    await page.getByLabel('New password', { exact: true }).fill('battery staple');
    await page.getByLabel('Repeat new password').fill('another');
    await page.getByRole('button', { name: 'Set password' }).click();
    await page.getByRole('alert').waitFor();
    await choose(page, 'English', 'Deutsch');
    await headed(page, 'Neues Passwort festlegen');
    await page.getByLabel('Neues Passwort', { exact: true }).fill('battery staple');
    await page.getByLabel('Neues Passwort wiederholen').fill('battery staple');
    await page.getByRole('button', { name: 'Passwort festlegen' }).click();
    await headed(page, 'Ihr Passwort ist festgelegt');
    assert.equal(await page.locator('.languages').count(), 0, 'it cannot be opened again');
  });

  it('is that of all that a person reads on the pages of a sign-in, which fit a phone', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const page = await stage.browser.openPage(t, { viewport: NARROW });
    const pages = new Map<string, ReturnType<typeof renderPage>>();
    await page.route('http://pages.example/**', (route) => {
      const { pathname } = new URL(route.request().url());
      if (pathname === SCRIPT) return route.fulfill({ contentType: 'text/javascript', body: '' });
      const shown = pages.get(pathname);
      return shown ? route.fulfill({ headers: shown.headers, body: shown.markup }) : route.fulfill({ status: 204 });
    });
    const found: string[] = [];
    for (const language of LANGUAGES) {
      inLanguage({ chosen: language }, () => {
        const all = allPages();
        for (const name of MAIN) pages.set(`/${language}/${name}`, renderPage(all[name] as HtmlPage));
      });
      for (const name of MAIN) {
        await page.goto(`http://pages.example/${language}/${name}`);
        await screenshot(page, `${language}-${name}`, { fullPage: true });
        for (const problem of await problemsIn(page, language)) found.push(`${name} in ${language}: ${problem}`);
      }
    }
    assert.deepEqual(found, []);
  });

  it('breaks no word of a heading on a phone, and leaves no letter alone on a line', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const page = await stage.browser.openPage(t, { viewport: IN_FRAME });
    const found: string[] = [];
    for (const language of LANGUAGES) {
      const all = inLanguage({ chosen: language }, () =>
        Object.values(allPages()).map((one) => renderPage(one as HtmlPage).markup),
      );
      const headings = new Set(all.map((markup) => /<h1[^>]*>([^<]*)</.exec(markup)?.[1] ?? ''));
      await page.setContent(all[0] as string);
      const own = [...headings].filter((heading) => !heading.includes('Donaudampf'));
      const broken = (await page.evaluate(`(${BROKEN})(${JSON.stringify(own)})`)) as string[];
      found.push(...broken.map((heading) => `${language}: ${heading}`));
      const wrap = 'getComputedStyle(document.querySelector("label")).textWrapStyle';
      assert.equal(await page.evaluate(wrap), 'pretty', 'so that few lines have one word');
    }
    assert.deepEqual(found, []);
  });

  it('leaves a phone number from left to right, in Arabic too', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const page = await stage.browser.openPage(t);
    await page.setContent(inLanguage({ chosen: 'ar' }, () => renderPage(allPages()['text-code'] as HtmlPage).markup));
    const [plus = 0, digit = 0] = (await page.evaluate(LEFT_ENDS)) as number[];
    assert.ok(plus < digit, `the sign is at ${plus}, the digit at ${digit}`);
  });

  it('leaves a code in a mail on one line of a narrow phone, and lines of Japanese between phrases', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const page = await stage.browser.openPage(t, { viewport: { width: 320, height: 600 } });
    for (const kind of ['confirm_change', 'sign_in'] as const) {
      const mail = previewMail(stage.api.deps.config, {
        kind,
        org: { id: '1', name: 'Acme' },
        languages: { chosen: 'ja' },
        look: mailLook([], stage.api.url),
        expiresAt: new Date(0),
        displayName: '',
      });
      await page.setContent(mail.html);
      assert.equal(await page.evaluate(LINES_OF_CODE), 1, kind);
      const isPhrase = 'getComputedStyle(document.querySelector(".text p")).wordBreak';
      assert.equal(await page.evaluate(isPhrase), 'auto-phrase');
    }
  });

  it('keeps buttons apart that follow each other, on the page of a phone number', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const { loginName } = await stage.person(PASSWORD);
    await stage.api.deps.pool.query(`update users set phone = '+41791234567' where id = $1`, [loginName]);
    const page = await stage.browser.openPage(t, { viewport: NARROW });
    await page.goto(`${stage.api.url}/account/phone`);
    await logIn(page, loginName, PASSWORD);
    const confirm = await page.getByRole('button', { name: 'Confirm' }).boundingBox();
    const again = await page.getByRole('button', { name: 'Send a new code' }).boundingBox();
    assert.ok(confirm && again && again.y - confirm.y - confirm.height >= 8);
  });

  it('begins lists and technical texts on the side where they are read from', async (t) => {
    if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
    const page = await stage.browser.openPage(t, { viewport: NARROW });
    for (const [language, side] of [
      ['en', 'left'],
      ['ar', 'right'],
    ] as const) {
      const shown = inLanguage({ chosen: language }, () => renderPage(allPages()['oauth-error'] as HtmlPage).markup);
      await page.setContent(shown);
      await page.locator('.languages summary').click();
      assert.deepEqual(await page.evaluate(`(${UNALIGNED})('${side}')`), [], language);
      assert.ok((await page.evaluate(`(${DISTANCE})('code', 'bdi')`)) === 0, `${language}: the code comes first`);
    }
  });
});

const LINES_OF_CODE = `{
  const range = document.createRange();
  range.selectNodeContents(document.querySelector('p[dir="ltr"]'));
  range.getClientRects().length;
}`;

/** The links of the list that do not begin where their row does. */
const UNALIGNED = `(side) => [...document.querySelectorAll('.languages a')]
  .filter((link) => Math.abs(link.getBoundingClientRect()[side] - link.parentElement.getBoundingClientRect()[side]) > 1
    || link.scrollWidth > link.parentElement.clientWidth || link.clientWidth === link.parentElement.clientWidth)
  .map((link) => link.textContent)`;

/** How far to the right of the other element's beginning the first line of an element begins. */
const DISTANCE = `(one, other) => document.querySelector(one).getClientRects()[0].left
  - document.querySelector(other).getClientRects()[0].left`;

/** What leaves a heading as much room as a phone of 360 pixels where a branding has a background, and so a frame. */
const IN_FRAME = { width: 344, height: 780 };

/** The headings with a word on two lines that has no hyphen there, or with one letter on a line of its own. */
const BROKEN = `(headings) => headings.filter((heading) => {
  const node = document.querySelector('h1').firstChild;
  node.data = heading;
  const linesOf = (from, to) => {
    const range = document.createRange();
    range.setStart(node, from);
    range.setEnd(node, to);
    return new Set([...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => Math.round(top))).size;
  };
  const hasNoSpaces = /[\\p{sc=Han}\\p{sc=Kana}\\p{sc=Hira}]/u.test(heading);
  if (hasNoSpaces) return linesOf(0, heading.length) > linesOf(0, heading.length - 1);
  // The first letter has the place of a hyphen before it, too.
  return [...heading.matchAll(/[^\\s\\u00ad-]+/g)].some(({ 0: word, index }) => linesOf(index + 1, index + word.length) > 1);
})`;

/** One page of each kind. */
const MAIN = [
  ...['log-in-providers', 'log-in-problem', 'mail-code', 'code-problem', 'factor', 'required'],
  ...['link-expired', 'verify', 'init', 'forgot', 'add-passkey-invited', 'device-confirm'],
];

/** Where the first two characters of the text in bold begin. */
const LEFT_ENDS = `[0, 1].map((at) => {
  const range = document.createRange();
  range.setStart(document.querySelector('strong').firstChild, at);
  range.setEnd(document.querySelector('strong').firstChild, at + 1);
  return range.getBoundingClientRect().left;
})`;
