/** The screens of imports, from an empty list through a live import, its failures and its actions to the undo. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { startDispatcher } from '../../workers/dispatcher.ts';
import { startImportWorker } from '../../workers/import-users.ts';
import { startUndoer } from '../../workers/rescuer.ts';
import { headed } from '../browser/stage.ts';
import { bulk, people, unverified } from '../support/imports/bodies.ts';
import { entry, HASH } from '../support/imports/imports.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { waitFor } from '../support/wait.ts';
import { findingsOf, openWorld, QUEUES, type Queue, queueOn, type World } from './world.ts';

const HOSTILE = '<img src=x onerror=alert(1)>';

for (const backend of QUEUES) describe(`the screens of imports, with the queue on ${backend}`, () => screens(backend));

function screens(backend: Queue): void {
  let world: World;
  let importId: string;
  const workers: { stop(): Promise<unknown> }[] = [];
  let token: string;
  before(async () => {
    world = await openWorld(queueOn(backend));
    token = (await world.api.machine(world.org.orgId, ['ORG_OWNER'])).token;
  });
  after(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await world.stop();
  });

  async function start(users: unknown[], query = ''): Promise<string> {
    const { status, body } = await world.api.call('POST', `/admin/v1/import${query}`, bulk(world.org.orgId, users), {
      token,
    });
    assert.equal(status, 202, JSON.stringify(body));
    return body.importId;
  }

  const open = (page: Page, path: string) => page.goto(world.api.url + path);
  const state = (page: Page, name: string) => page.locator('#badge .state, #list .state', { hasText: name }).waitFor();

  it('begin empty, show a running import, and follow it to its end without a reload', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const list = await world.enter(t, '/console/imports');
    await headed(list, 'Nothing imported yet');
    await list.getByText('Live', { exact: true }).waitFor();
    const found = await findingsOf(list, 'imports-empty');
    await list.route('**/imports/live', (route) => route.fulfill({ status: 429 }));
    await list.reload();
    await list.getByText(/^Connection lost since \d+:\d\d:\d\d.*Reconnecting…$/).waitFor();
    found.push(...(await findingsOf(list, 'imports-stale')));
    await list.unroute('**/imports/live');
    await list.getByText('Live', { exact: true }).waitFor();
    const users = [
      ...people('c', 20),
      ...unverified('m', 3),
      entry('x', { userName: HOSTILE }),
      entry('y', { hashedPassword: { value: '$2e$04$nothing' } }),
      entry('z', { email: { email: 'not an address' } }),
    ];
    importId = await start(users, '?mails=none&source=My-Shop_2.0');
    await list.getByRole('row').filter({ hasText: importId }).getByRole('link', { name: 'Users of ' }).waitFor();
    assert.equal(await list.locator('.chips a').filter({ hasText: / 0$/ }).count(), 0, 'no state without imports');
    await state(list, 'Running');
    found.push(...(await findingsOf(list, 'imports-running')));

    const one = await list.context().newPage();
    await open(one, `/console/imports/${importId}`);
    await state(one, 'Running');
    await one.getByRole('link', { name: 'Pause' }).waitFor();
    found.push(...(await findingsOf(one, 'import-running')));
    const pages = [list, one];
    for (const page of pages) await page.evaluate('window.isSame = true');
    for (const [action, shown, next] of [
      ['pause', 'Paused', 'Resume'],
      ['resume', 'Running', 'Pause'],
    ] as const) {
      const { status } = await world.api.call('POST', `/admin/v1/imports/${importId}/_${action}`, {}, { token });
      assert.equal(status, 200, action);
      for (const page of pages) await state(page, shown);
      await one.getByRole('link', { name: next, exact: true }).waitFor();
      await list.getByRole('link', { name: `${shown} 1`, exact: true }).waitFor();
    }
    for (const page of pages) assert.equal(await page.evaluate('window.isSame'), true, 'the page was not loaded again');
    workers.push(startImportWorker(world.api.deps), startDispatcher(world.api.deps), startUndoer(world.api.deps));
    for (const page of [list, one]) await state(page, 'Completed with errors');
    await one.getByRole('link', { name: 'Undo' }).waitFor();
    assert.equal(await one.locator('[data-text="succeeded"]').textContent(), '24');
    assert.equal(await one.locator('[data-text="mailsHeld"]').textContent(), '3');
    assert.equal(await list.locator(`[data-text="${importId}.failed"]`).textContent(), '2');
    found.push(...(await findingsOf(list, 'imports-done')));
    const tiles = async () => (await one.locator('#progress .facts').first().locator('dt').allTextContents()).join();
    assert.equal(await tiles(), 'Done,Speed,Succeeded,Failed', 'no zeros, no time left');
    await one.getByRole('heading', { name: 'Why users failed' }).waitFor();
    assert.equal(await one.locator('#causes tbody tr').count(), 2);
    const drawing = one.locator('#chart svg');
    const said = one.getByText(/^\d\d:\d\d:\d\d · (?:\d\.\d|[\d,]+) users per second · \d+ users, \d failed$/);
    // What is above the chart may still change, and move it away.
    const hovered = async () => {
      await drawing.hover();
      return said.isVisible();
    };
    await waitFor(hovered, { what: 'the values below the pointer' });
    // As a live update does: the curve is shorter, as the drawing is of a longer time. The pointer rests.
    const [mark, moved] = await drawing.evaluate(async (svg) => {
      const markOf = () => svg.querySelector('.pointer')?.getAttribute('d');
      const values = svg.parentElement?.querySelector('[data-text="chart.values"]');
      if (!values) return [];
      const [text, before] = [values.textContent ?? '', markOf()];
      const [axis = '', ...rows] = text.split(' ');
      const [begin = 0, end = 0] = axis.split(',').map(Number);
      values.textContent = [`${begin},${begin + 1.8 * (end - begin)}`, ...rows].join(' ');
      await Promise.resolve();
      const after = markOf();
      values.textContent = text;
      return [before, after];
    });
    assert.match(String(mark), /^M[\d.]+ 0V120$/);
    assert.notEqual(moved, mark, 'the mark moves with the curve');
    // As another shape of the page does: a new drawing is put below the pointer.
    const old = await drawing.elementHandle();
    await one.evaluate("document.dispatchEvent(new Event('page-changed'))");
    await waitFor(() => old?.evaluate((svg) => !svg.isConnected), { what: 'a new drawing' });
    assert.equal(await one.locator('#chart .pointer').getAttribute('d'), mark);
    found.push(...(await findingsOf(one, 'import-done')));
    await one.locator('#progress .bad a').click();
    await one.waitForURL(({ search }) => search === '?state=FAILED');
    assert.equal(await one.locator('#items tbody tr').count(), 2);
    assert.deepEqual(found, []);
  });

  it('keep no connection open while nobody sees them, as a browser has six for all tabs', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const first = await world.enter(t, '/console/imports');
    const hide = (page: Page, isHidden: boolean) =>
      page.evaluate(
        `Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} }); document.dispatchEvent(new Event('visibilitychange'))`,
      );
    const live = (page: Page) => page.getByText('Live', { exact: true }).waitFor();
    await live(first);
    await hide(first, true);
    for (let tab = 0; tab < 6; tab++) {
      const page = await first.context().newPage();
      await open(page, '/console/imports');
      await live(page);
      await hide(page, true);
    }
    const request = first.waitForRequest('**/imports/live');
    await hide(first, false);
    await request;
    await live(first);
  });

  it('show failures and names as text, filtered and page by page', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, `/console/imports/${importId}?state=FAILED`);
    await page.locator('#items').getByText('Address must be an email address').waitFor();
    assert.equal(await page.locator('#items tbody tr').count(), 2);
    assert.doesNotMatch(await page.content(), new RegExp(HASH.slice(-20).replaceAll('$', '\\$')));
    assert.deepEqual(await findingsOf(page, 'import-failed'), []);
    await open(page, `/console/imports/${importId}?query=id-x`);
    await page.getByText(HOSTILE).waitFor();
    assert.equal(await page.locator('main img').count(), 0);

    await open(page, '/console/imports?state=SUCCEEDED');
    await headed(page, 'No import matches the filter');
    await open(page, `/console/imports?state=COMPLETED_WITH_ERRORS&orgId=${world.org.orgId}`);
    assert.equal(await page.locator('tbody tr').count(), 1);
    assert.match(String(await page.locator('tbody tr').textContent()), /My-Shop_2\.0/);
    const chips = await page.locator('.chips a').allTextContents();
    assert.deepEqual(
      chips.filter((chip) => !chip.endsWith(' 0')),
      ['All 1', 'Completed with errors 1'],
    );
    assert.equal((await open(page, '/console/imports?state=nonsense'))?.status(), 400);
    assert.equal((await open(page, '/console/imports/999999'))?.status(), 403);
  });

  it('fix users of a cause in cells that say whether they are good, and all of them with a remedy', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, `/console/imports/${importId}/fix`);
    await headed(page, 'Why users failed');
    const found = await findingsOf(page, 'fix-causes');
    await page.getByRole('row').filter({ hasText: 'Address' }).getByText('Other ways').click();
    found.push(...(await findingsOf(page, 'fix-menu')));
    await page.getByRole('link', { name: 'Edit one by one' }).click();
    const cell = page.getByLabel('New value of Address');
    assert.equal(await cell.inputValue(), 'not an address');
    await cell.fill('still wrong');
    await cell.press('Tab');
    await page.locator('.said', { hasText: 'must be an email address such as' }).waitFor();
    found.push(...(await findingsOf(page, 'fix-cells')));
    await cell.fill('zoe@example.com');
    await cell.press('Tab');
    await page.getByText('Good: will be imported when sent again').waitFor();

    await open(page, `/console/imports/${importId}/fix`);
    await page.getByRole('link', { name: 'No password: mail a link' }).click();
    await page.getByText('1 will be corrected.').waitFor();
    found.push(...(await findingsOf(page, 'fix-remedy')));
    assert.deepEqual(await page.locator('tbody tr > *').allTextContents(), ['yno. 25 · id-y', 'a hash of $2e$', '–']);
    assert(!(await page.content()).includes('nothing'), 'no hash is shown');
    await page.getByRole('button', { name: 'Apply to 1' }).click();
    await page.getByRole('link', { name: 'Send 2 again' }).click();
    await page.getByText('2 users that were corrected are sent again.').waitFor();
    assert.deepEqual(found, []);
  });

  it('pause, resume and cancel without JavaScript, and say before what it means', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console', undefined, { javaScriptEnabled: false });
    await open(page, `/console/imports/${importId}/retry`);
    await page.getByText('2 users that were corrected are sent again.').waitFor();
    await page.getByLabel('Time limit from now').fill('soon');
    await page.getByRole('button', { name: 'Send failed users again' }).click();
    await page.getByRole('alert').getByText('timeout').waitFor();
    assert.equal(await page.getByLabel('Time limit from now').inputValue(), 'soon');
    await open(page, `/console/imports/${importId}/send_mails`);
    await page.getByText('3 mails are sent').waitFor();
    await page.getByRole('button', { name: 'Send mails' }).click();
    await page.getByText('The mails are on their way.').waitFor();
    assert.equal(new URL(page.url()).search, '');
    await page.reload();
    await headed(page, `Import ${importId}`);
    assert.equal(await page.getByText('The mails are on their way.').count(), 0, 'it is said once');
    await page.getByText('You sent the held mails').waitFor();
  });

  it('undo what the preview says, after the number, which survives the end of the session', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, `/console/imports/${importId}/undo`);
    await page.getByText('24 users are deleted.').waitFor();
    const field = page.getByLabel(`Type ${importId} to confirm`);
    await field.fill('no');
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('alert').waitFor();
    assert.deepEqual(await findingsOf(page, 'import-undo'), []);
    await field.fill(importId);
    await world.api.deps.pool.query('delete from console_sessions');
    await page.getByRole('button', { name: 'Undo' }).click();
    await headed(page, 'Your session has ended');
    assert.deepEqual(await findingsOf(page, 'session-ended'), []);
    await page.getByRole('link', { name: 'Sign in again' }).click();
    await headed(page, 'Undo this import?');
    assert.equal(await field.inputValue(), importId);
    await page.getByRole('button', { name: 'Undo' }).click();
    await state(page, 'Undone');
    await page.locator('[data-text="undone"]', { hasText: '24' }).waitFor();
  });

  it('show an owner nothing of another organization, on any route', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/imports', world.other);
    await headed(page, 'Nothing imported yet');
    const { orgId } = world.org;
    for (const path of ['', '/live', '/pause', '/undo', '/retry', '?state=FAILED']) {
      const answer = await page.request.get(`${world.api.url}/console/imports/${importId}${path}`);
      const text = await answer.text();
      assert.equal(answer.status(), 403, path);
      assert(!text.includes(orgId) && !text.includes('c1@example.com'), path);
    }
    for (const path of ['', '/items', '/report', '/rates', '/undo_preview']) {
      const answer = await page.request.get(`${world.api.url}/console/api/admin/v1/imports/${importId}${path}`);
      assert.equal(answer.status(), 403, path);
    }
    const post = await page.request.post(`${world.api.url}/console/imports/${importId}/cancel`, {
      headers: { origin: world.api.url, accept: 'text/html' },
    });
    assert.equal(post.status(), 403);
    await open(page, `/console/imports?orgId=${orgId}`);
    await headed(page, 'No import matches the filter');
  });
}
