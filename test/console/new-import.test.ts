/** A new import in the console, from files that are dropped to the start. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { auth0Export } from '../support/imports/auth0-export.ts';
import { uploadFile } from '../support/imports/drafts.ts';
import { HASH } from '../support/imports/imports.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { waitFor } from '../support/wait.ts';
import { addSource, next, openWorking, step } from './new-import.ts';
import { dropFiles } from './story/page.ts';
import { findingsOf, makeIamOwner, type World } from './world.ts';

const HOSTILE = '<img src=x onerror=alert(1)>';

const FILES = auth0Export({
  seed: 1,
  counts: {
    ...{ good: 200, bracketed: 5, variant: 4, repeated: 1, noAddress: 0, longName: 0, taken: 0 },
    ...{ noPassword: 3, unverified: 2 },
  },
  takenNames: [],
});
/** A user whose names are markup. */
const HOSTILE_USER = {
  ...{ user_id: 'auth0|5000', email: 'u5000@example.com', email_verified: true, family_name: 'Family' },
  ...{ given_name: HOSTILE, name: HOSTILE, nickname: HOSTILE },
};
const HOSTILE_HASH = { _id: { $oid: '5000' }, email: HOSTILE_USER.email, passwordHash: HASH };

describe('a new import', () => {
  let world: World;
  before(async () => {
    world = await openWorking();
  });
  after(() => world.stop());

  it('takes dropped users and hashes of Auth0, says what would happen, and starts', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/imports');
    const shown: string[] = [];
    page.on('response', async (response) => shown.push(await response.text().catch(() => '')));
    await page.getByText('Nothing imported yet').waitFor();
    const hashes = `${FILES.hashes}${JSON.stringify(HOSTILE_HASH)}\n`;
    await dropFiles(page, {
      'users.ndjson': `${FILES.users}${JSON.stringify(HOSTILE_USER)}\n`,
      'passwords.ndjson': hashes,
    });
    await step(page, 'files');
    await page.locator('.upload.done').nth(1).waitFor();
    const found = await findingsOf(page, 'new-import-files');
    await next(page, 'source');
    await page.getByRole('heading', { name: 'This looks like Auth0' }).waitFor();
    await page.getByRole('row', { name: 'passwords.ndjson' }).getByText('Password hashes').waitFor();
    await next(page, 'options'); // nothing is to be mapped
    await page.getByRole('link', { name: 'Columns' }).click();
    await page.getByText('The fields of Auth0 are known').waitFor();
    await next(page, 'options');
    await page.getByRole('link', { name: 'Back' }).click();
    await step(page, 'source');
    await next(page, 'options');
    await next(page, 'check');
    await page.getByText('The check is done.').waitFor();
    await next(page, 'decide');
    await page.getByRole('button', { name: 'Start import of 206 of 216 users' }).waitFor();
    await page.getByText('The old system added a pepper to passwords').click();
    found.push(...(await findingsOf(page, 'new-import-decide')));
    assert.deepEqual(found, []);
    const fact = async (name: string) =>
      String(await page.locator('.facts div').filter({ hasText: name }).locator('dd').textContent());
    const numbers = (...more: string[]) => Promise.all(['Read', 'Create', 'Fail', ...more].map(fact));
    assert.deepEqual(await numbers(), ['216', '206', '10']);
    const text = String(await page.locator('main').textContent());
    for (const expected of [
      ...[
        '209 with bcrypt',
        '4 with $2e$',
        '3 without a password',
        '2 to confirm an address',
        '3 to choose a password',
      ],
      ...[FILES.personAt(0).email, 'This userId appears earlier', 'Keep the first of them', 'variant $2e$'],
      `muster import users.ndjson passwords.ndjson --from auth0 --org ${world.org.orgId} --mails none --timeout 1h`,
    ]) {
      assert(text.includes(expected), expected);
    }

    const remedy = async (name: string, users: number) => {
      await page.getByRole('link', { name }).click();
      await page.getByRole('button', { name: `Apply to ${users}` }).click();
    };
    await remedy('Keep the first of them', 1);
    await remedy('No password: mail a link', 4);
    await page.getByRole('row').filter({ hasText: 'Edit one by one' }).getByText('Other ways').click();
    await page.getByRole('link', { name: 'Edit one by one' }).click();
    await page.getByLabel('New value of Address').first().fill('corrected@example.com');
    await page.getByLabel('New value of Address').first().press('Tab');
    await page.getByText('Good: will be imported', { exact: true }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'Back to the decision' }).click();
    await page.getByText('Users were corrected since this check').waitFor();
    assert.deepEqual(await numbers('Skip', 'Corrected'), ['216', '206', '4', '1', '5']);
    await page.getByText('1 is skipped; 4 fail; 5 were corrected since.').waitFor();
    await page.getByRole('button', { name: 'Check again' }).click();
    await page.getByText('The check is done.').waitFor();
    await next(page, 'decide');
    assert.deepEqual(await numbers('Skip'), ['216', '211', '4', '1']);

    await page.getByRole('button', { name: 'Start import of 211 of 216 users' }).click();
    await page.getByText('Completed with errors').waitFor();
    assert.equal(await page.locator('[data-text="succeeded"]').textContent(), '211');
    assert.equal(await page.locator('[data-text="mailsHeld"]').textContent(), '9');
    await page.goto(`${page.url()}?query=auth0%7C5000`);
    await page.getByText('u5000@example.com').waitFor();
    assert.equal(await page.locator('main img').count(), 0);
    await page.goto(`${world.api.url}/console/imports`);
    await page.getByRole('cell', { name: 'Auth0', exact: true }).waitFor();
    await page.getByRole('row').filter({ hasText: 'users.ndjson' }).getByText('Completed with errors').waitFor();
    assert.equal(await page.locator('tr.nested').getByRole('link', { name: 'Check' }).count(), 2, 'both checks');
    await page.getByRole('link', { name: 'Completed with errors 1' }).waitFor();
    await page.getByRole('link', { name: 'Checks 2' }).waitFor();
    await page.locator('.state.still', { hasText: 'Checked: 4 users would fail' }).waitFor();
    assert.deepEqual(await findingsOf(page, 'imports-checks'), []);
    const secrets = [...hashes.matchAll(/\$2[bx]\$04\$([^"]+)/g)].map(([, secret]) => String(secret));
    assert(!shown.some((text) => secrets.some((secret) => text.includes(secret))), 'no hash is in any response');
  });

  it('maps a CSV with German headings by hand, also when the session ends, into an organization created here', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const admin = await world.api.setupOrg();
    await makeIamOwner(world.api, admin);
    await addSource(world.api, admin.orgId);
    const page = await world.enter(t, '/console/imports/new', admin);
    const row = (n: number, active: string) => `${n};p${n}@acme.example;Fü;Fox;${HASH};${active};${HOSTILE}`;
    const lines = [
      'Personalnr;Mail;Vorname;Nachname;Kennwort;Aktiv;Notiz',
      row(1, 'ja'),
      row(2, 'nein'),
      '3;;No;Body;;ja;',
    ];
    const buffer = Buffer.from(`${lines.join('\r\n')}\r\n`, 'latin1');
    await page.locator('.drop input').setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer });
    await step(page, 'files');
    await next(page, 'source');
    await page.getByRole('heading', { name: 'This looks like CSV of your own' }).waitFor();
    await page.getByText('semicolon, windows-1252').waitFor();
    await next(page, 'columns');
    const becomes = (column: string) => page.getByLabel(`${column} becomes`);
    // The page shows what a choice means, and its parts move then: a click at that moment would miss its button.
    const choose = (column: string, option: string) =>
      Promise.all([
        page.waitForResponse((answer) => answer.url().includes('show=1')),
        becomes(column).selectOption(option),
      ]);
    assert.equal(await becomes('Kennwort').inputValue(), 'hash');
    await choose('Personalnr', 'User id');
    await choose('Aktiv', 'Email');
    await next(page, 'options');
    await page.getByText('Only one column can become “Email”.').waitFor();
    await choose('Aktiv', 'Enabled');
    await choose('Notiz', 'Metadata of the user');
    await choose('Vorname', 'Leave out');
    await world.api.deps.pool.query('delete from console_sessions');
    await next(page, 'options');
    await page.getByRole('link', { name: 'Sign in again' }).click();
    assert.equal(await becomes('Aktiv').inputValue(), 'enabled');
    await page.getByText('ja → active, nein → inactive').waitFor();
    await page.getByText('Fox · p1@acme.example · active').waitFor();
    const found = await findingsOf(page, 'new-import-columns');
    await next(page, 'options');
    await page.getByLabel('Or create an organization').fill('Neue AG');
    await page.getByLabel('is updated with the fields').check();
    await page
      .getByLabel('Passwords that the files do not contain')
      .getByText('Old shop of')
      .waitFor({ state: 'attached' });
    await page.getByLabel('Time limit').fill('soon');
    await next(page, 'check');
    await page.getByText('The time limit must be a duration').waitFor();
    assert.equal(await page.getByLabel('Or create an organization').inputValue(), 'Neue AG');
    found.push(...(await findingsOf(page, 'new-import-options-wrong')));
    await page.getByLabel('Time limit').fill('30m');
    await next(page, 'check');
    await next(page, 'decide');
    await page.getByText('Address is required').waitFor();
    const command = String(await page.locator('copy-text code').textContent());
    assert.match(command, /^muster import people\.csv --from csv --org \S+ --map /);
    for (const part of [
      'userId=Personalnr',
      'enabled=Aktiv',
      'hash=Kennwort',
      '--on-existing update',
      '--timeout 30m',
    ]) {
      assert(command.includes(part), part);
    }
    await page.getByRole('button', { name: 'Start import of 2 of 3 users' }).click();
    await page.getByText('Completed with errors').waitFor();
    await page.getByText('Neue AG').waitFor();
    const inactive = await world.api.call('GET', '/v2beta/users/2');
    assert.equal(inactive.body.user.state, 'USER_STATE_INACTIVE', JSON.stringify(inactive.body));
    assert.deepEqual(found, []);
  });

  it('reads, refuses and discards a draft without JavaScript, and shows it to nobody else', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/imports/new', undefined, { javaScriptEnabled: false });
    await page.getByText('Uploading a file needs JavaScript').waitFor();
    const headers = { origin: world.api.url };
    const api = `${world.api.url}/console/api/admin/v1/imports`;
    const { importId } = await (await page.request.post(api, { headers, data: {} })).json();
    await uploadFile(world.api, importId, 'id,email\n1,a@example.com\n2,"b@example.com\n', {});
    const one = `${world.api.url}/console/imports/new/${importId}`;
    await page.goto(one);
    for (const name of ['source', 'columns', 'options', 'check']) await next(page, name);
    const read = page.getByRole('button', { name: 'Read the files' });
    await read.waitFor();
    await page.waitForLoadState('load');
    // A reload during the form's own navigation would abort. The page with the form has been loaded, so the next load is its answer.
    const loaded = page.waitForEvent('load');
    await read.click();
    await loaded;
    const problem = page.getByText('The files cannot be read like this');
    await waitFor(async () => (await page.reload()) && (await problem.count()) > 0, {
      what: 'the end of the conversion',
    });
    await page.getByText(/people\.csv.*line 3/).waitFor();
    const seen = await world.enter(t, new URL(one).pathname);
    await seen.getByText('The files cannot be read like this').waitFor();
    assert.deepEqual(await findingsOf(seen, 'new-import-unreadable'), []);

    const stranger = await world.enter(t, '/console/imports', world.other);
    assert.equal(await stranger.getByText(importId, { exact: true }).count(), 0);
    for (const path of ['', '/files', '/source', '/columns', '/options', '/check', '/decide', '/discard', '/live']) {
      assert.equal((await stranger.request.get(one + path)).status(), 403, path);
    }
    for (const path of ['/source', '/options', '/check', '/decide', '/discard']) {
      const form = { source: 'csv', timeout: '1h' };
      assert.equal((await stranger.request.post(one + path, { headers, form })).status(), 403, path);
    }
    await page.goto(`${world.api.url}/console/imports`);
    await page.getByRole('link', { name: 'Drafts 1' }).click();
    await page.getByRole('row').filter({ hasText: importId }).getByRole('link', { name: 'people.csv' }).click();
    await page.getByText('The files cannot be read like this').waitFor();
    await page.goto(`${one}/discard`);
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.goto(`${one}/check`);
    await page.getByText('This draft was discarded').waitFor();
    await world.api.deps.pool.query('update import_preparations set expires_at = now() where import_id = $1', [
      importId,
    ]);
    assert.equal((await page.goto(`${one}/check`))?.status(), 403);
  });

  it('says why the service takes no draft', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/imports/new', world.other);
    const api = `${world.api.url}/console/api/admin/v1/imports`;
    const create = () => page.request.post(api, { headers: { origin: world.api.url }, data: {} });
    while ((await create()).ok());
    await dropFiles(page, { 'users.csv': 'id,email\n' });
    await page.getByRole('alert').getByText('You have 20 drafts of imports.').waitFor();
    await dropFiles(page, { 'empty.csv': '' });
    await page.getByRole('alert').getByText('empty.csv is empty.').waitFor();
    assert.equal((await page.request.get(`${world.api.url}/console/imports/new/1/nowhere`)).status(), 404);
  });
});
