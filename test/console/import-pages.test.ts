/** What the pages of imports show, and update by themselves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listState } from '../../src/console/imports/list.ts';
import { oneState } from '../../src/console/imports/one.ts';
import type { Progress, Result } from '../../src/console/imports/shapes.ts';
import { organizations } from '../../src/console/imports/side.ts';

const NONE = { pending: 0, succeeded: 0, skipped: 0, failed: 0, timedOut: 0, cancelled: 0, undone: 0 };
const counts = { ...NONE, total: 4, pending: 3, failed: 1 };
const RUNNING = {
  importId: '7',
  state: 'IMPORT_STATE_RUNNING',
  deadline: '2026-11-25T15:32:00.000Z',
  counts,
  mails: { pending: 0, held: 0, sent: 0, failed: 0 },
  usersPerSecond: 1,
  eta: null,
  orgs: [{ orgId: 'acme', counts }],
} as unknown as Progress;

test('the progress of each organization is updated with that of the import', () => {
  const { markup } = organizations(RUNNING as Result, new Map());
  const { text, bars } = oneState(RUNNING, []);
  assert(markup.includes('data-text="org.acme">25 % of 4<') && markup.includes('data-bar="org.acme"'), markup);
  assert.equal(text['org.acme'], '25 % of 4');
  assert.deepEqual(bars?.['org.acme'], bars?.all);
});

test('the list shows no failed users of a draft, as nobody has been imported', () => {
  assert.equal(listState([RUNNING]).text['7.failed'], '1');
  const draft = { ...RUNNING, draft: { files: [] } };
  assert.equal(listState([draft]).text['7.failed'], '');
});
