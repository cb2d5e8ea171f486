/** What the pages of imports show, and update by themselves. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actionPage, doneText } from '../../src/console/imports/actions.ts';
import { type OneView, onePage, oneState, organizations } from '../../src/console/imports/import.ts';
import { listState } from '../../src/console/imports/list.ts';
import { signInsCard } from '../../src/console/imports/sign-ins.ts';
import { fieldName, nameOfCause, type Progress, type Result } from '../../src/console/shapes.ts';
import { importBadge } from '../../src/console/shell/blocks.ts';
import type { Causes, RatePoint } from '../../src/contract/import-types.ts';
import { type SignInCounts, WAYS } from '../../src/contract/sign-in.ts';

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

test('who asks for mails again is told what was written, and that nobody gets two of them', () => {
  const mails = { askedAt: '2026-11-25T15:32:00.000Z', users: 12, sent: 3, failed: 0 };
  const said = (state: 'WRITING' | 'WRITTEN' | 'STOPPED') => doneText('sign_in_mails', RUNNING, { ...mails, state });
  assert.match(said('WRITING'), /^The mails are being written\. .*gets no second one\.$/);
  assert.match(said('WRITTEN'), /^The mails are written: 12 mails in all\. Who got one .* gets no second one\.$/);
  assert.match(said('STOPPED'), /^Not all mails were written/);
});

test('an import that waits for a worker has no time left', () => {
  const running = { ...RUNNING, eta: new Date(Date.now() + 60_000).toISOString() };
  assert.match(String(oneState(running, []).text.left), /^\d/);
  const waiting = { ...running, missingRoles: ['import' as const, 'dispatch' as const] };
  assert.equal(oneState(waiting, []).text.left, 'No worker is running');
  assert.notEqual(oneState(waiting, []).shape, oneState(running, []).shape, 'the warning is loaded');
});

const nameOf = (userId: string) => (userId === 'bo' ? 'Bo Builder' : userId);

test('it is said what waits for a worker: the import, its undo, or the mails of an import that has ended', () => {
  const none = { items: [], next: '', filter: {} } as unknown as OneView['items'];
  const view = {
    points: [],
    causes: undefined,
    since: undefined,
    items: none,
    events: [],
    names: new Map(),
    userId: 'u',
    nameOf,
  };
  const notes = (more: object) => {
    const result = { ...RUNNING, warnings: [], ...more } as unknown as Result;
    return onePage(at, { ...view, result, notice: undefined }).markup;
  };
  assert.match(notes({ missingRoles: ['import'] }), /No worker runs for: import\. The import waits until one starts/);
  const undoing = { state: 'IMPORT_STATE_UNDOING', missingRoles: ['rescue'] };
  assert.match(notes(undoing), /No worker runs for: rescue\. The undo waits/);
  const mails = { pending: 3120, held: 0, sent: 0, failed: 0 };
  const ended = notes({ state: 'IMPORT_STATE_SUCCEEDED', mails, missingRoles: ['mail'] });
  assert.match(ended, /No worker runs for: mail\. 3,120 mails wait until one starts/);
  assert.doesNotMatch(ended, /The import waits/);
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

const at = (path: string) => `/console${path}`;
const ENDED = {
  ...RUNNING,
  state: 'IMPORT_STATE_COMPLETED_WITH_ERRORS',
  counts: { ...NONE, total: 100, succeeded: 61, failed: 39 },
  mails: { pending: 1, held: 2, sent: 3120, failed: 0 },
};

test('who is sent again is who was corrected or is valid, as the action does', () => {
  const page = (causes: Partial<Causes>) => {
    const all = { failed: 39, corrected: 0, causes: [], moreCauses: 0, asOf: '', ...causes };
    return actionPage(at, {
      ...{ name: 'retry', progress: ENDED, preview: undefined, mailPreview: undefined, typed: {}, problem: undefined },
      causes: all,
    }).markup;
  };
  const cause = (id: string, count: number) => ({ cause: 'c', id, message: '', remedies: [], count, first: [] });
  const two = page({ corrected: 2, causes: [cause('USER-NAME-TAKEN', 5), cause('IMPORT-USER-INVALID', 40)] });
  assert.match(
    two,
    /2 users that were corrected are sent again\..*5 users that failed when they were written are sent/s,
  );
  assert.match(two, /32 users that are invalid stay failed until corrected\..*<form/s);
  const none = page({ causes: [cause('IMPORT-USER-INVALID', 39)] });
  assert.match(none, /Nobody can be sent again before somebody is corrected\./);
  assert.doesNotMatch(none, /<form/);
});

test('an undo says which mails went out, and afterwards whether it has ended', () => {
  const preview = { removed: 61, kept: 0, reasons: [] };
  const { markup } = actionPage(at, {
    ...{
      name: 'undo',
      progress: ENDED,
      preview,
      mailPreview: undefined,
      causes: undefined,
      typed: {},
      problem: undefined,
    },
  });
  assert.match(markup, /3,120 mails went out already\..*3 mails that are not sent yet are not sent to users who/s);
  assert.match(doneText('undo', { ...ENDED, state: 'IMPORT_STATE_UNDOING' }, undefined), /The undo runs/);
  const undone = { ...ENDED, state: 'IMPORT_STATE_UNDONE', counts: { ...ENDED.counts, succeeded: 0, undone: 61 } };
  assert.equal(doneText('undo', undone, undefined), 'The undo has ended: 61 users were removed.');
  assert.equal(doneText('retry', RUNNING, undefined), 'The failed users are sent again.');
  assert.match(doneText('retry', ENDED, undefined), /has ended/);
  assert.match(doneText('resume', ENDED, undefined), /has ended/);
});

test('the mail to those who have not signed in says who gets it and who does not, before it is sent', () => {
  const progress = { ...ENDED, mails: { ...ENDED.mails, held: 0 } };
  const mailPreview = { users: 1204, reasons: [{ reason: 'SIGNED_IN' as const, users: 61 }] };
  const view = { name: 'sign_in_mails', preview: undefined, causes: undefined, typed: {}, problem: undefined } as const;
  const { markup } = actionPage(at, { ...view, progress, mailPreview });
  assert.match(markup, /1,204 users get a mail that says how to sign in.*61 have signed in.*name="url".*<button>/s);
  const held = actionPage(at, { ...view, progress: ENDED, mailPreview: undefined }).markup;
  assert.doesNotMatch(held, /<form/, 'held mails are sent first');
});

test('the chart has no peak of a short last interval, and shows in which time the import stood still', () => {
  const point = (at: string, seconds: number, succeeded: number): RatePoint => {
    const usersPerSecond = Math.round((succeeded / seconds) * 10) / 10;
    return { at: `2026-11-25T15:${at}Z`, seconds, succeeded, skipped: 0, failed: 0, usersPerSecond };
  };
  const lineOf = (...points: RatePoint[]) => oneState(RUNNING, points).points?.['chart.line'];
  const steady = [point('00:01.000', 1, 100), point('00:02.000', 1, 100)];
  assert.equal(lineOf(...steady), '0,0 300,0 600,0');
  // A batch of 40 in the last 20 ms, as 2,000 in a second.
  const { text, points } = oneState(RUNNING, [...steady, point('00:02.020', 0.02, 40)]);
  assert.equal(text['chart.max'], '200');
  assert.match(String(points?.['chart.line']), / 600,37\.\d$/);
  // It stood still for 8 of 10 seconds.
  const stood = [point('00:01.000', 1, 100), point('00:10.000', 1, 100)];
  assert.equal(lineOf(...stood), '0,0 60,0 60,120 540,120 540,0 600,0');
  const gaps = oneState(RUNNING, stood).points?.['chart.gaps'];
  assert.equal(gaps, '60,120 60,0 540,0 540,120');
  assert.equal(oneState(RUNNING, steady).points?.['chart.gaps'], '');
});

test('the chart has a deadline that is near, and the values of each interval', () => {
  const second = { seconds: 1, succeeded: 90, skipped: 0, failed: 10, usersPerSecond: 100 };
  const points = ['00:01', '00:02', '00:03', '00:04'].map((at) => ({ at: `2026-11-25T15:${at}.000Z`, ...second }));
  const withDeadline = (at: string) => oneState({ ...RUNNING, deadline: `2026-11-25T15:${at}.000Z` }, points);
  const near = withDeadline('00:05');
  assert.equal(near.points?.['chart.limit'], '600,0 600,120');
  assert.equal(near.points?.['chart.line'], '0,0 120,0 240,0 360,0 480,0');
  assert.match(String(near.points?.['chart.area']), /^0,120 .* 480,120$/);
  const far = withDeadline('32:00');
  assert.deepEqual([far.points?.['chart.limit'], far.points?.['chart.line']], ['', '0,0 150,0 300,0 450,0 600,0']);
  const begin = Date.parse('2026-11-25T15:00:00.000Z');
  const values = String(near.text['chart.values']).split(' ');
  assert.deepEqual(values.slice(0, 2), [`${begin},${begin + 5000}`, `${begin + 1000},1000,100,100,10`]);
  assert.equal(near.times?.['chart.end'], '2026-11-25T15:00:04.000Z');
});

test('a paused import names no deadline, which moves on, and does not load its page again for it', () => {
  const until = (deadline: string) => ({ ...RUNNING, state: 'IMPORT_STATE_PAUSED', deadline }) as typeof RUNNING;
  const [one, later] = [until('2026-11-25T16:00:00.000Z'), until('2026-11-25T16:00:04.000Z')];
  assert.equal(oneState(one, []).shape, oneState(later, []).shape);
  const none = { items: [], next: '', filter: {} } as unknown as OneView['items'];
  const result = { ...one, warnings: [] } as unknown as Result;
  const point = {
    at: '2026-11-25T15:00:01.000Z',
    seconds: 1,
    succeeded: 90,
    skipped: 0,
    failed: 10,
    usersPerSecond: 100,
  };
  const view = { points: [point], causes: undefined, since: undefined, items: none, events: [], names: new Map() };
  const page = (of: Result) => onePage(at, { ...view, result: of, userId: 'u', nameOf, notice: undefined }).markup;
  assert.doesNotMatch(page(result), /Deadline/);
  assert.equal(page({ ...result, state: 'IMPORT_STATE_RUNNING' }).match(/Deadline/g)?.length, 2);
});

test('a zero has no tile, and tiles of what is wrong lead to these users', () => {
  const since = undefined;
  const none = { items: [], next: '', filter: {} } as unknown as OneView['items'];
  const view = { points: [], causes: undefined, since, items: none, events: [], names: new Map(), userId: 'u', nameOf };
  const page = (progress: unknown) =>
    onePage(at, { ...view, result: { ...(progress as Result), warnings: [] }, notice: undefined }).markup;
  const running = page(RUNNING);
  const tiles = (markup: string) =>
    [...markup.matchAll(/<dd>(?:<a[^>]*>)?<span data-text="(\w+)"/g)].map(([, name]) => name);
  assert.deepEqual(tiles(running), ['done', 'speed', 'succeeded', 'failed', 'open']);
  assert.match(running, /class="bad"><dt>Failed<\/dt><dd><a href="\/console\/imports\/7\?state=FAILED#items">/);
  assert.deepEqual(tiles(page(ENDED)).slice(-3), ['mailsSent', 'mailsPending', 'mailsHeld']);
  const more = { ...counts, skipped: 1, pending: 2 };
  assert.notEqual(oneState(RUNNING, []).shape, oneState({ ...RUNNING, counts: more }, []).shape, 'a tile appears');
});

test('one action stands out, the one that helps next, and events name who did them', () => {
  const items = { items: [], next: '', filter: {} } as unknown as OneView['items'];
  const event = (type: string, actor: object) => ({ type, actor, creationDate: '2026-11-25T15:00:01.000Z' });
  const events = [event('import.accepted', { kind: 'user', id: 'bo' }), event('import.paused', { kind: 'system' })];
  const page = (progress: object) =>
    onePage(at, {
      ...{ points: [], causes: undefined, since: undefined, items, names: new Map(), userId: 'u', nameOf },
      events: events as unknown as OneView['events'],
      result: { ...ENDED, warnings: [], ...progress } as unknown as Result,
      notice: undefined,
    }).markup;
  const strong = (markup: string) =>
    [...markup.matchAll(/class="button" href="[^"]*\/(\w+)"/g)].map(([, name]) => name);
  assert.deepEqual(strong(page({})), ['fix']);
  const counts = { ...NONE, total: 100, succeeded: 61, pending: 39 };
  assert.deepEqual(strong(page({ counts, state: 'IMPORT_STATE_PAUSED' })), ['resume']);
  assert.deepEqual(strong(page({ counts, state: 'IMPORT_STATE_SUCCEEDED' })), ['send_mails']);
  assert.match(page({}), /<strong>Bo Builder<\/strong> started.*<strong>The service<\/strong> paused/s);
});

test('how users sign in has no column in which no row says anything', () => {
  const heads = (causesByWay: SignInCounts['causesByWay'], remedies: number) => {
    const ways = {
      ...(Object.fromEntries(WAYS.map((way) => [way, 0])) as SignInCounts['ways']),
      PASSWORD: 3,
      MAIL_CODE: 1,
    };
    const counts: SignInCounts = { ways, causes: {}, causesByWay, changes: {} };
    const remediesOf = () => Array.from({ length: remedies }, () => ({ href: '/x', text: 'Send mails' }));
    const { markup = '' } = signInsCard({ title: 'T', counts, hrefOf: () => '/list', remediesOf }) ?? {};
    return [...markup.matchAll(/<th scope="col"[^>]*>([^<]+)</g)].map(([, name]) => name);
  };
  assert.deepEqual(heads({}, 0), ['Users', 'How']);
  assert.deepEqual(heads({ MAIL_CODE: { NO_PASSWORD: 1 } }, 0), ['Users', 'How', 'Why']);
  assert.deepEqual(heads({}, 1), ['Users', 'How', 'What you can do']);
});
