/** The mails of an import as people get them, on the page Decide: in their languages, in frames that run nothing. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { screenshot } from '../support/browser.ts';
import { must } from '../support/calls.ts';
import { bulk } from '../support/imports/bodies.ts';
import { type Entry, entry } from '../support/imports/imports.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { waitFor } from '../support/wait.ts';
import { openWorking } from './new-import.ts';
import { findingsOf, type World } from './world.ts';

const person = (name: string, preferredLanguage: string): Entry =>
  entry(name, {
    profile: { firstName: 'Ann', lastName: 'Arbor', preferredLanguage },
    hashedPassword: undefined,
  });

describe('the mails on Decide', () => {
  let world: World;
  before(async () => {
    world = await openWorking();
  });
  after(() => world.stop());

  it('are shown as mail programs show them, in each language of the users, and run nothing', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { api, org } = world;
    const users = [person('mp-1', 'de'), person('mp-2', 'de'), person('mp-3', 'en')];
    const { importId } = (await must(api.call('POST', '/admin/v1/import?draft=true', bulk(org.orgId, users)))).body;
    const path = `/admin/v1/imports/${importId}`;
    await must(api.call('POST', `${path}/_check`, {}));
    const isChecked = async () => (await api.call('GET', path)).body.state === 'IMPORT_STATE_CHECKED';
    await waitFor(isChecked, { what: 'the check' });
    for (const [width, colorScheme] of [
      [390, 'light'],
      [1440, 'dark'],
    ] as const) {
      const page = await world.enter(t, `/console/imports/new/${importId}/decide`, undefined, {
        javaScriptEnabled: false,
        viewport: { width, height: 900 },
        colorScheme,
      });
      const german = page.locator('details', { hasText: 'German, 2 users' }).first();
      await german.locator('summary').first().click();
      const mail = german.frameLocator('iframe.mail');
      await mail.getByText('Passwort festlegen').waitFor();
      assert.match((await mail.locator('body').textContent()) ?? '', /Guten Tag,/);
      assert.equal(await page.locator('details', { hasText: 'English, 1 user' }).count(), 1);
      assert.ok(
        await page.evaluate('document.documentElement.scrollWidth <= document.documentElement.clientWidth'),
        'nothing is wider than the page',
      );
      await german.scrollIntoViewIfNeeded();
      await screenshot(page, `decide-mail-${width}-${colorScheme}`);
    }
    const who = await world.enter(t, `/console/imports/new/${importId}/decide`);
    await who.locator('summary', { hasText: 'German, 2 users' }).click();
    assert.deepEqual(await findingsOf(who, 'Decide'), []);
    const answer = await who.request.get(`${world.api.url}/console/imports/new/${importId}/mails/initialisation/de`);
    const policy = answer.headers()['content-security-policy'] ?? '';
    assert.match(policy, /default-src 'none'.*sandbox allow-popups/);
    assert.doesNotMatch(policy, /allow-scripts|allow-same-origin/);
    assert.equal(
      (await who.request.get(`${world.api.url}/console/imports/new/${importId}/mails/initialisation/xx`)).status(),
      404,
    );
  });
});
