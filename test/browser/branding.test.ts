/** Pages with the branding of an organization, in Chromium: readable in the worst colours, and met by a person who moved. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import type { Page, ViewportSize } from 'playwright-core';
import { setBranding } from '../../src/platform/html/branding.ts';
import { type HtmlPage, renderPage } from '../../src/platform/html/layout.ts';
import { inLanguage } from '../../src/platform/messages/catalogue.ts';
import { axeProblems } from '../support/axe.ts';
import { launchBrowser, screenshot } from '../support/browser.ts';
import { must } from '../support/calls.ts';
import { dataUrl, LOSSLESS, png } from '../support/pictures.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { importCase } from '../ways/import-case.ts';
import { openStage as openWays } from '../ways/stage.ts';
import { startApplication } from './application.ts';
import { allPages } from './pages.ts';
import { headed, logIn, openStage } from './stage.ts';

const SIZES = [
  { width: 360, height: 740 },
  { width: 390, height: 844 },
  { width: 1440, height: 900 },
] as const;
const [PHONE, , WIDE] = SIZES;
const SCHEMES = ['light', 'dark'] as const;
const OF_LOOKS = ['color-contrast', 'target-size', 'link-in-text-block', 'image-alt'];

/** Chosen to be hard to read: on white, on black, on each other, and in between. */
const WORST = [
  ['#ffff00', '#ffff00'],
  ['#ffffff', '#000000'],
  ['#000000', '#ffffff'],
  ['#808080', '#808080'],
  ['#00ffff', '#ff00ff'],
  ['#7f7fff', '#7fff7f'],
] as const;

const LINKS = { help: 'https://a.example/h', terms: 'https://a.example/t', privacy: 'https://a.example/p' };

/** What axe and the width of the page say, in each size and colour scheme. */
async function findings(page: Page, name: string, sizes: readonly ViewportSize[] = SIZES): Promise<string[]> {
  const found: string[] = [];
  for (const viewport of sizes) {
    await page.setViewportSize(viewport);
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme });
      await screenshot(page, `${name}-${viewport.width}-${colorScheme}`);
      const problems = await axeProblems(page, { runOnly: OF_LOOKS });
      found.push(...problems.map((problem) => `${name} ${viewport.width} ${colorScheme}: ${problem}`));
    }
    const width = await page.evaluate('document.documentElement.scrollWidth');
    if (width !== viewport.width) found.push(`${name} is ${width} wide at ${viewport.width}`);
  }
  return found;
}

test('pages in the worst colours have no axe-core findings, on phones and wide screens, in light and dark', async (t) => {
  const stage = await openStage();
  t.after(() => stage.stop());
  if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
  const page = await stage.browser.openPage(t, { reducedMotion: 'reduce' });
  const put = async (body: object) => {
    const answer = await stage.api.call('PUT', '/management/v1/policies/branding', body, { orgId: stage.org.orgId });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
  };
  await put({
    name: 'Acme',
    logo: dataUrl(png({ width: 1200, height: 60 })),
    links: LINKS,
    supportEmail: 'h@a.example',
  });
  const start = stage.app.start({ organization: stage.org.orgId });
  const found: string[] = [];
  for (const [primaryColor, backgroundColor] of WORST) {
    await put({ primaryColor, backgroundColor });
    await page.goto(start);
    await page.getByAltText('Acme').waitFor();
    const name = `${primaryColor.slice(1)}-${backgroundColor.slice(1)}`;
    found.push(...(await findings(page, `first-${name}`)));
    await page.getByLabel('Login name').fill('nobody');
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('is wrong').waitFor();
    found.push(...(await findings(page, `wrong-${name}`)));
  }
  for (const theme of ['light', 'dark']) {
    await put({ theme, cornerRadius: 24, reset: ['primaryColor', 'backgroundColor'] });
    await page.goto(start);
    found.push(...(await findings(page, `theme-${theme}`)));
    const card = 'getComputedStyle(document.querySelector(".card")).backgroundColor';
    assert.equal(await page.evaluate(card), theme === 'dark' ? 'rgb(23, 28, 37)' : 'rgb(255, 255, 255)');
  }
  assert.deepEqual(found, []);
});

test('pages and the account in other languages have none in the worst colours either', async (t) => {
  const stage = await openStage({ RATE_LIMIT_LOGINS: '0', RATE_LIMIT_UNKNOWN_KB: '0' }, { host: 'localhost' });
  t.after(() => stage.stop());
  if (!requireOrSkip(t, 'chromium') || !stage.browser) return;
  const page = await stage.browser.openPage(t, { reducedMotion: 'reduce' });
  const found: string[] = [];
  const shown = new Map<string, ReturnType<typeof renderPage>>();
  await page.route('http://pages.example/**', (route) => {
    const { headers, markup } = shown.get(new URL(route.request().url()).pathname) ?? { headers: {}, markup: '' };
    return route.fulfill({ headers, body: markup });
  });
  for (const [language, [primaryColor, backgroundColor]] of OTHERS.flatMap((one) =>
    WORST.map((pair) => [one, pair] as const),
  )) {
    const colours = `${language}-${primaryColor.slice(1)}-${backgroundColor.slice(1)}`;
    inLanguage({ chosen: language }, () => {
      setBranding({ name: 'Acme', primaryColor, backgroundColor, cornerRadius: 24, links: LINKS });
      const all = allPages();
      for (const name of FULL) shown.set(`/${colours}/${name}`, renderPage(all[name] as HtmlPage));
    });
    for (const name of FULL) {
      await page.goto(`http://pages.example/${colours}/${name}`);
      found.push(...(await findings(page, `${colours}-${name}`, [PHONE])));
    }
  }
  const { loginName } = await stage.person('correct horse');
  await page.goto(`${stage.api.url}/account`);
  await logIn(page, loginName, 'correct horse');
  await headed(page, 'Your account');
  for (const [n, [primaryColor, backgroundColor]] of WORST.entries()) {
    const language = OTHERS[n % OTHERS.length];
    const org = { orgId: stage.org.orgId };
    await must(stage.api.call('PUT', '/management/v1/policies/branding', { primaryColor, backgroundColor }, org));
    for (const section of ['profile?done=saved', 'passkeys']) {
      const query = `${section.includes('?') ? '&' : '?'}ui_locales=${language}`;
      await page.goto(`${stage.api.url}/account/${section}${query}`);
      assert.equal(await page.getAttribute('html', 'lang'), language);
      const name = `account-${language}-${primaryColor.slice(1)}-${section.replace(/\W.*/, '')}`;
      found.push(...(await findings(page, name, [WIDE])));
    }
  }
  assert.deepEqual(found, []);
});

/** Longer words than English has, from right to left, and without spaces. */
const OTHERS = ['de', 'ar', 'ja'] as const;
/** Pages with every kind of element: fields, buttons of all kinds, links, a code, and what is wrong. */
const FULL = ['provider-problem', 'factor-problem'];

test('a Keycloak user with the locale de signs in on a German page on a phone, with the logo of the organization', async (t) => {
  const stage = await openWays(t);
  const browser = await launchBrowser();
  t.after(() => browser?.close());
  if (!requireOrSkip(t, 'chromium') || !browser) return;
  const folder = await mkdtemp(join(tmpdir(), 'muster-branding-'));
  t.after(() => rm(folder, { recursive: true }));
  const given = new URL('../fixtures/ways/keycloak/acme-realm.json', import.meta.url);
  const realm = JSON.parse(await readFile(given, 'utf8'));
  const ann = realm.users.find(({ username }: { username: string }) => username === 'kc-ann');
  const file = join(folder, 'acme-realm.json');
  await writeFile(file, JSON.stringify({ ...realm, users: [{ ...ann, attributes: { locale: ['de'] } }] }));

  const org = await stage.newOrg();
  const branding = { name: 'Acme', logo: dataUrl(LOSSLESS), primaryColor: '#0b6b36', language: 'de', links: LINKS };
  const path = '/management/v1/policies/branding';
  await must(stage.call('PUT', path, branding, { orgId: org.orgId, token: org.ownerToken }));
  await importCase(stage, org, { source: 'keycloak', files: [file], args: [], users: [] });
  const { rows } = await stage.pool.query('select preferred_language as language from users where org_id = $1', [
    org.orgId,
  ]);
  assert.ok(rows.some(({ language }) => language === 'de'));

  const app = await startApplication(stage.api, 'Acme', stage.url);
  t.after(() => app.stop());
  const page = await browser.openPage(t, {
    viewport: { width: 390, height: 844 },
    locale: 'de-DE',
    javaScriptEnabled: false,
  });
  await page.goto(app.start({ scope: `openid profile urn:zitadel:iam:org:id:${org.orgId}` }));
  const logo = page.getByAltText('Acme');
  await logo.waitFor();
  assert.ok(((await logo.boundingBox())?.width ?? 0) > 0);
  assert.equal(await page.getAttribute('html', 'lang'), 'de');
  await screenshot(page, 'keycloak-name');
  await page.locator('input[name="loginName"]').fill('kc-ann');
  await page.getByRole('button', { name: 'Weiter', exact: true }).click();
  await page.getByLabel('Passwort', { exact: true }).fill('correct horse');
  await screenshot(page, 'keycloak-password');
  await logo.waitFor();
  await page.getByRole('button', { name: 'Anmelden', exact: true }).click();
  await headed(page, 'Welcome ann Example');
});
