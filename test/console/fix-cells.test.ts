/** Users of a cause, one by one: who they are, which row they clash with, and cells that refuse what the import refuses. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newDraft, uploadFile } from '../support/imports/drafts.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { waitFor } from '../support/wait.ts';
import { openWorking } from './new-import.ts';
import { findingsOf, type World } from './world.ts';

const PEOPLE = `userId,userName,email,firstName,lastName,phone
c-1,ann,ann@acme.example,Ann,Arbor,
c-2,ann,ann.two@acme.example,Anna,Zwei,
c-3,ANN@acme.example,three@acme.example,Tom,Three,
c-4,ann@acme.example,ann@acme.example,Ann,Again,
c-5,five,,Fay,Five,+41791234567
c-6,six,,${'Sam'.repeat(70)},Six,
`;

describe('the failed users of a draft', () => {
  let world: World;
  let draft: string;

  before(async () => {
    world = await openWorking();
    const { api, org } = world;
    draft = await newDraft(api, { orgId: org.orgId });
    await uploadFile(api, draft, PEOPLE);
    for (const [action, body, state] of [
      ['_convert', { source: 'csv' }, 'IMPORT_STATE_DRAFT'],
      ['_check', {}, 'IMPORT_STATE_CHECKED'],
    ] as const) {
      assert.equal((await api.call('POST', `/admin/v1/imports/${draft}/${action}`, body)).status, 200);
      const path = `/admin/v1/imports/${draft}`;
      await waitFor(async () => (await api.call('GET', path)).body.state === state || undefined, { what: state });
    }
  });
  after(() => world.stop());

  it('are offered what helps, with how many it fixes, and name the row that is in the way', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, `/console/imports/${draft}/fix`);
    const row = page.locator('tr').filter({ hasText: 'User name' }).first();
    await row.waitFor();
    assert.match(String(await row.textContent()), /no\. 2 \(same as no\. 1\), 4 \(same as no\. 3\)/);
    await row.getByText('Use the email address as user name (1 of 2)').waitFor({ state: 'attached' });
    assert.deepEqual(await findingsOf(page, 'fix-helps'), []);
  });

  it('are known by their names, and a name that another row has is refused when its cell is left', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { body } = await world.api.call('GET', `/admin/v1/imports/${draft}/causes`);
    const causeOf = (isIt: (cause: { id: string; message: string }) => boolean) => body.causes.find(isIt).cause;
    const missing = causeOf(({ id, message }) => id === 'IMPORT-USER-INVALID' && message === 'is required');
    const page = await world.enter(t, `/console/imports/${draft}/fix/${missing}`);
    await page.getByText('Fay Five').waitFor();
    await page.getByText('five · +41791234567 · c-5').waitFor();
    await page.getByText('in a table with a heading, no. 1 is in row 2').waitFor();
    const other = page.locator('#v5');
    await other.fill('six@acme.example');
    await other.press('Tab');
    await page.locator('#v5-said', { hasText: 'Saved, but this user fails for another reason, too.' }).waitFor();
    assert.equal(await other.getAttribute('aria-invalid'), 'true');

    await page.goto(`${world.api.url}/console/imports/${draft}/fix/${causeOf(({ id }) => id === 'USER-NAME-TAKEN')}`);
    await page.getByText('Has the id or user name of no. 1.').waitFor();
    const cell = page.locator('#v1');
    await cell.fill('Ann');
    await cell.press('Tab');
    await page.locator('#v1-said', { hasText: 'is also the user name of no. 1 of this import' }).waitFor();
    assert.deepEqual(await findingsOf(page, 'fix-clash'), []);
    await cell.fill('anna');
    await cell.press('Tab');
    await page.locator('#v1-said', { hasText: 'Good' }).waitFor();
    const corrected = page.locator('.headline .state');
    await corrected.getByText('1 corrected').waitFor();
    await page.getByRole('link', { name: 'Back to the decision' }).waitFor();
    await page.locator('.headline').getByText('1 user', { exact: true }).waitFor();
    // The last user of a cause: the cause is gone, and the page stays.
    await page.locator('#v3').fill('anne');
    await page.locator('#v3').press('Tab');
    await corrected.getByText('2 corrected').waitFor();
    assert.deepEqual(await findingsOf(page, 'fix-corrected'), []);
  });
});
