/** Users in the console: the search, one user, and actions on them, with what a role does not include refused. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { headed } from '../browser/stage.ts';
import { addHuman, addVerified } from '../directory/users/people.ts';
import type { SetUp } from '../support/api.ts';
import { addLinkRow, addProvider } from '../support/idp-rows.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { findingsOf, openWorld, type World } from './world.ts';

const MARKUP = '<img src=x onerror=alert(1)>';
const ACTIONS = ['edit', 'lock', 'unlock', 'deactivate', 'reactivate', 'resend', 'reset', 'delete'];

describe('users in the console', () => {
  let world: World;
  before(async () => {
    world = await openWorld({ RATE_LIMIT_MAILS: '2' });
  });
  after(() => world.stop());

  const pathOf = (userId: string) => `/console/users/${encodeURIComponent(userId)}`;
  const stateOf = async (userId: string) =>
    (await world.api.call('GET', `/v2beta/users/${encodeURIComponent(userId)}`)).body.user?.state;

  /** The text of a page, without a visit of the browser. */
  async function read(page: Page, path: string, status = 200): Promise<string> {
    const answer = await page.request.get(world.api.url + path);
    assert.equal(answer.status(), status, path);
    return answer.text();
  }

  async function post(page: Page, path: string, form: Record<string, string> = {}): Promise<number> {
    const options = { form, maxRedirects: 0, headers: { origin: world.api.url } };
    return (await page.request.post(world.api.url + path, options)).status();
  }

  async function named(displayName: string, orgId = world.org.orgId): Promise<string> {
    const userId = await addHuman(world.api, orgId, 'correct horse');
    await world.api.deps.pool.query('update users set display_name = $2 where id = $1', [userId, displayName]);
    return userId;
  }

  it('say nothing after a word that only every object has as a name', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/users');
    for (const path of [pathOf(await named('Ann')), `/console/organizations/${encodeURIComponent(world.org.orgId)}`]) {
      for (const word of ['constructor', '__proto__', 'toString']) {
        assert.doesNotMatch(await read(page, `${path}?done=${word}`), /native code|\[object|class="notice/, path);
      }
    }
  });

  it('finds a user by everything that is known of them', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const userId = await named(MARKUP);
    await world.api.deps.pool.query(
      `update users set phone = 'tel:+41-79-123-45-67', email = 'Fay@Acme.example', email_key = 'fay@acme.example', user_name = 'Fay.Fox',
         user_name_key = 'fay.fox', state = 'locked' where id = $1`,
      [userId],
    );
    const page = await world.enter(t, '/console/users');
    await headed(page, 'Users');
    const foreign = await addHuman(world.api, world.other.orgId);
    assert(!(await page.content()).includes(world.other.userName));
    for (const [q, by] of [
      ...[
        [userId, ''],
        ['fay.fox', ''],
        ['FAY@ACME.example', ''],
        ['Fay.F', ''],
        ['<IMG SRC', ''],
        ['+41 79 123 45 67', ''],
        ['0041791234567', ''],
      ],
      ...[
        [userId, 'id'],
        ['fay@acme.example', 'email'],
        ['fay.', 'name'],
        ['fay.fox', 'login'],
        [MARKUP, 'person'],
        ['+41791234567', 'phone'],
      ],
    ]) {
      const found = await read(page, `/console/users?${new URLSearchParams({ q, by } as Record<string, string>)}`);
      assert(found.includes('&lt;img src=x onerror') && found.includes('1 user '), `${q} by ${by || 'anything'}`);
      assert(!found.includes('<img'), 'markup stays text');
      assert(!found.includes(world.org.userName), 'nobody else');
    }
    assert.match(await read(page, '/console/users?state=LOCKED&q=fay'), /onerror/);
    assert.match(await read(page, '/console/users?state=ACTIVE&q=fay'), /No user matches/);
    assert.match(await read(page, `/console/users?q=${encodeURIComponent(foreign)}`), /No user matches/);
    await read(page, `/console/users?org=${world.other.orgId}`, 403);
    await read(page, '/console/users?after=made-up', 400);

    await page.getByLabel('Search').fill('fay');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: MARKUP }).waitFor();
    assert.deepEqual(await findingsOf(page, 'users'), []);
    await page.goto(`${world.api.url}/console/users?q=nobody`);
    assert.deepEqual(await findingsOf(page, 'users-none'), []);
  });

  it('changes names, language, address and number, and says what is wrong beside the field', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const userId = await named(MARKUP);
    const page = await world.enter(t, pathOf(userId), world.org, { javaScriptEnabled: false });
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    await headed(page, `Edit ${MARKUP}`);
    await page.getByLabel('Given name').fill('Fay');
    await page.getByLabel('Language', { exact: true }).fill('de-CH');
    await page.getByLabel('Phone number').fill('12');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('#phone-wrong').getByText('must be a phone number such as').waitFor();
    assert.equal(await page.getByLabel('Given name').inputValue(), 'Fay', 'the input is kept');
    await page.getByLabel('Phone number').fill('+41 79 765 43 21');
    await page.getByLabel('A new number is theirs').check();
    await page.getByLabel('Email address').fill('new@edit.example');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The changes are saved.').waitFor();
    const human = async () =>
      (await world.api.call('GET', `/v2beta/users/${encodeURIComponent(userId)}`)).body.user.human;
    const { profile, email, phone } = await human();
    assert.deepEqual([profile.givenName, profile.preferredLanguage, profile.displayName], ['Fay', 'de-CH', MARKUP]);
    assert.deepEqual([email.email, email.isVerified], ['new@edit.example', false]);
    assert.deepEqual([phone.phone, phone.isVerified], ['+41797654321', true]);
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Phone number').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The changes are saved.').waitFor();
    assert.equal((await human()).phone?.phone ?? '', '');
    await page.goto(`${world.api.url}${pathOf(world.org.userId)}/edit`);
    await page.waitForURL(({ pathname }) => pathname === '/account');
    const looks = await world.enter(t, `${pathOf(userId)}/edit`);
    assert.deepEqual(await findingsOf(looks, 'user-edit'), []);
  });

  it('pages by keys', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const many = await world.api.setupOrg();
    await world.api.deps.pool.query(
      `insert into users (id, org_id, kind, state, user_name, user_name_key, sequence)
       select 'page-' || n, $1, 'human', 'active', 'page-' || n, 'page-' || n, 1 from generate_series(100, 210) as n`,
      [many.orgId],
    );
    const page = await world.enter(t, '/console/users?q=page-&by=name', many);
    const seen: string[] = [];
    for (let pages = 1; ; pages++) {
      seen.push(...(await page.locator('tbody th').allTextContents()));
      const next = page.getByRole('link', { name: 'Next users' });
      if ((await next.count()) === 0) break;
      assert(pages < 4);
      await Promise.all([page.waitForNavigation(), next.click()]);
      await page.getByRole('link', { name: 'First users' }).waitFor();
    }
    assert.deepEqual(
      seen,
      Array.from({ length: 111 }, (_, n) => `page-${100 + n}`),
    );
  });

  it('shows links with what they are good for, and removes one after a question', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { pool } = world.api.deps;
    const userId = await named(MARKUP);
    const idpId = await addProvider(pool, { orgId: world.org.orgId, name: 'Acme login', aliases: ['acme'] });
    for (const [name, account] of [
      ['acme', 'a/1'],
      ['old', 'b?2'],
    ] as const)
      await addLinkRow(pool, userId, name, account);
    await addLinkRow(pool, await addHuman(world.api, world.org.orgId), 'old', 'b?2');
    const page = await world.enter(t, pathOf(userId));
    const shown = await page.content();
    assert.match(shown, /Acme login/);
    assert.match(shown, /Another user has this account too/);
    assert.deepEqual(await findingsOf(page, 'user-links'), []);
    await page.getByRole('link', { name: 'Remove' }).first().click();
    await headed(page, 'Remove the link to Acme login');
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByText('The link is removed.').waitFor();
    const { rows } = await pool.query('select idp_id from user_idp_links where user_id = $1', [userId]);
    assert.deepEqual(rows, [{ idp_id: 'old' }]);
    await pool.query('delete from idps where id = $1', [idpId]);
    const unnamed = `${pathOf(userId)}/unlink?idp=none&account=1`;
    await page.goto(`${world.api.url}${unnamed}`);
    assert.equal(new URL(page.url()).pathname, pathOf(userId), 'a link that is gone');
  });

  it('shows where a user comes from, and no secret', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { pool } = world.api.deps;
    const userId = await named(MARKUP);
    const imported = { user: { userName: 'later', profile: { firstName: 'A', lastName: 'B' } } };
    const body = { timeout: '5m', data_orgs: { orgs: [{ orgId: world.org.orgId, humanUsers: [{ ...imported }] }] } };
    const { importId } = (await world.api.call('POST', '/admin/v1/import', body)).body;
    assert.match(String(importId), /^\d+$/);
    await pool.query(`update users set import_id = $2, last_login_at = '2026-01-02T03:04:05Z' where id = $1`, [
      userId,
      importId,
    ]);
    await pool.query(`insert into user_metadata (user_id, key, value) values ($1, $2, 'planted-value')`, [
      userId,
      MARKUP,
    ]);
    const { rows } = await pool.query('select password_hash from users where id = $1', [userId]);
    const page = await world.enter(t, pathOf(userId));
    await headed(page, MARKUP);
    const markup = await page.content();
    assert.match(markup, /2026-01-02 03:04 UTC/);
    assert(!markup.includes(rows[0].password_hash) && !markup.includes('planted-value') && !markup.includes('<img'));
    assert.equal(await page.getByRole('link', { name: `Import ${importId}` }).count(), 1);
    assert.deepEqual(await findingsOf(page, 'user'), []);
    await pool.query('update users set import_id = 987654 where id = $1', [userId]);
    assert(!(await read(page, pathOf(userId))).includes('/imports/987654'), 'no link that leads nowhere');
    await read(page, pathOf('nobody'), 403);
  });

  it('does each action by the keyboard alone and without JavaScript, after saying what will happen', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const userId = await addVerified(world.api, world.org.orgId, 'correct horse');
    const page = await world.enter(t, pathOf(userId), world.org, { javaScriptEnabled: false });

    async function press(role: 'link' | 'button', name: string): Promise<void> {
      const wanted = page.getByRole(role, { name, exact: true });
      await wanted.waitFor();
      for (let tabs = 0; tabs < 60; tabs++) {
        await page.keyboard.press('Tab');
        if ((await page.locator(':focus').and(wanted).count()) === 1) return page.keyboard.press('Enter');
      }
      assert.fail(`${name} is not reached with the Tab key`);
    }

    for (const [button, effect, done, state] of [
      ['Lock', 'cannot sign in until somebody unlocks', 'The user is locked.', 'USER_STATE_LOCKED'],
      ['Unlock', 'can sign in again', 'The user is unlocked.', 'USER_STATE_ACTIVE'],
      ['Reset password', 'choose a new password', 'The mail is on its way.', 'USER_STATE_ACTIVE'],
      ['Deactivate', 'All sessions of the user end now', 'The user is deactivated.', 'USER_STATE_INACTIVE'],
      ['Reactivate', 'can sign in again', 'The user is active again.', 'USER_STATE_ACTIVE'],
    ] as const) {
      await press('link', button);
      await page.getByText(effect).waitFor();
      await press('button', button);
      await page.getByText(done).waitFor();
      assert.equal(await stateOf(userId), state, button);
    }
    await press('link', 'Delete');
    await page.getByLabel('Type the user name').fill('another');
    await press('button', 'Delete');
    await page.getByText('This is not the user name.').waitFor();
    assert.equal(await stateOf(userId), 'USER_STATE_ACTIVE');
    await page.getByLabel('Type the user name').fill(userId);
    await press('button', 'Delete');
    await page.getByText('The user is deleted.').waitFor();
    assert.equal(await stateOf(userId), undefined);
  });

  it('says before the last step what cannot be taken back, and offers only what fits', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const userId = await named(MARKUP);
    const page = await world.enter(t, `${pathOf(userId)}/delete`);
    assert.deepEqual(await findingsOf(page, 'user-delete'), []);
    // An address of one long word fits a phone.
    const address = `${'nobody.breaks.this.'.repeat(3)}address@department.of.acme.example`;
    await world.api.deps.pool.query('update users set email = $2 where id = $1', [userId, address]);
    await page.goto(`${world.api.url}${pathOf(userId)}/resend`);
    await page.getByText(address).waitFor();
    assert.deepEqual(await findingsOf(page, 'user-resend'), []);
    assert.match(await read(page, `${pathOf(userId)}/unlock`), /Lock/, 'leads to the user, who is not locked');
    assert.equal(await post(page, `${pathOf(userId)}/unlock`), 400, 'refused by the state');
    assert.equal(await post(page, `${pathOf(userId)}/resend`), 303);
    for (const status of [303, 303, 429]) assert.equal(await post(page, `${pathOf(world.org.userId)}/reset`), status);
    const own = await read(page, `${pathOf(world.org.userId)}/lock`);
    assert.match(own, /This is your own account/);
  });

  it('refuses what a role does not include, and what belongs to others', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const viewer = await world.api.setupOrg({ roles: ['ORG_OWNER_VIEWER'] });
    const theirs = await addVerified(world.api, viewer.orgId, 'correct horse');
    const owned: [SetUp, string, number][] = [
      [viewer, theirs, 200],
      [world.org, theirs, 403],
      [world.org, world.other.userId, 403],
    ];
    for (const [who, userId, status] of owned) {
      const page = await world.enter(t, '/console/users', who);
      const shown = await read(page, pathOf(userId), status);
      assert(!shown.includes(`${pathOf(userId)}/`), 'no action is shown');
      for (const action of ACTIONS) {
        await read(page, `${pathOf(userId)}/${action}`, 403);
        assert.equal(await post(page, `${pathOf(userId)}/${action}`, { userName: userId }), 403, action);
      }
      assert.equal(await stateOf(userId), 'USER_STATE_ACTIVE');
    }
  });
});
