/** A new import from a known system whose table has a column of its own that may say who is kept out. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { requireOrSkip } from '../support/runner/programs.ts';
import { next, openWorking, step } from './new-import.ts';
import { findingsOf, type World } from './world.ts';

const USERS = Buffer.from(
  `id,email,encrypted_password,sign_in_count,confirmed_at,first_name,last_name,forum_banned
du-1,d1@unclear.example,,3,2024-01-01 10:00:00,Dora,Hill,f
du-2,d2@unclear.example,,3,2024-01-01 10:00:00,Dirk,Hill,t
`,
);

describe('a column of a known system that may be a state', () => {
  let world: World;
  before(async () => {
    world = await openWorking();
  });
  after(() => world.stop());

  it('is asked for in the step Columns, stops the reading without an answer, and keeps out with one', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/imports/new');
    await page.locator('.drop input').setInputFiles({ name: 'users.csv', mimeType: 'text/csv', buffer: USERS });
    await step(page, 'files');
    await page.locator('.upload.done').waitFor();
    await next(page, 'source');
    await next(page, 'columns');
    await page.getByText('The fields of Rails Devise are known, but not the first ones here.').waitFor();
    assert.equal(await page.locator('main select').count(), 1, 'all other columns are known');
    assert.deepEqual(await findingsOf(page, 'new-import-unclear'), []);
    await next(page, 'options');
    await next(page, 'check');
    await page.getByText('forum_banned: may say whether a user may sign in').waitFor();

    await page.getByRole('link', { name: 'Columns' }).last().click();
    await page.getByLabel('forum_banned becomes').selectOption('Disabled');
    await next(page, 'options');
    await next(page, 'check');
    await page.getByText('The check is done.').waitFor();
    await next(page, 'decide');
    const command = String(await page.locator('copy-text code').textContent());
    assert.match(command, /--from devise .*--map disabled=forum_banned/);
    await page.getByRole('button', { name: 'Start import of 2 users' }).click();
    await page.locator('main .state').filter({ hasText: 'Succeeded' }).first().waitFor();
    const states = ['du-1', 'du-2'].map(
      async (id) => (await world.api.call('GET', `/v2beta/users/${id}`)).body.user.state,
    );
    assert.deepEqual(await Promise.all(states), ['USER_STATE_INITIAL', 'USER_STATE_INACTIVE']);
  });
});
