/** Files that are no export are refused where they are dropped, and a draft can be discarded in every state. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { newDraft, uploadFile } from '../support/imports/drafts.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { waitFor } from '../support/wait.ts';
import { textRows, workbookOf } from '../support/workbook.ts';

import { findingsOf, openWorld, type World } from './world.ts';

const noise = (begin: string) =>
  Buffer.concat([
    Buffer.from(begin, 'latin1'),
    Buffer.from(Array.from({ length: 5000 }, (_, i) => (i % 7 === 0 ? 0 : (i * 193) % 256))),
  ]);
const WRONG: Readonly<Record<string, [buffer: Buffer, words: RegExp]>> = {
  'photo.png': [noise('\x89PNG\r\n\x1a\n'), /photo\.png: This is a picture/],
  'list.pdf': [Buffer.from('%PDF-1.7\n'), /list\.pdf: This is a PDF/],
  'empty.csv': [Buffer.alloc(0), /empty\.csv is empty/],
  'other.zip': [noise('PK\x03\x04'), /other\.zip: This is a zip archive/],
  'tool.exe': [noise('MZ\x90'), /tool\.exe: This is a program/],
  'users.csv': [Buffer.from('<!doctype html><title>Sign in</title>'), /users\.csv: This is a web page/],
  'users.json': [Buffer.from('[{"id":"1","email":"a@b.example"},{"id":'), /users\.json: The JSON ends in the middle/],
  'hashes.txt': [
    Buffer.from(Array.from({ length: 5 }, (_, i) => `$2b$04$${String(i).repeat(53)}\n`).join('')),
    /hashes\.txt: This is a list of password hashes without names/,
  ],
  'formulas.xlsx': [
    workbookOf({ sheets: { Users: `${textRows(['id', 'email'])}<row r="2"><c r="B2"><f>A1</f></c></row>` } }),
    /formulas\.xlsx: B2 holds a formula/,
  ],
  'bomb.xlsx': [workbookOf({ sheets: { Users: ' '.repeat(40_000_000) } }), /bomb\.xlsx: A cell of the sheet is longer/],
  'old.xls': [noise('\xd0\xcf\x11\xe0'), /old\.xls: This is a spreadsheet of an old Excel/],
};

describe('the drop zone of a new import', () => {
  let world: World;
  before(async () => {
    world = await openWorld();
  });
  after(() => world.stop());

  const drafts = async () => {
    const { rows } = await world.api.deps.pool.query("select state from imports where kind = 'draft'");
    return rows.map(({ state }) => state);
  };

  it('says of each wrong file what it is, and leaves neither a file nor a draft', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/imports/new');
    for (const [name, [buffer, words]] of Object.entries(WRONG)) {
      await page.locator('.drop input').setInputFiles({ name, mimeType: '', buffer });
      await page.getByRole('alert').filter({ hasText: words }).waitFor();
      await page.waitForURL(({ pathname }) => pathname === '/console/imports/new');
      assert.equal(await page.getByText('Uploaded', { exact: true }).count(), 0, name);
      assert.equal(await page.locator('.upload').count(), 0, name);
    }
    assert.deepEqual(await findingsOf(page, 'new-import-wrong-file'), []);
    await waitFor(async () => (await drafts()).every((state) => state === 'discarded') || undefined, {
      what: 'the drafts that were made for wrong files',
    });
    await page.goto(`${world.api.url}/console/imports`);
    await page.getByRole('heading', { name: 'Nothing imported yet' }).waitFor();
  });

  it('takes the right file of several, and says which of them are wrong', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/imports/new');
    const files = ['photo.png', 'list.pdf'].map((name) => ({ name, mimeType: '', buffer: WRONG[name]?.[0] as Buffer }));
    const right = { name: 'right.csv', mimeType: '', buffer: Buffer.from('id,email\n1,a@b.example\n') };
    await page
      .locator('.drop input')
      .setInputFiles([files[0] as (typeof files)[0], right, files[1] as (typeof files)[0]]);
    await page.locator('.upload.done').filter({ hasText: 'right.csv' }).waitFor();
    for (const { name } of files)
      await page
        .getByRole('alert')
        .filter({ hasText: `${name}: ` })
        .waitFor();
    await page.waitForURL(/\/files$/);
    await waitFor(async () => ((await page.locator('.upload').count()) === 1 ? true : undefined), { what: 'one file' });
  });

  it('discards a draft from each step, whatever its state', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { api, org } = world;
    const page = await world.enter(t, '/console/imports');
    for (const state of ['uploading', 'complete', 'converting']) {
      const id = await newDraft(api, { orgId: org.orgId });
      if (state !== 'uploading') await uploadFile(api, id, 'id,email\n1,a@b.example\n');
      // Nobody converts it: it stays in this state.
      if (state === 'converting') await api.call('POST', `/admin/v1/imports/${id}/_convert`, { source: 'csv' });
      for (const step of ['files', 'source', 'columns', 'options', 'check']) {
        await page.goto(`${api.url}/console/imports/new/${id}/${step}`);
        await page.locator(`a[href$="/${id}/discard"]`).waitFor();
      }
      await page.getByRole('link', { name: 'Discard this draft' }).click();
      await page.getByRole('button', { name: 'Discard' }).click();
      await page.waitForURL(({ pathname }) => pathname === '/console/imports');
      const { body } = await api.call('GET', `/admin/v1/imports/${id}`);
      assert.equal(body.state, 'IMPORT_STATE_DISCARDED', state);
    }
  });
});
