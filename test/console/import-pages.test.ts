/** What the pages of imports show, and update by themselves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oneState, organizations } from '../../src/console/imports/import.ts';
import { listState } from '../../src/console/imports/list.ts';
import { fieldName, nameOfCause, type Progress, type Result } from '../../src/console/shapes.ts';
import { importBadge } from '../../src/console/shell/blocks.ts';

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
  const draft = { ...RUNNING, draft: { createdBy: 'a', expiresAt: '', orgId: '', source: '', files: [] } };
  assert.equal(listState([draft]).text['7.failed'], '');
});

test('an import that waits for a worker has no time left', () => {
  const running = { ...RUNNING, eta: new Date(Date.now() + 60_000).toISOString() };
  assert.match(String(oneState(running, []).text.left), /^\d/);
  const waiting = { ...running, missingRoles: ['import' as const, 'dispatch' as const] };
  assert.equal(oneState(waiting, []).text.left, 'No worker is running');
  assert.notEqual(oneState(waiting, []).shape, oneState(running, []).shape, 'the warning is loaded');
});

test('a dry run is a check that found a number of problems, in a calm colour', () => {
  const check = { ...RUNNING, dryRun: true, state: 'IMPORT_STATE_COMPLETED_WITH_ERRORS' };
  assert.equal(importBadge(check).markup, '<span class="state still">Checked: 1 user would fail</span>');
  assert.match(importBadge({ ...check, dryRun: false }).markup, /"state bad">Completed with errors/);
  assert.match(importBadge({ ...check, state: 'IMPORT_STATE_SUCCEEDED' }).markup, /"state good">Checked: nobody/);
  assert.match(importBadge({ ...check, state: 'IMPORT_STATE_CANCELLED' }).markup, />Cancelled</);
});

test('fields have the names that people know', () => {
  assert.equal(nameOfCause({ field: 'user.email.email', message: 'is required' }), 'Address is required');
  assert.equal(nameOfCause({ field: 'user.metadata[].key', message: 'is required' }), 'Key of metadata is required');
  assert.equal(fieldName('user.metadata[7].value'), 'Value of metadata');
  assert.equal(fieldName('user.rare.field'), 'rare.field');
});
