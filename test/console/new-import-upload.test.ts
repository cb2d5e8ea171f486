/** What interrupts the upload of files to a new import. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Request } from 'playwright-core';
import { pieces } from '../../src/imports/drafts/create.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { waitFor } from '../support/wait.ts';
import { next, openWorking, step } from './new-import.ts';
import { dropFiles } from './story/page.ts';
import { findingsOf, type World } from './world.ts';

/** Requests with bytes of files that one person may have under way. */
const MOST_PIECES = 8;

describe('the upload of a new import', () => {
  let world: World;
  before(async () => {
    world = await openWorking();
  });
  after(() => world.stop());

  it('continues an upload after a reload and after the service was killed, and recognizes the file meanwhile', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const folder = await mkdtemp(join(tmpdir(), 'muster-'));
    t.after(() => rm(folder, { recursive: true }));
    const path = join(folder, 'people.csv');
    const line = `id-000,ann@example.com,${'x'.repeat(2 ** 16)}\n`;
    await writeFile(path, `id,email,note\n${line.repeat(300)}`);
    const { size } = await stat(path);
    const page = await world.enter(t, '/console/imports/new');
    const sent: number[] = [];
    let gate = gated();
    page.on('request', (request) => {
      const offset = request.headers()['upload-offset'];
      if (request.method() === 'PATCH') sent.push(Number(offset));
    });
    await page.route('**/files/*', async (route) => {
      if (Number(route.request().headers()['upload-offset']) >= SLICE) await gate.passed(route.request().url());
      await route.continue().catch(() => {}); // the page may have gone
    });
    await page.locator('.drop input').setInputFiles(path);
    await step(page, 'files');
    await gate.reached;
    await next(page, 'source');
    await page.getByRole('heading', { name: 'This looks like CSV of your own' }).waitFor();
    await page.locator('.upload.uploading').waitFor();
    const found = await findingsOf(page, 'new-import-uploading');
    await page.reload();
    await page.getByText('The upload stopped at 40 %').waitFor();
    found.push(...(await findingsOf(page, 'new-import-broken')));
    await page
      .locator('.upload input')
      .setInputFiles({ name: 'other.csv', mimeType: 'text/csv', buffer: Buffer.from('a') });
    await page.getByRole('alert').getByText('This is another file').waitFor();
    gate.open();

    // The service has begun to store the second slice when it dies.
    gate = gated();
    await page.locator('.upload input').setInputFiles(path);
    const fileId = String((await gate.reached).split('/').at(-1));
    const { pool } = world.api.deps;
    const lock = await pool.connect();
    await lock.query('begin');
    await lock.query('select from import_files where file_id = $1 for update', [fileId]);
    gate.open();
    await waitFor(async () => (await pool.query(WAITING)).rowCount, { what: 'a piece that waits' });
    const listenAgain = await world.api.kill();
    await lock.query('commit');
    lock.release();
    await page.locator('.upload.waiting').waitFor();
    await listenAgain();
    await page.locator('.upload.done').waitFor();
    const bytes = sent.reduce((sum, from) => sum + Math.min(SLICE, size - from), 0);
    // The reload and the death each interrupt one slice.
    assert(bytes <= size + 2 * SLICE, `${sent} of ${size}`);
    const { rows } = await pool.query('select received from import_files where file_id = $1', [fileId]);
    assert.equal(Number(rows[0].received), size);
    assert.deepEqual(found, []);
  });

  it('waits while the service or a proxy before it is busy, and continues by itself', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/imports/new');
    const isBusy = page.getByText('The service is busy. The upload continues at 0 % by itself.');
    const buffer = Buffer.from('id,email\n1,one@example.com\n');
    const { userId, orgId } = world.org;
    const caller = { userId, orgId };
    let taken: (() => void)[] = [];
    // A request that has just been answered may still have its place.
    const take = () =>
      waitFor(
        () => {
          while (taken.length < MOST_PIECES) taken.push(pieces.take(caller));
          return true;
        },
        { what: 'all places' },
      );
    const giveBack = () => {
      for (const release of taken) release();
      taken = [];
    };
    // The file is created as soon as there is a place, and its first bytes meet a busy service again.
    const created = page.waitForResponse((answer) => answer.request().method() === 'POST' && answer.status() === 429);
    await page.route('**/files/*', async (route) => {
      if (route.request().method() === 'PATCH' && taken.length === 0) await take();
      await route.continue();
    });
    await take();
    await page.locator('.drop input').setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer });
    await created;
    giveBack();
    await isBusy.waitFor();
    assert.deepEqual(await findingsOf(page, 'new-import-busy'), []);
    await page.unroute('**/files/*');
    let refused = 0;
    await page.route('**/files/*', (route) =>
      refused++ < 2
        ? route.fulfill({ status: 503, headers: { 'retry-after': '1' }, body: 'no server is ready' })
        : route.continue(),
    );
    await waitFor(() => refused > 0, { what: 'an answer of the proxy' });
    await isBusy.waitFor();
    giveBack();
    await page.locator('.upload.done').waitFor();
    assert(refused > 2);
  });

  it('says at the foot that the files have arrived, as soon as the file does', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/imports/new');
    const gate = gated();
    await page.route('**/files/*', async (route) => {
      await gate.passed(route.request().url());
      await route.continue();
    });
    // What the service says by itself comes later.
    await page.route('**/live', () => {});
    const buffer = Buffer.from('id,email\n1,one@example.com\n');
    await page.locator('.drop input').setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer });
    await step(page, 'files');
    await page.locator('.foot').getByText('Uploading').waitFor();
    gate.open();
    await page.locator('.foot').getByText('Uploaded').waitFor();
    assert.equal(await page.locator('.foot').getByText('Uploading').count(), 0);
  });

  it('takes what is dropped while other files are added, and keeps those that were taken when one is refused', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/imports/new');
    const csv = 'id,email\n1,one@example.com\n';
    const message = 'No more files.';
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let added = 0;
    // The page that follows the first file arrives after the one that follows the others.
    const isRefused = Promise.withResolvers<void>();
    const isOver = Promise.withResolvers<void>();
    let late: Request | undefined;
    page.on('requestfinished', (request) => request === late && isOver.resolve());
    await page.route('**/files', async (route) => {
      if (route.request().method() !== 'POST') {
        if (late) return route.continue();
        late = route.request();
        await isRefused.promise;
        return route.continue();
      }
      const nth = ++added;
      if (nth === 1) await held;
      if (nth === 3) return route.fulfill({ status: 400, json: { message } });
      await route.continue();
    });
    await dropFiles(page, { 'first.csv': csv });
    await waitFor(() => added === 1, { what: 'the first file' });
    await dropFiles(page, { 'second.csv': csv, 'third.csv': csv });
    release();
    await step(page, 'files');
    await page.getByText(message).waitFor();
    isRefused.resolve();
    await isOver.promise;
    await page.evaluate('new Promise((resolve) => setTimeout(resolve))');
    assert(await page.getByText(message).isVisible(), 'the message stays');
    await page.locator('.upload.done').nth(1).waitFor();
    const names = await page.locator('.upload strong').allTextContents();
    assert.deepEqual(names.sort(), ['first.csv', 'second.csv']);
    await page.locator('main a.button').filter({ hasText: 'Next:' }).waitFor();
    assert.deepEqual(await findingsOf(page, 'new-import-one-refused'), []);
  });
});

const SLICE = 8 * 2 ** 20;
const WAITING = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%import_chunks%' and datname = current_database()`;

/** Holds what reaches it until it is opened. */
function gated() {
  const { promise: reached, resolve: arrive } = Promise.withResolvers<string>();
  const { promise: opened, resolve: open } = Promise.withResolvers<void>();
  return {
    reached,
    open,
    passed(url: string): Promise<void> {
      arrive(url);
      return opened;
    },
  };
}
