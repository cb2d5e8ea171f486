/** The frame of every page: on a phone one row, with a menu that needs no script. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { axeProblems } from '../../support/axe.ts';
import { screenshot } from '../../support/browser.ts';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { findingsOf, makeIamOwner, openWorld, type World } from '../world.ts';

describe('the frame of a page', () => {
  let world: World;
  before(async () => {
    world = await openWorld();
    await makeIamOwner(world.api, world.org);
  });
  after(() => world.stop());

  const heightOf = async (page: Page) => (await page.locator('header').boundingBox())?.height ?? 0;

  it('is one row on a phone, whose menu opens with the keyboard and without JavaScript', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/users', world.org, { javaScriptEnabled: false });
    for (const width of [320, 390, 760]) {
      await page.setViewportSize({ width, height: 700 });
      assert((await heightOf(page)) < 56, `${await heightOf(page)} at ${width}`);
      assert.equal(await page.getByRole('link', { name: 'Organizations' }).isVisible(), false);
    }
    await page.getByRole('button', { name: 'Menu' }).focus();
    await page.keyboard.press('Enter');
    const links = page.getByRole('navigation', { name: 'Main' }).getByRole('link');
    await links.first().waitFor();
    assert.deepEqual(await links.allTextContents(), [
      ...['Imports', 'Users', 'Organizations', 'Clients', 'System'],
      ...['Mailbox'],
    ]);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.waitForURL(({ pathname }) => pathname === '/console/imports');
    await page.setViewportSize({ width: 1440, height: 700 });
    assert.equal(await page.getByRole('button', { name: 'Menu' }).isVisible(), false);
    await page.getByRole('link', { name: 'Organizations' }).click();
    await page.waitForURL(({ pathname }) => pathname === '/console/organizations');
  });

  it('has a menu that everybody can read', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/users');
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await screenshot(page, `menu-${colorScheme}`);
      assert.deepEqual(await axeProblems(page), []);
    }
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 390);
  });

  it('is around the guides to exports, and the first step of a new import', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/guides/auth0');
    await page.getByRole('heading', { name: 'Export from Auth0' }).waitFor();
    const found = await findingsOf(page, 'guide');
    await page.goto(`${world.api.url}/console/imports/new`);
    await page.getByRole('link', { name: 'Keycloak' }).waitFor();
    found.push(...(await findingsOf(page, 'new-import-empty')));
    assert.deepEqual(found, []);
  });
});
