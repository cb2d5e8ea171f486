/**
 * A whole move in the browser: sign in, drop the files, decide on exact numbers, watch it run, fix every fault, send the
 * users again, sign in as some of them, and undo what the preview said.
 *
 * `npm run test:story` runs it with 50,000 users and both queues, `npm test` with fewer.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { startConverter } from '../../../workers/converter.ts';
import { startDispatcher } from '../../../workers/dispatcher.ts';
import { startImportWorker } from '../../../workers/import-users.ts';
import { startUndoer } from '../../../workers/rescuer.ts';
import { headed, logIn } from '../../browser/stage.ts';
import type { TestBrowser } from '../../support/browser.ts';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { abandonLocks } from '../../support/stores/locks.ts';
import { waitFor } from '../../support/wait.ts';
import { openWorld, QUEUES, type Queue, queueOn, type World } from '../world.ts';
import { badge, causesShown, dropFiles, factsOf, next, progressOf } from './page.ts';
import { CAUSES, causesOf, n, PATIENCE_MS, planFor, TAKEN, USERS } from './plan.ts';
import { watchRun } from './watch.ts';

const PLAN = planFor(USERS);
const { counts, total, failing, corrected } = PLAN;
/** The domain of the addresses that are made from user names. */
const DOMAIN = 'made.example';

for (const backend of QUEUES) {
  describe(`${n(total)} users of Auth0 in the console, with the queue on ${backend}`, () => story(backend));
}

function story(backend: Queue): void {
  let world: World;
  let importId: string;
  const workers: { stop(): Promise<unknown> }[] = [];
  before(async () => {
    world = await openWorld(queueOn(backend));
    const { deps } = world.api;
    workers.push(startConverter(deps), startImportWorker(deps), startDispatcher(deps), startUndoer(deps));
    for (const userName of TAKEN) await addUser(world, userName);
  });
  after(async () => {
    abandonLocks(world.api.deps.pool);
    await Promise.all(workers.map((worker) => worker.stop()));
    await world.stop();
  });

  async function enter(t: TestContext, path: string): Promise<Page> {
    const page = await world.enter(t, path);
    page.setDefaultTimeout(PATIENCE_MS);
    return page;
  }
  const importsOf = (path = '') => `/console/imports/${importId}${path}`;

  it('says exactly what will happen, and does it while bar and chart move', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await enter(t, '/console/imports');
    await dropFiles(page, { 'users.ndjson': PLAN.users, 'passwords.ndjson': PLAN.hashes });
    await page.locator('.upload.done').nth(1).waitFor();
    await next(page, 'source');
    await headed(page, 'This looks like Auth0');
    for (const step of ['options', 'check']) await next(page, step);
    await page.getByText('The check is done.').waitFor();
    await next(page, 'decide');
    const start = page.getByRole('button', { name: `Start import of ${n(total - failing)} of ${n(total)} users` });
    await start.waitFor();
    const [Read, Create, Fail] = [n(total), n(total - failing), n(failing)];
    assert.deepEqual(await factsOf(page), { Read, Create, Fail });
    // In this plan nobody whose hash is right is inactive, and nobody lacks an address and a name.
    assert.deepEqual(await factsOf(page, 'section[aria-labelledby="sign-ins-title"]'), {
      'As before': n(total - failing - counts.noPassword),
      'In another way': n(counts.noPassword),
      'Cannot sign in': '0',
    });
    const passwords = page.locator('section', { has: page.getByRole('heading', { name: 'Passwords in the files' }) });
    assert.deepEqual((await passwords.locator('ul.plain li').allTextContents()).slice(0, 3), [
      `${n(total - counts.variant - counts.noPassword)} with bcrypt: can be verified`,
      `${n(counts.variant)} with $2e$: cannot be verified, so they fail`,
      `${n(counts.noPassword)} without a password`,
    ]);
    await page.getByText(`${n(counts.unverified)} to confirm an address`, { exact: true }).waitFor();
    await page.getByText(`${n(counts.noPassword)} to choose a password`, { exact: true }).waitFor();
    assert.deepEqual(sorted(await causesShown(page, '.causes-table')), sorted(causesOf(PLAN)));

    importId = await watchRun(page, world.api.deps.pool, PLAN, () => start.click());
    assert.equal(await heldMails(page), n(counts.unverified + counts.noPassword));
    // The last sample may follow the end.
    const chart = async () => {
      const rates = await page.request.get(`${world.api.url}/console/api/admin/v1/imports/${importId}/rates`);
      const { points } = (await rates.json()) as { points: Record<'succeeded' | 'failed', number>[] };
      const sum = (name: 'succeeded' | 'failed') => points.reduce((all, point) => all + point[name], 0);
      return [sum('succeeded'), sum('failed')].join();
    };
    await waitFor(async () => (await chart()) === [total - failing, failing].join(), { what: 'a chart of every user' });
  });

  it('fixes users one by one and by cause, and sends them again until none is failed', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await enter(t, importsOf('/fix'));
    await headed(page, 'Why users failed');
    assert.deepEqual(sorted(await causesShown(page, 'table')), sorted(causesOf(PLAN)));
    await follow(page, CAUSES.longName.name, 'Edit one by one');
    const cells = page.getByLabel('New value of First name');
    await cells.nth(counts.longName - 1).waitFor();
    assert.equal(await cells.count(), counts.longName);
    for (const [i, cell] of (await cells.all()).entries()) {
      await cell.fill(`Ann ${i}`);
      await cell.press('Tab');
      await page.getByText('Good: will be imported when sent again').nth(i).waitFor();
    }
    for (const fault of ['bracketed', 'noAddress', 'variant', 'repeated', 'taken'] as const) {
      const { name, remedy = '' } = CAUSES[fault];
      await page.goto(world.api.url + importsOf('/fix'));
      await follow(page, name, remedy);
      if (fault === 'noAddress') {
        await page.getByLabel('Domain of the addresses').fill(DOMAIN);
        await page.getByRole('button', { name: 'Show what it would do' }).click();
      }
      const does = fault === 'repeated' ? 'left out' : 'corrected';
      await page.getByText(`${n(counts[fault])} will be ${does}.`, { exact: true }).waitFor();
      await page.getByRole('button', { name: `Apply to ${n(counts[fault])}`, exact: true }).click();
      await headed(page, 'Why users failed');
    }
    await page.getByText('No user failed for a reason that can be corrected here.').waitFor();
    await page.getByRole('link', { name: `Send ${n(corrected)} again`, exact: true }).click();
    await page.getByText(`${n(corrected)} users that were corrected are sent again.`).waitFor();
    await page.getByRole('button', { name: 'Send failed users again' }).click();
    await badge(page, 'Succeeded');
    await page.reload();
    const { succeeded, skipped, failed, open } = await progressOf(page);
    assert.deepEqual([succeeded, skipped, failed, open], [total - counts.repeated, counts.repeated, 0, 0]);
    const due = counts.unverified + counts.noPassword + counts.variant + counts.noAddress;
    assert.equal(await heldMails(page), n(due));
  });

  it('lets users sign in who were fixed, and undoes what the preview said', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const kept = (['longName', 'bracketed', 'taken'] as const).map((fault) =>
      PLAN.personAt(Number(PLAN.linesOf(fault)[0])),
    );
    for (const { email, password } of kept) {
      const own = await (world.browser as TestBrowser).openPage(t);
      await own.goto(`${world.api.url}/console`);
      await logIn(own, email, password);
      await headed(own, 'You have no role in the console yet');
    }
    const removed = total - counts.repeated - kept.length;
    const page = await enter(t, importsOf('/undo'));
    await page.getByText(`${n(removed)} users are deleted.`).waitFor();
    await page.getByText(`${kept.length} users are kept:`).waitFor();
    assert.deepEqual(await page.locator('main section.message > ul:not(.does) li').allTextContents(), [
      `${kept.length} signed in since`,
    ]);
    await page.getByLabel(`Type ${importId} to confirm`).fill(importId);
    await page.getByRole('button', { name: 'Undo' }).click();
    await badge(page, 'Undone');
    await page.reload();
    assert.equal(await page.locator('[data-text="undone"]').textContent(), n(removed));
    assert.equal((await progressOf(page)).succeeded, kept.length);
    const { rows } = await world.api.deps.pool.query('select id from users where import_id = $1', [importId]);
    assert.deepEqual(rows.map(({ id }) => id).sort(), kept.map(({ userId }) => userId).sort());
  });
}

/** Follows a link in the row of a cause. */
async function follow(page: Page, cause: string, link: string): Promise<void> {
  const row = page.getByRole('row').filter({ hasText: cause });
  const wanted = row.getByRole('link', { name: link });
  await row.waitFor();
  if (!(await wanted.isVisible())) await row.getByText('Other ways').click();
  await wanted.click();
}

async function heldMails(page: Page): Promise<string | null> {
  return page.locator('[data-text="mailsHeld"]').textContent();
}

function sorted<T extends { name: string }>(causes: T[]): T[] {
  return causes.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function addUser({ api, org }: World, userName: string): Promise<void> {
  const email = { email: `${userName}@example.com`, isEmailVerified: true };
  const body = { userName, profile: { firstName: 'Old', lastName: 'Hand' }, email, password: 'correct horse' };
  const { status, body: answer } = await api.call('POST', '/management/v1/users/human/_import', body, {
    orgId: org.orgId,
  });
  assert.equal(status, 200, JSON.stringify(answer));
}
