/** A new import of which nobody would be imported. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { requireOrSkip } from '../support/runner/programs.ts';
import { next, openWorking, step } from './new-import.ts';
import { dropFiles } from './story/page.ts';
import { findingsOf, type World } from './world.ts';

describe('a new import whose users all fail', () => {
  let world: World;
  before(async () => {
    world = await openWorking();
  });
  after(() => world.stop());

  it('offers to correct them first, and then counts those who were corrected', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/imports');
    await dropFiles(page, { 'users.ndjson': `{"user_id":"auth0|1","email":"none","email_verified":true}\n` });
    await step(page, 'files');
    await page.locator('.upload.done').waitFor();
    await next(page, 'source');
    for (const name of ['options', 'check', 'decide']) await next(page, name);
    await page.getByText('Nobody would be imported').waitFor();
    assert.deepEqual(await findingsOf(page, 'new-import-nobody'), []);
    await page.getByRole('link', { name: 'Correct the users' }).click();
    await page.getByText('Other ways').click();
    await page.getByRole('link', { name: 'Edit one by one' }).click();
    await page.getByLabel('New value of Address').fill('one@example.com');
    await page.getByLabel('New value of Address').press('Tab');
    await page.getByText('Good: will be imported').waitFor();
    await page.getByRole('link', { name: 'Why users failed' }).click();
    await page.getByRole('link', { name: 'Back to the decision' }).click();
    await page.getByRole('button', { name: 'Start import of 1 user' }).waitFor();
  });
});
