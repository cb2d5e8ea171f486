/** Times of pages: in the zone of the browser with UTC in the title, and in UTC where scripts are off. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { addHuman } from '../directory/users/people.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { openWorld, type World } from './world.ts';

describe('a time on a page', () => {
  let world: World;
  let path: string;
  before(async () => {
    world = await openWorld();
    const userId = await addHuman(world.api, world.org.orgId, 'correct horse');
    await world.api.deps.pool.query(
      `update users set last_login_at = '2026-01-02T20:04:05Z', created_at = '2026-01-02T03:04:05Z' where id = $1`,
      [userId],
    );
    path = `/console/users/${encodeURIComponent(userId)}`;
  });
  after(() => world.stop());

  it('is local, with UTC in its title, also when it is added or changed later', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, path, world.org, { timezoneId: 'Asia/Kolkata' });
    const time = page.locator('time[datetime="2026-01-02T20:04:05.000Z"]');
    await page.getByText('2026-01-03 01:34', { exact: true }).waitFor();
    assert.equal(await time.getAttribute('title'), '2026-01-02 20:04 UTC');
    await page.evaluate(`(() => {
      const added = document.createElement('p');
      const time = document.createElement('time');
      time.dateTime = '2026-02-03T00:00:00Z';
      added.append(time);
      document.querySelector('main').append(added);
      for (const [form, back] of [['ago', 5 * 60_000 + 500], ['ago', 0], ['seconds', 0]]) {
        const time = document.createElement('time');
        time.dataset.form = form;
        time.dateTime = form === 'seconds' ? '2026-02-03T00:00:07Z' : new Date(Date.now() - back).toISOString();
        document.querySelector('main').append(time);
      }
    })()`);
    for (const text of ['2026-02-03 05:30', '5 min. ago', 'now', '05:30:07'])
      await page.getByText(text, { exact: true }).waitFor();
    await time.evaluate((element) => element.setAttribute('datetime', '2026-01-02T20:05:05Z'));
    await page.getByText('2026-01-03 01:35', { exact: true }).waitFor();
    await page.goto(`${world.api.url}/account/logins`);
    const login = page.locator('time').first();
    assert.match(String(await login.getAttribute('title')), /^\d{4}-\d\d-\d\d \d\d:\d\d UTC$/);
    assert.match(String(await login.textContent()), /^\d{4}-\d\d-\d\d \d\d:\d\d$/);
  });

  it('is in UTC, and says so, without JavaScript', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, path, world.org, { timezoneId: 'Asia/Kolkata', javaScriptEnabled: false });
    await page.getByText('2026-01-02 20:04 UTC', { exact: true }).waitFor();
    await page.goto(`${world.api.url}/account/logins`);
    assert.match(String(await page.locator('time').first().textContent()), / UTC$/);
  });
});
