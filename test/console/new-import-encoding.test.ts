/** A new import from a file whose encoding is recognized wrongly, because it has few letters. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import iconv from 'iconv-lite';
import { requireOrSkip } from '../support/runner/programs.ts';
import { next, openWorking, step } from './new-import.ts';
import { findingsOf, type World } from './world.ts';

/** Taken for Korean. */
const PEOPLE = iconv.encode('id,email,姓,名\n81,yamada@example.com,山田,太郎\n', 'shift_jis');

describe('the encoding of the files of a new import', () => {
  let world: World;
  before(async () => {
    world = await openWorking();
  });
  after(() => world.stop());

  it('is shown as recognized, chosen with examples, and used for columns, users and the command', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/imports/new');
    await page.locator('.drop input').setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer: PEOPLE });
    await step(page, 'files');
    await page.locator('.upload.done').waitFor();
    await next(page, 'source');
    await page.getByText('The encoding of people.csv, euc-kr, is a guess').waitFor();
    const encoding = page.getByLabel('Encoding of all files');
    assert.equal(await encoding.inputValue(), '');
    assert.equal(await encoding.locator('option:checked').textContent(), 'As recognized: Korean (EUC-KR, Windows-949)');
    assert.equal(await page.getByText('太郎').count(), 0);
    const found = await findingsOf(page, 'new-import-encoding');

    const read = page.getByRole('button', { name: 'Read with this encoding' });
    await encoding.selectOption('koi8-r');
    await read.click();
    await page.waitForURL(({ search }) => search === '?encoding=koi8-r');
    await encoding.selectOption('utf-8');
    await read.click();
    await page.getByText('of the letters beyond ASCII may be garbled').waitFor();
    await encoding.selectOption('Japanese (Shift_JIS)');
    await read.click();
    await page.getByText('姓 · 山田 · 名 · 太郎').waitFor();
    assert.equal(await encoding.inputValue(), 'shift_jis');
    assert.equal(await page.getByText('may be garbled').count(), 0);
    found.push(...(await findingsOf(page, 'new-import-encoding-chosen')));
    assert.deepEqual(found, []);

    await next(page, 'columns');
    await page.getByLabel('姓 becomes').waitFor();
    // Without the cache, in which equal requests wait for each other.
    const one = `fetch(location.href, { cache: 'no-store' }).then((answer) => answer.text())`;
    const many = `Promise.all(Array.from({ length: 6 }, () => ${one}))`;
    const pages = (await page.evaluate(many)) as string[];
    const shown = pages.filter((text) => text.includes('Next: options') && !text.includes('Try again later'));
    assert.equal(shown.length, 6, 'what one person asks for at once takes turns');
    await page.getByLabel('姓 becomes').selectOption('Last name');
    await page.getByLabel('名 becomes').selectOption('First name');
    await next(page, 'options');
    await next(page, 'check');
    await page.getByText('The check is done.').waitFor();
    assert.equal(new URL(page.url()).search, '', 'the draft keeps the encoding');
    await next(page, 'decide');
    const command = String(await page.locator('copy-text code').textContent());
    assert(command.startsWith('muster import people.csv --from csv --encoding shift_jis --org '), command);
    await page.getByRole('button', { name: 'Start import of 1 user' }).click();
    await page.locator('main .state').filter({ hasText: 'Succeeded' }).first().waitFor();
    const { body } = await world.api.call('GET', '/v2beta/users/81');
    const { givenName, familyName } = body.user.human.profile;
    assert.deepEqual([familyName, givenName], ['山田', '太郎']);
  });
});
