/** A new import in the console, from files that are dropped to the start, and what interrupts an upload. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { startConverter } from '../../workers/converter.ts';
import { startDispatcher } from '../../workers/dispatcher.ts';
import { startImportWorker } from '../../workers/import-users.ts';
import { HASH } from '../support/imports/imports.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { findingsOf, openWorld, type World } from './world.ts';

const HOSTILE = '<img src=x onerror=alert(1)>';

/** Users and hashes as Auth0 exports them: `count` good ones, and some with planted faults. */
function auth0(count: number): { users: string; hashes: string } {
  const users: unknown[] = [];
  const hashes: unknown[] = [];
  const add = (n: number, user: Record<string, unknown> = {}, passwordHash: string | undefined = HASH) => {
    const oid = n.toString(16).padStart(24, '0');
    const email = `u${n}@example.com`;
    users.push({
      ...{ user_id: `auth0|${oid}`, email, email_verified: true, given_name: `Given ${n}`, family_name: 'Family' },
      identities: [{ user_id: oid, provider: 'auth0', connection: 'Db', isSocial: false }],
      ...user,
    });
    if (passwordHash) hashes.push({ _id: { $oid: oid }, email, passwordHash, connection: 'Db', _tmp_is_unique: true });
  };
  for (let n = 0; n < count; n++) add(n);
  for (let n = 0; n < 5; n++) add(1000 + n, { email: 'not an address' });
  for (let n = 0; n < 4; n++) add(2000 + n, {}, `$2x$04$${HASH.slice(7)}`);
  for (let n = 0; n < 3; n++) add(3000 + n, {}, '');
  for (let n = 0; n < 2; n++) add(4000 + n, { email_verified: false });
  add(0);
  add(5000, { given_name: HOSTILE, name: HOSTILE, nickname: HOSTILE });
  const lines = (all: unknown[]) => all.map((one) => `${JSON.stringify(one)}\n`).join('');
  return { users: lines(users), hashes: lines(hashes) };
}

/** Drops files as a person does. */
async function drop(page: Page, files: Record<string, string>): Promise<void> {
  const transfer = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer();
    for (const [name, text] of Object.entries(${JSON.stringify(files)})) transfer.items.add(new File([text], name));
    return transfer;
  })()`);
  await page.locator('upload-files .drop').dispatchEvent('drop', { dataTransfer: transfer });
}

describe('a new import', () => {
  let world: World;
  const workers: { stop(): Promise<unknown> }[] = [];
  before(async () => {
    world = await openWorld();
    const { deps } = world.api;
    workers.push(startConverter(deps), startImportWorker(deps), startDispatcher(deps));
  });
  after(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await world.stop();
  });

  const next = (page: Page, step: string) =>
    page
      .locator(`main a.button, main button`)
      .filter({ hasText: `Next: ${step}` })
      .click();
  const step = (page: Page, name: string) => page.waitForURL(({ pathname }) => pathname.endsWith(`/${name}`));

  it('takes dropped users and hashes of Auth0, says what would happen, and starts', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/imports');
    const shown: string[] = [];
    page.on('response', async (response) => shown.push(await response.text().catch(() => '')));
    await page.getByText('Nothing imported yet').waitFor();
    const found = await findingsOf(page, 'new-import-empty');
    const { users, hashes } = auth0(200);
    await drop(page, { 'users.ndjson': users, 'passwords.ndjson': hashes });
    await step(page, 'files');
    await page.locator('.upload.done').nth(1).waitFor();
    found.push(...(await findingsOf(page, 'new-import-files')));
    await next(page, 'source');
    await page.getByRole('heading', { name: 'This looks like Auth0' }).waitFor();
    await page.getByRole('row', { name: 'passwords.ndjson' }).getByText('Password hashes').waitFor();
    found.push(...(await findingsOf(page, 'new-import-source')));
    await next(page, 'columns');
    await page.getByText('The fields of Auth0 are known').waitFor();
    found.push(...(await findingsOf(page, 'new-import-columns-known')));
    await next(page, 'options');
    found.push(...(await findingsOf(page, 'new-import-options')));
    await next(page, 'check');
    await page.getByText('The check is done.').waitFor();
    found.push(...(await findingsOf(page, 'new-import-check')));
    await next(page, 'decide');
    await page.getByRole('button', { name: 'Start import of 216 users' }).waitFor();
    found.push(...(await findingsOf(page, 'new-import-decide')));
    assert.deepEqual(found, []);
    const fact = async (name: string) =>
      String(await page.locator('.facts div').filter({ hasText: name }).locator('dd').textContent());
    const numbers: Record<string, string> = {};
    for (const name of ['Read', 'Create', 'Update', 'Skip', 'Fail']) numbers[name] = await fact(name);
    assert.deepEqual(numbers, { Read: '216', Create: '206', Update: '0', Skip: '0', Fail: '10' });
    const text = String(await page.locator('main').textContent());
    for (const expected of [
      ...[
        '209 with bcrypt',
        '4 with $2x$',
        '3 without a password',
        '2 to confirm an address',
        '3 to choose a password',
      ],
      ...['u0@example.com', 'This userId appears earlier', 'Keep the first of them', 'variant $2x$'],
      `muster import users.ndjson passwords.ndjson --from auth0 --org ${world.org.orgId} --mails none --timeout 1h`,
    ]) {
      assert(text.includes(expected), expected);
    }
    await page.getByRole('button', { name: 'Start import of 216 users' }).click();
    await page.getByText('Completed with errors').waitFor();
    assert.equal(await page.locator('[data-text="succeeded"]').textContent(), '206');
    assert.equal(await page.locator('[data-text="mailsHeld"]').textContent(), '5');
    await page.goto(`${page.url()}?query=auth0%7C${(5000).toString(16).padStart(24, '0')}`);
    await page.getByText('u5000@example.com').waitFor();
    assert.equal(await page.locator('main img').count(), 0);
    assert(
      !shown.some((text) => text.includes(HASH.slice(7)) || text.includes('$2x$04')),
      'no hash is in any response',
    );
  });
});
