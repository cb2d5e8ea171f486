/** What the columns of a file become that no source recognizes: the page shows what the converter does. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { uploadFile } from '../support/imports/drafts.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { textRows, workbookOf } from '../support/workbook.ts';
import { next, openWorking, step } from './new-import.ts';
import { findingsOf, makeIamOwner, type World } from './world.ts';

/** No column is called like an address. */
const UNKNOWN = 'Nr;Kontakt;Vorname;Nachname;Gesperrt;Blocked\n1;fay@columns.example;Fay;Fox;nein;no\n';
const becomes = (page: Page, column: string) => page.getByLabel(`${column} becomes`);
const chosen = (page: Page, column: string) =>
  becomes(page, column).evaluate(
    (one) => (one as unknown as { selectedOptions: { text: string }[] }).selectedOptions[0]?.text,
  );

describe('the columns of a new import', () => {
  let world: World;
  before(async () => {
    world = await openWorking();
  });
  after(() => world.stop());

  it('are preselected as the converter takes them, and the example and the warnings follow the choices', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/imports/new');
    const files = { name: 'unknown.csv', mimeType: 'text/csv', buffer: Buffer.from(UNKNOWN) };
    await page.locator('.drop input').setInputFiles(files);
    await step(page, 'files');
    await page.locator('.upload.done').waitFor();
    await next(page, 'source');
    await page.getByText('No system was recognized. Take it as CSV of your own').waitFor();
    assert.equal(await page.locator('#source').inputValue(), 'csv');
    assert.deepEqual(await findingsOf(page, 'new-import-unknown'), []);
    await next(page, 'columns');
    await page.getByText('No column becomes the email address').waitFor();
    assert.deepEqual(
      await Promise.all(['Kontakt', 'Vorname', 'Nachname', 'Blocked'].map((column) => chosen(page, column))),
      ['Leave out', 'First name', 'Last name', 'Disabled'],
    );
    const address = page.url();
    // A user of whom nothing is known is no example.
    for (const column of ['Vorname', 'Nachname']) await becomes(page, column).selectOption('Leave out');
    await page.locator('.example').waitFor({ state: 'detached' });
    await becomes(page, 'Vorname').selectOption('First name');
    await becomes(page, 'Nachname').selectOption('Last name');
    await becomes(page, 'Kontakt').selectOption('Email');
    await page.getByText('Fay Fox · fay@columns.example').waitFor();
    assert.equal(await page.getByText('No column becomes the email address').count(), 0);
    await becomes(page, 'Vorname').selectOption('Leave out');
    await page.locator('.example').getByText('Fox · fay@columns.example').waitFor();
    await becomes(page, 'Nachname').selectOption('Email');
    await page.getByText('Only one column can become “Email”.').waitFor();
    await becomes(page, 'Nachname').selectOption('Nickname');
    await page.getByText('Only one column can become “Email”.').waitFor({ state: 'detached' });
    assert.equal(page.url(), address, 'the page was not left');
    assert.equal(await page.getByRole('button', { name: 'Show example' }).count(), 0);
    // Another column of a state is read too, and the page does not say that it is left out.
    await becomes(page, 'Gesperrt').selectOption('Disabled');
    await becomes(page, 'Blocked').selectOption({ index: 0 });
    await page.locator('option', { hasText: 'Read for the state' }).first().waitFor({ state: 'attached' });
    assert.equal(await chosen(page, 'Blocked'), 'Read for the state');
    assert.deepEqual(await findingsOf(page, 'new-import-unknown-columns'), []);
    await next(page, 'options');
    await next(page, 'check');
    await next(page, 'decide');
    await page.getByRole('button', { name: 'Start import of 1 user' }).click();
    await page.locator('main .state').filter({ hasText: 'Succeeded' }).first().waitFor();
    const found = await world.api.call('POST', '/v2beta/users', {
      queries: [{ emailQuery: { emailAddress: 'fay@columns.example' } }],
    });
    const { profile } = found.body.result[0].human;
    assert.deepEqual(
      [profile.givenName, profile.familyName, profile.nickName],
      ['fay', 'fay', 'Fox'],
      JSON.stringify(profile),
    );
  });

  it('are those of the sheet that is chosen, where the file is a workbook', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/imports/new');
    await page.locator('.drop input').setInputFiles('test/fixtures/xlsx/openpyxl.xlsx');
    await step(page, 'files');
    await page.locator('.upload.done').waitFor();
    await next(page, 'source');
    await page.getByText('XLSX, sheet Kunden').waitFor();
    await page.getByLabel('Sheet with the users').selectOption('Archiv');
    await page.getByRole('button', { name: 'Read this sheet' }).click();
    await page.getByText('XLSX, sheet Archiv').waitFor();
    assert.deepEqual(await findingsOf(page, 'new-import-sheets'), []);
    await page.getByLabel('Sheet with the users').selectOption('Kunden');
    await next(page, 'columns');
    await page.getByText('Jürgen Müßig · juergen@xlsx.example · active').waitFor();
    assert.deepEqual(
      await Promise.all(['Kundennummer', 'Anrede', 'Sprache', 'Eintritt'].map((column) => chosen(page, column))),
      ['User id', 'Gender', 'Language', 'Leave out'],
    );
    await next(page, 'options');
    await next(page, 'check');
    await next(page, 'decide');
    assert.match(String(await page.locator('copy-text code').textContent()), /--from csv --sheet Kunden /);
    await page.getByRole('button', { name: 'Start import of 3 users' }).click();
    await page.locator('main .state').filter({ hasText: 'Succeeded' }).first().waitFor();
    const { user } = (await world.api.call('GET', '/v2beta/users/k-2')).body;
    assert.deepEqual(
      [user.state, user.human.profile.familyName, user.human.profile.preferredLanguage],
      ['USER_STATE_INACTIVE', '"Quote", Größe', 'fr'],
    );
  });

  it('can be those of another sheet where the first one cannot be read', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/imports/new');
    const formula = `${textRows(['id', 'email'])}<row r="2"><c r="B2"><f>A1</f></c></row>`;
    const sheets = { Sum: formula, Users: textRows(['id', 'email'], ['f-1', 'fred@columns.example']) };
    const file = { name: 'sums.xlsx', mimeType: '', buffer: workbookOf({ sheets }) };
    await page.locator('.drop input').setInputFiles(file);
    await step(page, 'files');
    await page.locator('.upload.done').waitFor();
    await next(page, 'source');
    await page.getByText('B2 holds a formula').waitFor();
    // The way on leads back, until a sheet is chosen that can be read.
    await next(page, 'columns');
    await page.getByText('B2 holds a formula').waitFor();
    assert.deepEqual(await findingsOf(page, 'new-import-sheet-formula'), []);
    await page.getByLabel('Sheet with the users').selectOption('Users');
    await page.getByRole('button', { name: 'Read this sheet' }).click();
    await page.getByText('XLSX, sheet Users').waitFor();
    await next(page, 'columns');
    await page.getByText('fred@columns.example').first().waitFor();
  });

  it('show an example without JavaScript by a button, and lead on as they are shown', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/imports/new', undefined, { javaScriptEnabled: false });
    const headers = { origin: world.api.url };
    const api = `${world.api.url}/console/api/admin/v1/imports`;
    const { importId } = await (await page.request.post(api, { headers, data: {} })).json();
    await uploadFile(world.api, importId, UNKNOWN, {});
    const at = (name: string) => `${world.api.url}/console/imports/new/${importId}/${name}`;
    await page.goto(at('columns'));
    await becomes(page, 'Kontakt').selectOption('Email');
    await becomes(page, 'Nachname').selectOption('Leave out');
    await page.getByRole('button', { name: 'Show example' }).click();
    await page.getByText('Fay · fay@columns.example').waitFor();
    assert.equal(await chosen(page, 'Nachname'), 'Leave out');
    await next(page, 'options');
    await step(page, 'options');
    const query = new URL(page.url()).searchParams;
    assert.deepEqual(
      ['source', 'map.email', 'map.firstName', 'map.lastName'].map((name) => query.get(name)),
      ['csv', 'Kontakt', 'Vorname', ''],
    );
  });

  it('are asked for only after a source is chosen, where files that are no tables are not recognized', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/imports/new', undefined, { javaScriptEnabled: false });
    const headers = { origin: world.api.url };
    const api = `${world.api.url}/console/api/admin/v1/imports`;
    const { importId } = await (await page.request.post(api, { headers, data: {} })).json();
    await uploadFile(world.api, importId, '[{"who":"Fay"},{"who":"Ann"}]', { name: 'users.json' });
    const at = (name: string) => `${world.api.url}/console/imports/new/${importId}/${name}`;
    await page.goto(at('columns'));
    await step(page, 'source');
    assert.equal(await page.locator('#source').inputValue(), '');
    const refused = await page.request.post(at('source'), { headers, form: { source: '' } });
    assert.equal(refused.status(), 400);
    assert.match(await refused.text(), /Choose which system the files come from/);
    await page.locator('#source').selectOption('ndjson');
    await next(page, 'columns');
    await step(page, 'columns');
  });

  it('of files that name no organization lead to the question for it, with every kind of source', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const admin = await world.api.setupOrg();
    await makeIamOwner(world.api, admin);
    const page = await world.enter(t, '/console/imports/new', admin, { javaScriptEnabled: false });
    const headers = { origin: world.api.url };
    const api = `${world.api.url}/console/api/admin/v1/imports`;
    const files = {
      csv: UNKNOWN,
      ndjson: '{"who":"Fay"}\n{"who":"Ann"}\n',
      auth0: '{"user_id":"auth0|1","email":"a@example.com","identities":[]}\n',
      fusionauth: '{"users":[{"email":"a@example.com","encryptionScheme":"salted-sha256","password":"x","salt":"y"}]}',
    };
    for (const [source, text] of Object.entries(files)) {
      const { importId } = await (await page.request.post(api, { headers, data: {} })).json();
      await uploadFile(world.api, importId, text, {});
      await page.goto(`${world.api.url}/console/imports/new/${importId}/options?source=${source}`);
      const select = page.getByLabel('Organization', { exact: true });
      assert.equal(await select.inputValue(), '', source);
      assert.equal(await select.locator('option').first().textContent(), 'Choose an organization', source);
      await next(page, 'check');
      await page.getByText('Choose an organization, or give the name of a new one: the files name none.').waitFor();
    }
  });
});
