/** Every number on the page Decide is what happens after the start. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { must } from '../support/calls.ts';
import { bulk, OLD_PASSWORD } from '../support/imports/bodies.ts';
import { newDraft, uploadFile } from '../support/imports/drafts.ts';
import { type Entry, entry } from '../support/imports/imports.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { waitFor } from '../support/wait.ts';
import { openWorking } from './new-import.ts';
import { findingsOf, type World } from './world.ts';

const google = (name: string) => ({ configId: 'google-oauth2', externalUserId: name, displayName: name });

/** One of each kind, and some that fail. */
function mixed(name: string): Entry[] {
  const [id, other] = [(kind: string) => `${kind}-${name}`, { hashedPassword: undefined }];
  const unverified = (kind: string) => ({ email: { email: `${id(kind)}@example.com` } });
  return [
    entry(id('old-same')),
    entry(id('old-changed'), { profile: { firstName: 'Anna', lastName: 'New' } }),
    ...['pw1', 'pw2', 'pw3'].map((kind) => entry(id(kind))),
    entry(id('confirm'), unverified('confirm')),
    ...['google1', 'google2'].map((kind) => entry(id(kind), { ...other, idps: [google(id(kind))] })),
    entry(id('nothing'), other),
    entry(id('inactive'), {}, { state: 'USER_STATE_INACTIVE' }),
    entry(id('locked'), {}, { state: 'USER_STATE_LOCKED' }),
    entry(id('pw1')),
    entry(id('bad-address'), { email: { email: 'none' } }),
    entry(id('bad-hash'), { hashedPassword: { value: '$2e$10$abc' } }),
  ];
}

describe('the numbers on Decide', () => {
  let world: World;
  before(async () => {
    world = await openWorking();
  });
  after(() => world.stop());

  const ended = async (importId: string) =>
    waitFor(async () => !/RUNNING/.test((await world.api.call('GET', `/admin/v1/imports/${importId}`)).body.state), {
      what: 'the import',
    });

  /** A draft that was checked, of which two users exist. */
  async function checked(name: string): Promise<string> {
    const { api, org } = world;
    const users = mixed(name);
    const first = bulk(org.orgId, [entry(`old-same-${name}`), entry(`old-changed-${name}`)]);
    const { importId: earlier } = (await must(api.call('POST', '/admin/v1/import', first))).body;
    await ended(earlier);
    const { importId } = (await must(api.call('POST', '/admin/v1/import?draft=true', bulk(org.orgId, users)))).body;
    const path = `/admin/v1/imports/${importId}`;
    await must(api.call('POST', `${path}/_check`, { timeout: '10m', onExisting: 'update', mails: 'none' }));
    await waitFor(async () => (await api.call('GET', path)).body.state === 'IMPORT_STATE_CHECKED', {
      what: 'the check',
    });
    return importId;
  }

  it('equal what the import did, without JavaScript', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { api } = world;
    const importId = await checked('a');
    const page = await world.enter(t, `/console/imports/new/${importId}/decide`, undefined, {
      javaScriptEnabled: false,
    });
    const shown = await numbersOf(page);
    await page.getByRole('button', { name: `Start import of ${shown.can} of ${shown.total} users` }).click();
    await page.waitForURL(new RegExp(`/console/imports/${importId}$`));
    await ended(importId);
    const { counts, signIn, mails, orgs } = (await api.call('GET', `/admin/v1/imports/${importId}`)).body;
    const { items } = (await api.call('GET', `/admin/v1/imports/${importId}/items?pageSize=100`)).body;
    const changed = items.filter((item: { changed?: string[] }) => item.changed !== undefined).length;
    const causes = (await api.call('GET', `/admin/v1/imports/${importId}/causes`)).body;
    const preview = (await api.call('GET', `/admin/v1/imports/${importId}/undo_preview`)).body;
    assert.deepEqual(shown, {
      total: counts.total,
      can: counts.succeeded,
      create: counts.succeeded - changed,
      update: changed,
      skip: counts.skipped,
      fail: counts.failed,
      known: signIn.ways.PASSWORD + signIn.ways.PASSWORD_SOURCE,
      google: signIn.causesByWay.MAIL_CODE.PROVIDER_NOT_SET_UP,
      codes: signIn.ways.MAIL_CODE - signIn.causesByWay.MAIL_CODE.PROVIDER_NOT_SET_UP,
      blocked: signIn.causes.INACTIVE + signIn.causes.LOCKED,
      inactive: signIn.causes.INACTIVE,
      locked: signIn.causes.LOCKED,
      into: orgs[0].counts.succeeded,
      existing: changed,
      same: counts.skipped,
      failing: causes.failed,
      mails: mails.held,
      undone: preview.removed,
      typed: signIn.changes.TYPES_USER_NAME,
      byMail: signIn.ways.MAIL_CODE,
    });
    assert.deepEqual([counts.succeeded, counts.skipped, counts.failed, changed], [10, 1, 3, 1]);
  });

  it('come with a form that tries one password, and keeps none', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, `/console/imports/new/${await checked('c')}/decide`, undefined, {
      javaScriptEnabled: false,
    });
    const tried = async (name: string, password: string) => {
      if (!(await page.getByLabel('Password of this user').isVisible()))
        await page.getByText('Try one password').click();
      await page.getByLabel('User name, email address or id in the files').fill(name);
      await page.getByLabel('Password of this user').fill(password);
      await page.getByRole('button', { name: 'Try it' }).click();
      await page.getByText(`${name}: `).waitFor();
      assert.equal(await page.getByLabel('Password of this user').inputValue(), '');
      return page.getByText(`${name}: `).textContent();
    };
    assert.equal(await tried('pw1-c', OLD_PASSWORD), 'pw1-c: the password fits.');
    assert.equal(await tried('pw2-c', 'another one'), 'pw2-c: the password does not fit.');
    assert.equal(await tried('nothing-c', 'another one'), 'nothing-c: the entry has no password.');
    assert.equal(await tried('nobody-c', 'another one'), 'nobody-c: there is no such user in the files.');
    assert.deepEqual((await page.content()).includes('another one'), false);
  });

  it('come with what the same file did before, and skip its users on request', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { api, org } = world;
    const content = 'id,email,first_name,last_name\n901,kim@example.com,Kim,Again\n902,lea@example.com,Lea,Again\n';
    const draft = async () => {
      const importId = await newDraft(api, { orgId: org.orgId });
      await uploadFile(api, importId, content, { name: 'again.csv' });
      const path = `/admin/v1/imports/${importId}`;
      const reached = (state: string) =>
        waitFor(async () => (await api.call('GET', path)).body.state === state, { what: state });
      await must(api.call('POST', `${path}/_convert`, { source: 'csv', orgId: org.orgId }));
      await reached('IMPORT_STATE_DRAFT');
      await must(api.call('POST', `${path}/_check`, { timeout: '10m' }));
      await reached('IMPORT_STATE_CHECKED');
      return importId;
    };
    const first = await draft();
    await must(api.call('POST', `/admin/v1/imports/${first}/_start`, { timeout: '10m' }));
    await ended(first);
    const page = await world.enter(t, `/console/imports/new/${await draft()}/decide`, undefined, {
      javaScriptEnabled: false,
    });
    await page.getByText('None of 2 users can be imported; 2 fail.').waitFor();
    const notice = page.locator('.notice', { hasText: 'The same file again?' });
    assert.match(
      String(await notice.textContent()),
      new RegExp(`again\\.csv was imported as import ${first} on .* \\(2 users\\)`),
    );
    await notice.getByRole('link', { name: 'Skip them' }).click();
    await page.getByRole('button', { name: 'Check them' }).click();
    await waitFor(
      async () => {
        await page.reload();
        return page.getByRole('link', { name: 'Next: decide' }).isVisible();
      },
      { what: 'the check' },
    );
    await page.getByRole('link', { name: 'Next: decide' }).click();
    await page.getByText('2 users exist and are skipped.').waitFor();
    await notice.getByText('Chosen: Skip them').waitFor();
  });

  it('are on a page that everybody can use', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, `/console/imports/new/${await checked('b')}/decide`);
    await page.getByRole('heading', { name: 'What can be undone' }).waitFor();
    for (const summary of await page.locator('main details > summary').all()) await summary.click();
    assert.deepEqual(await findingsOf(page, 'decide-numbers'), []);
  });
});

/** The numbers of the page, by what they say; NaN where it does not say it. */
async function numbersOf(page: Page): Promise<Record<string, number>> {
  const main = ((await page.locator('main').textContent()) ?? '').replace(/\s+/g, ' ');
  const verdict = (await page.locator('.verdict').textContent()) ?? '';
  const into = (await page.getByRole('region', { name: 'Where they go' }).locator('strong').textContent()) ?? '';
  const fact = async (name: string) =>
    Number(
      await page
        .locator('section[aria-labelledby="result"] .facts div')
        .filter({ has: page.locator('dt', { hasText: new RegExp(`^${name}$`) }) })
        .locator('dd')
        .textContent(),
    );
  const found = (text: string, pattern: RegExp) => Number(pattern.exec(text)?.[1]);
  return {
    total: found(verdict, /of (\d+) users can be imported/),
    can: found(verdict, /^(\d+) of/),
    create: await fact('Create'),
    update: await fact('Update'),
    skip: await fact('Skip'),
    fail: await fact('Fail'),
    known: found(verdict, /(\d+) signs? in with the(?:ir)? old password/),
    google: found(verdict, /(\d+) used Google and signs? in with a code by mail/),
    codes: found(verdict, /; (\d+) signs? in with a code by mail/),
    blocked: found(verdict, /(\d+) (?:is|are) blocked/),
    inactive: found(main, /(\d+) users? (?:is|are) inactive/),
    locked: found(main, /(\d+) users? (?:is|are) locked/),
    into: Number(into),
    existing: found(main, /(\d+) users? exists? and (?:is|are) changed/),
    same: found(main, /(\d+) users? exists? and (?:has|have) nothing to change/),
    failing: found(main, /What will fail \((\d+)\)/),
    mails: found(main, /(\d+) mails?, once (?:it is|they are) sent/),
    undone: found(main, /an undo removes the (?:(\d+) users|user)/),
    typed: found(main, /(\d+) users? signs? in with (?:the|their) user name/),
    byMail: found(main, /(\d+) to sign in: (?:they get|the user gets) a code by mail/),
  };
}
