/** Signing in to the console: the cookie, who gets in, what ends a session, and input that survives it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { headed } from '../browser/stage.ts';
import { addVerified } from '../directory/users/people.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { findingsOf, openWorld, type World } from './world.ts';

describe('the console', () => {
  let world: World;
  before(async () => {
    world = await openWorld();
  });
  after(() => world.stop());

  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(world.api.url + path, { redirect: 'manual', headers: { accept: 'text/html', ...headers } });

  it('is where / leads, and asks to sign in', async () => {
    assert.equal((await get('/')).headers.get('location'), '/console');
    const answer = await get('/console/imports?state=failed');
    assert.equal(answer.status, 303);
    const to = new URL(answer.headers.get('location') as string);
    assert.deepEqual([to.pathname, to.searchParams.get('to')], ['/console/sign-in', '/console/imports?state=failed']);
    const entry = await get('/console', { accept: '*/*' });
    assert.equal(entry.status, 303);
    assert.match(entry.headers.get('location') ?? '', /\/console\/sign-in\?to=%2Fconsole$/);
    assert.equal((await fetch(`${world.api.url}/console`, { method: 'HEAD', redirect: 'manual' })).status, 303);
    assert.equal((await get('/console/imports', { accept: '*/*' })).status, 401);
    assert.equal((await get('/console/api/admin/v1/imports', { accept: '*/*' })).status, 401);
  });

  it('gives the browser a cookie and no token, and keeps the tokens encrypted', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/');
    await headed(page, 'Imports');
    const [cookie] = (await page.context().cookies()).filter(({ name }) => name === 'muster_console');
    assert.deepEqual([cookie?.httpOnly, cookie?.sameSite, cookie?.path], [true, 'Lax', '/']);
    assert.match(cookie?.value ?? '', /^[\w-]{43}$/);
    const { rows } = await world.api.deps.pool.query('select sealed_tokens from console_sessions');
    assert(rows.length > 0 && rows.every(({ sealed_tokens: text }) => !/accessToken|Ann/.test(text)), 'encrypted');
    const stored = await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])');
    assert.equal(stored, '[{},{},""]');

    const answer = await page.request.get(`${world.api.url}/console/api/admin/v1/imports`);
    assert.deepEqual([answer.status(), (await answer.json()).nextPageToken], [200, '']);

    await page.getByRole('button', { name: 'Sign out' }).click();
    await headed(page, 'You are signed out');
    assert.deepEqual(await findingsOf(page, 'signed-out'), []);
    await page.goto(`${world.api.url}/console`);
    await page.getByLabel('Login name').waitFor();
    const gone = await get('/console/imports', { cookie: `muster_console=${cookie?.value}` });
    assert.equal(gone.status, 303, 'the session has ended');
  });

  it('uses a __Host- cookie over https, and never one of its own making', async (t) => {
    const { openCookies } = await import('../../src/console/session.ts');
    const sent: unknown[][] = [];
    const res = { cookie: (...given: unknown[]) => sent.push(given) } as never;
    openCookies('https://id.example').set(res, 'console', 'x');
    assert.deepEqual(sent, [
      ['__Host-muster_console', 'x', { httpOnly: true, sameSite: 'lax', secure: true, path: '/' }],
    ]);
    openCookies('https://id.example/muster').set(res, 'console', 'x');
    assert.equal(sent[1]?.[0], '__Secure-muster_console');
    if (!requireOrSkip(t, 'chromium')) return;
    const other = await get('/console/callback?code=x&state=y', { cookie: 'muster_console_login=made-up' });
    assert.equal(other.status, 400);
    assert.match(await other.text(), /The sign-in was not completed/);
  });

  it('tells a person without a role whom to ask', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const userId = await addVerified(world.api, world.org.orgId, 'correct horse');
    const page = await world.enter(t, '/console', { ...world.org, userName: userId });
    await headed(page, 'You have no role in the console yet');
    await page.getByText(userId, { exact: true }).waitFor();
    assert.deepEqual(await findingsOf(page, 'no-role'), []);
    assert.equal((await page.goto(`${world.api.url}/console/imports`))?.status(), 403);
  });

  it('ends with the sessions of the user, and at once without the role', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const { userId } = await world.api.setupOrg({ human: { userName: 'leaving' } });
    const page = await world.enter(t, '/console', { ...world.org, userName: 'leaving' });
    await headed(page, 'Imports');
    await world.api.call('POST', `/v2beta/users/${userId}/deactivate`, {});
    await page.goto(`${world.api.url}/console/imports`);
    await page.getByLabel('Login name').waitFor();
  });

  it('refuses what another site sends, and shows pages for errors', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console');
    const cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
    const from = (path: string, headers: Readonly<Record<string, string>> | object) =>
      fetch(world.api.url + path, {
        method: 'POST',
        redirect: 'manual',
        headers: { cookie, accept: 'text/html', ...headers },
      });
    for (const path of ['/console/sign-out', '/console/imports', '/console/api/management/v1/orgs/me/members']) {
      for (const headers of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'same-site' }] as const) {
        assert.equal((await from(path, headers)).status, 403, path);
      }
    }
    assert.equal((await page.goto(`${world.api.url}/console/nowhere`))?.status(), 404);
    await headed(page, 'Not found');
    assert.deepEqual(await findingsOf(page, 'not-found'), []);
  });

  it('loads at most 60 KB compressed, which browsers keep for good', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console');
    const html = await page.content();
    let bytes = Buffer.byteLength(html);
    for (const [, path] of html.matchAll(/(?:href|src)="(\/console\/assets\/[^"]+)"/g)) {
      const answer = await fetch(world.api.url + path, { headers: { 'accept-encoding': 'br' } });
      assert.match(answer.headers.get('cache-control') ?? '', /immutable/);
      assert.equal(answer.headers.get('content-encoding'), 'br');
      const old = await fetch(world.api.url + String(path).replace(/assets\/\w+/, 'assets/0'));
      assert.equal(old.headers.get('cache-control'), 'no-store');
      bytes += Number(answer.headers.get('content-length'));
    }
    t.diagnostic(`first load: ${bytes} bytes`);
    assert(bytes > 2000 && bytes < 60_000, `${bytes} bytes`);
  });
});
