/** The frame of the steps of a new import: how far each step is, and the foot that stays in view. */
import assert from 'node:assert/strict';
import { after, before, describe, it, test } from 'node:test';
import { marksOf } from '../../src/console/new-import/frame.ts';
import { planOf } from '../../src/console/new-import/plan.ts';
import type { Draft } from '../../src/console/shapes.ts';
import { newDraft, uploadFile } from '../support/imports/drafts.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { findingsOf, makeIamOwner, openWorld, type World } from './world.ts';

const FILE = { fileId: 'f', name: 'a.csv', kind: 'users', size: 4, offset: 4 };
const DONE = { files: 'done', source: 'done', columns: 'done', options: 'done' };

function marks(state: string, draft: Record<string, unknown> = {}): unknown {
  const of = { state: `IMPORT_STATE_${state}`, draft: { files: [FILE], orgId: '', source: '', ...draft } };
  return marksOf(of as unknown as Draft, planOf({}, of.draft as unknown as Draft['draft']));
}

test('a step is done, wrong or locked, as the draft is', () => {
  assert.deepEqual(marks('UPLOADING', { files: [{ ...FILE, offset: 1 }] }), { decide: 'locked' });
  assert.deepEqual(marks('UPLOADING'), { files: 'done', decide: 'locked' });
  assert.deepEqual(marks('DRAFT', { conversion: {} }), { ...DONE, decide: 'locked' });
  assert.deepEqual(marks('UNREADABLE', { conversion: {} }), { files: 'done', check: 'wrong', decide: 'locked' });
  const error = { message: 'no organization', details: [{ id: 'DRAFT-ORG' }] };
  assert.deepEqual(marks('DRAFT', { conversion: {}, error }), {
    ...{ ...DONE, options: 'wrong', check: 'wrong', decide: 'locked' },
  });
  const settings = { timeout: '1h', onExisting: 'fail', mails: 'none', enterpriseMailCodes: true };
  assert.deepEqual(marks('CHECKED', { conversion: {}, settings }), { ...DONE, check: 'done' });
});

describe('a step of a new import', () => {
  let world: World;
  before(async () => {
    world = await openWorld();
    await makeIamOwner(world.api, world.org);
  });
  after(() => world.stop());

  it('has its buttons in view, and says how far the steps are', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const importId = await newDraft(world.api);
    await uploadFile(world.api, importId, 'id,email\n1,ann@frame.example\n');
    const path = `/console/imports/new/${importId}/options?source=csv`;
    const page = await world.enter(t, path, world.org, { javaScriptEnabled: false });
    const next = page.getByRole('button', { name: 'Next: check' });
    for (const viewport of [
      { width: 390, height: 600 },
      { width: 1440, height: 600 },
    ]) {
      await page.setViewportSize(viewport);
      const box = await next.boundingBox();
      assert(box && box.y > 400 && box.y + box.height <= 600, JSON.stringify(box));
    }
    const steps = page.getByRole('navigation', { name: 'Steps' });
    assert.deepEqual(
      (await steps.getByRole('listitem').allTextContents()).map((text) => text.trim()),
      [...['Files done', 'Source done', 'Columns', 'Options', 'Check', 'Decide not open yet']],
    );
    assert.equal(await steps.getByRole('link', { name: 'Decide' }).count(), 0);
    await page.locator('.foot').getByText('Uploaded').waitFor();
    await page.getByText('Step 4 of 6').waitFor();
    await page.getByLabel('Time limit').fill('soon');
    await next.click();
    await steps.getByRole('link', { name: 'Options needs a correction' }).waitFor();
    const looks = await world.enter(t, path);
    await looks.getByText('Step 4 of 6').waitFor();
    assert.deepEqual(await findingsOf(looks, 'new-import-options'), []);
  });
});
