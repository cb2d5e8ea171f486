/** The setup of the console's browser tests: an API, two organizations, a browser, and people who sign in. */
import type { TestContext } from 'node:test';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { logIn } from '../browser/stage.ts';
import { type SetUp, startApi, type TestApi } from '../support/api.ts';
import { axeProblems } from '../support/axe.ts';
import { launchBrowser, screenshot, type TestBrowser } from '../support/browser.ts';
import { redisUrl } from '../support/stores/redis.ts';
import { keyboardFindings } from './keyboard.ts';
import { widthFindings } from './widths.ts';

const ALL_QUEUES = ['redis', 'postgres'] as const;
export type Queue = (typeof ALL_QUEUES)[number];
/**
 * The backends of the queue in this run: `npm test` as a whole takes Redis, where there is one, and `npm run test:stores`
 * both.
 */
export const QUEUES = ALL_QUEUES.filter(
  (name) => (process.env.TEST_BACKENDS ?? name).split(',').includes(name) && (name !== 'redis' || redisUrl()),
);

/** Settings for the queue on this backend. */
export function queueOn(backend: Queue): Record<string, string> {
  return backend === 'redis' ? { REDIS_URL: redisUrl() as string } : {};
}

export interface World {
  api: TestApi;
  /** With a person who owns it. */
  org: SetUp;
  other: SetUp;
  browser: TestBrowser | undefined;
  /** Signs a person in, at a path of the console. Default: the owner of `org`. */
  enter(t: TestContext, path: string, who?: SetUp, options?: BrowserContextOptions): Promise<Page>;
  stop(): Promise<void>;
}

export async function openWorld(env: Record<string, string> = {}): Promise<World> {
  const api = await startApi({ env });
  const org = await api.setupOrg();
  const other = await api.setupOrg({ human: { profile: { firstName: 'Otto', lastName: 'Other' } } });
  const browser = await launchBrowser();
  return {
    api,
    org,
    other,
    browser,
    async enter(t, path, who = org, options = {}) {
      const page = await (browser as TestBrowser).openPage(t, options);
      await page.goto(api.url + path);
      await logIn(page, who.userName, who.password);
      await page.waitForURL(({ pathname }) => pathname.startsWith('/console') && pathname !== '/console/callback');
      return page;
    },
    async stop() {
      await browser?.close();
      await api.stop();
    },
  };
}

/** Makes the person of an organization the owner of the instance. */
export async function makeIamOwner(api: TestApi, { userId }: SetUp): Promise<void> {
  const { status } = await api.call('POST', '/admin/v1/members', { userId, roles: ['IAM_OWNER'] });
  if (status >= 300) throw new Error(`answered ${status}`);
}

const OF_LOOKS = ['color-contrast', 'target-size'];
const PHONE = { width: 390, height: 844 };
const WIDE = { width: 1440, height: 900 };

/**
 * What axe-core finds on the page as it is shown, narrow and wide, light and dark; whether it fits every window and can be
 * used with the keyboard alone.
 * @param name of the screenshots
 */
export async function findingsOf(page: Page, name: string): Promise<string[]> {
  const found: string[] = [];
  for (const [look, viewport, colorScheme, rules] of [
    ['phone-light', PHONE, 'light', undefined],
    ['phone-dark', PHONE, 'dark', OF_LOOKS],
    ['wide-light', WIDE, 'light', undefined],
    ['wide-dark', WIDE, 'dark', OF_LOOKS],
  ] as const) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await screenshot(page, `${name}-${look}`);
    // The only frame is the HTML of a mail, which runs no script, so none of axe-core either.
    const noFrames = { iframes: false, rules: { 'frame-tested': { enabled: false } } };
    const problems = await axeProblems(page, { ...noFrames, ...(rules ? { runOnly: rules } : {}) });
    found.push(...problems.map((problem) => `${name}, ${look}: ${problem}`));
  }
  found.push(...(await widthFindings(page)).map((finding) => `${name} ${finding}`));
  // As a window of 1280 x 1024 at a zoom of 400 %.
  await page.setViewportSize({ width: 320, height: 256 });
  found.push(...(await keyboardFindings(page)).map((finding) => `${name}, zoomed: ${finding}`));
  await screenshot(page, `${name}-zoomed`, { fullPage: true });
  await page.setViewportSize(WIDE);
  await page.emulateMedia({ forcedColors: 'active' });
  await screenshot(page, `${name}-forced`);
  await page.emulateMedia({ forcedColors: 'none' });
  return found;
}
