/** A new import in the console, from files that are dropped to the start, and what interrupts an upload. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Page, Request } from 'playwright-core';
import { pieces } from '../../src/imports/draft/limits.ts';
import { startConverter } from '../../workers/converter.ts';
import { startDispatcher } from '../../workers/dispatcher.ts';
import { startImportWorker } from '../../workers/import-users.ts';
import { auth0Export } from '../support/imports/auth0-export.ts';
import { uploadFile } from '../support/imports/drafts.ts';
import { HASH } from '../support/imports/imports.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { waitFor } from '../support/wait.ts';
import { dropFiles } from './story/page.ts';
import { visitor } from './visitor.ts';
import { findingsOf, makeIamOwner, openWorld, type World } from './world.ts';

/** Requests with bytes of files that one person may have under way. */
const MOST_PIECES = 8;
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

  /** A password source of the organization. Nobody asks it. */
  async function addSource(orgId: string): Promise<string> {
    const source = { name: 'Old shop', kind: 'http', settings: { url: 'https://old.example.com/check' } };
    const { body } = await world.api.call('POST', '/management/v1/password_sources', source, { orgId });
    assert(body.sourceId, JSON.stringify(body));
    return body.sourceId;
  }

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
    await next(page, 'columns');
    await page.getByText('The fields of Auth0 are known').waitFor();
    await next(page, 'options');
    await next(page, 'check');
    await page.getByText('The check is done.').waitFor();
    await next(page, 'decide');
    await page.getByRole('button', { name: 'Start import of 216 users' }).waitFor();
    await page.getByText('The old system added a pepper to passwords').click();
    found.push(...(await findingsOf(page, 'new-import-decide')));
    assert.deepEqual(found, []);
    const fact = async (name: string) =>
      String(await page.locator('.facts div').filter({ hasText: name }).locator('dd').textContent());
    const numbers = () => Promise.all(['Read', 'Create', 'Update', 'Skip', 'Fail'].map(fact));
    assert.deepEqual(await numbers(), ['216', '206', '0', '0', '10']);
    const text = String(await page.locator('main').textContent());
    for (const expected of [
      ...[
        '209 with bcrypt',
        '4 with $2x$',
        '3 without a password',
        '2 to confirm an address',
        '3 to choose a password',
      ],
      ...[FILES.personAt(0).email, 'This userId appears earlier', 'Keep the first of them', 'variant $2x$'],
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
    await page.getByRole('link', { name: 'Edit one by one' }).click();
    await page.getByLabel('New value of email.email').first().fill('corrected@example.com');
    await page.getByLabel('New value of email.email').first().press('Tab');
    await page.getByText('Good: will be imported').waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'Back to the decision' }).click();
    await page.getByText('Users were corrected since this check').waitFor();
    assert.deepEqual([await numbers(), await fact('Corrected')], [['216', '206', '0', '1', '4'], '5']);
    await page.getByRole('button', { name: 'Check again' }).click();
    await page.getByText('The check is done.').waitFor();
    await next(page, 'decide');
    assert.deepEqual(await numbers(), ['216', '211', '0', '1', '4']);

    await page.getByRole('button', { name: 'Start import of 216 users' }).click();
    await page.getByText('Completed with errors').waitFor();
    assert.equal(await page.locator('[data-text="succeeded"]').textContent(), '211');
    assert.equal(await page.locator('[data-text="mailsHeld"]').textContent(), '9');
    await page.goto(`${page.url()}?query=auth0%7C5000`);
    await page.getByText('u5000@example.com').waitFor();
    assert.equal(await page.locator('main img').count(), 0);
    await page.goto(`${world.api.url}/console/imports`);
    await page.getByRole('cell', { name: 'Auth0', exact: true }).nth(2).waitFor(); // two checks and the import
    await page.getByRole('link', { name: 'Completed with errors 3' }).waitFor();
    const secrets = [...hashes.matchAll(/\$2[bx]\$04\$([^"]+)/g)].map(([, secret]) => String(secret));
    assert(!shown.some((text) => secrets.some((secret) => text.includes(secret))), 'no hash is in any response');
  });

  it('maps a CSV with German headings by hand, also when the session ends, into an organization created here', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const admin = await world.api.setupOrg();
    await makeIamOwner(world.api, admin);
    await addSource(admin.orgId);
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
    assert.equal(await becomes('Kennwort').inputValue(), 'hash');
    await becomes('Personalnr').selectOption('User id');
    await becomes('Aktiv').selectOption('Email');
    await next(page, 'options');
    await page.getByText('Only one column can become “Email”.').waitFor();
    await becomes('Aktiv').selectOption('Enabled');
    await becomes('Notiz').selectOption('Metadata of the user');
    await becomes('Vorname').selectOption('Leave out');
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
    await page.getByText('email.email is required').waitFor();
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
    await page.getByRole('button', { name: 'Start import of 3 users' }).click();
    await page.getByText('Completed with errors').waitFor();
    await page.getByText('Neue AG').waitFor();
    const inactive = await world.api.call('GET', '/v2beta/users/2');
    assert.equal(inactive.body.user.state, 'USER_STATE_INACTIVE', JSON.stringify(inactive.body));
    assert.deepEqual(found, []);
  });

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
    await page.getByRole('link', { name: importId, exact: true }).click();
    await page.getByText('The files cannot be read like this').waitFor();
    await page.goto(`${one}/discard`);
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.goto(`${one}/check`);
    await page.getByText('This draft was discarded').waitFor();
    await world.api.deps.pool.query('update import_drafts set expires_at = now() where import_id = $1', [importId]);
    assert.equal((await page.goto(`${one}/check`))?.status(), 403);
  });

  it('takes a password source of the organization for users without a password, and no other', async () => {
    const { api, org, other } = world;
    const own = await addSource(org.orgId);
    const foreign = await addSource(other.orgId);
    const headers = { token: (await api.machine(org.orgId, ['ORG_OWNER'])).token };
    const { importId } = (await api.call('POST', '/admin/v1/imports', { orgId: org.orgId }, headers)).body;
    await uploadFile(api, importId, `id,email,hash\n1,one@example.com,\n2,two@example.com,${HASH}\n`, {});
    const who = await visitor(api, headers.token);
    const at = (name: string, query = '') => `/console/imports/new/${importId}/${name}${query}`;
    const { text } = await who.get(at('options', '?source=csv&map.email=email'));
    assert(text.includes(`<option value="${own}">Old shop of`) && !text.includes(foreign));
    const form = { org: org.orgId, existing: 'fail', mails: 'auto', timeout: '1h' };
    const refused = await who.post(at('options'), { ...form, passwords: foreign });
    assert(refused.status === 400 && refused.text.includes('It belongs to another organization'), refused.text);
    const first = await who.post(at('options', '?source=csv'), { ...form, passwords: own });
    const check = String(first.headers.get('location'));
    assert.match(check, new RegExp(`passwords=${own}`));
    for (const state of ['DRAFT', 'CHECKED']) {
      assert.equal((await who.post(new URL(check, api.url).pathname + new URL(check, api.url).search)).status, 303);
      const read = async () => (await api.call('GET', `/admin/v1/imports/${importId}`)).body.state;
      await waitFor(async () => (await read()) === `IMPORT_STATE_${state}`, { what: state });
    }
    const decide = (await who.get(at('decide'))).text;
    assert(decide.includes('1 without a password: Old shop verifies it at the first sign-in'), decide);
    assert(decide.includes(`--password-source ${own}`));
    assert(!decide.includes('to choose a password'));
  });

  it('takes the pepper of an old system where it says which passwords keep working, and never shows it', async () => {
    const { api, org } = world;
    const pepper = 'ground & pépper';
    const headers = { token: (await api.machine(org.orgId, ['ORG_OWNER'])).token };
    const { importId } = (await api.call('POST', '/admin/v1/imports', { orgId: org.orgId }, headers)).body;
    await uploadFile(api, importId, `id,email,hash\n1,peppered@example.com,${HASH}\n`, {});
    const who = await visitor(api, headers.token);
    const at = (name: string) => `/console/imports/new/${importId}/${name}`;
    const answers: string[] = [];
    const read = async () => {
      const { body } = await api.call('GET', `/admin/v1/imports/${importId}`);
      answers.push(JSON.stringify(body));
      return body;
    };
    const check = async (state: string, form?: Record<string, string>) => {
      const answer = await who.post(at('check'), form);
      assert.equal(answer.status, 303, answer.text);
      assert(!String(answer.headers.get('location')).includes('pepper'));
      await waitFor(async () => (await read()).state === `IMPORT_STATE_${state}`, { what: state });
    };
    await who.post(at('source'), { source: 'csv' });
    await check('DRAFT');
    await check('CHECKED');
    const before = (await who.get(at('decide'))).text;
    assert(before.includes('The old system added a pepper to passwords'), before);
    assert(!before.includes('--pepper-mode'));
    const tooLong = await who.post(at('check'), { pepper: 'x'.repeat(57), pepperMode: 'prefix' });
    assert(tooLong.status === 400 && tooLong.text.includes('1 to 56 bytes'), tooLong.text);
    await check('DRAFT', { pepper, pepperMode: 'prefix' });
    assert.equal((await read()).draft.pepper, 'prefix');
    await check('CHECKED');
    const { text } = await who.get(at('decide'));
    assert(text.includes('The pepper that you gave is added to passwords: the pepper, then the password'), text);
    assert(text.includes('--pepper-mode prefix'), text);
    const encoded = Buffer.from(pepper).toString('base64');
    for (const answer of [...answers, before, text, tooLong.text])
      assert(!answer.includes('ground &amp; p') && !answer.includes(pepper) && !answer.includes(encoded));
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
