/** `muster login` and `logout` against a real service, with a real browser; the renewal of tokens. */
import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test, { type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { headed, logIn } from '../browser/stage.ts';
import { unique } from '../support/answers.ts';
import { launchBrowser, type TestBrowser } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { must, type Service, startService } from '../support/processes/service.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { waitFor } from '../support/wait.ts';
import { type Home, openHome, said } from './home.ts';

const ADDRESS = /(http:\S+\/oauth\/v2\/authorize\?\S+)/;

interface Person {
  userId: string;
  userName: string;
  password: string;
  orgId: string;
}

/** The owner of an organization. */
async function person(service: Service): Promise<Person> {
  const userName = unique('ann');
  const password = 'correct horse';
  const human = {
    userName,
    profile: { firstName: 'Ann', lastName: 'Arbor' },
    email: { email: 'ann@example.com', isEmailVerified: true },
    password,
  };
  const body = { org: { name: unique('Acme') }, human };
  const made = (await must(service.call('POST', '/admin/v1/orgs/_setup', body))).body;
  return { userId: made.userId, userName, password, orgId: made.orgId };
}

/** Makes the stored token look expired to the command line. */
async function expire({ path, kept }: Home, url: string): Promise<void> {
  const all = await kept();
  Object.assign(all.logins[url] ?? {}, { expiresAt: Date.now() + 1000 });
  await writeFile(path, JSON.stringify(all));
}

test('logging in and out', async (t) => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const env = { PORT: String(port), BASE_URL: url };
  const service = await startService(t, { backend: 'postgres', workers: 0, env });
  const ann = await person(service);
  const browser = await launchBrowser();
  t.after(() => browser?.close());

  const open = async (t: TestContext): Promise<Page | undefined> =>
    requireOrSkip(t, 'chromium') ? (browser as TestBrowser).openPage(t) : undefined;

  /** Logs in through the browser, from start to end. */
  async function logInAt(home: Home, page: Page, who = ann) {
    const running = home.start(['login', '--no-browser', '--url', url]);
    await page.goto(await said(running, ADDRESS));
    await logIn(page, who.userName, who.password);
    await headed(page, 'You are logged in');
    return running.finished;
  }

  await t.test(
    'through the browser: shows who is logged in, stores the token for its owner only, and commands work',
    async (t) => {
      const page = await open(t);
      if (!page) return;
      const home = await openHome(t);
      const { code, stdout, stderr } = await logInAt(home, page);
      assert.equal(code, 0, stderr);
      assert.match(
        stdout,
        new RegExp(`^Logged in at ${url} as Ann Arbor \\(${ann.userName}@.+\\), ORG_OWNER of Acme-`),
      );
      const { logins, url: last } = await home.kept();
      assert.equal(last, url);
      const { accessToken, refreshToken, expiresAt } = logins[url] ?? {};
      assert(accessToken && refreshToken && Math.abs((expiresAt ?? 0) - Date.now() - 3600_000) < 30_000);
      for (const secret of [accessToken, refreshToken]) assert(!`${stdout}${stderr}`.includes(secret));
      assert.equal((await stat(home.path)).mode & 0o777, 0o600);
      assert.equal((await stat(dirname(home.path))).mode & 0o777, 0o700);
      assert.deepEqual(await readdir(dirname(home.path)), ['credentials.json']);
      // The URL is known from the login.
      assert.equal((await home.muster(['status'])).code, 0);
    },
  );

  await t.test('logging out ends the tokens and removes the file', async (t) => {
    const page = await open(t);
    if (!page) return;
    const home = await openHome(t);
    await logInAt(home, page);
    const { accessToken: token, refreshToken } = (await home.kept()).logins[url] ?? {};
    assert.deepEqual(JSON.parse((await home.muster(['logout', '--json'])).stdout), { url, loggedOut: true });
    assert.deepEqual(await readdir(dirname(home.path)), []);
    assert.equal((await service.call('GET', '/management/v1/me', undefined, { token: token as string })).status, 401);
    assert.equal((await refreshed(refreshToken as string)).error, 'invalid_grant');
    const again = await home.muster(['logout', '--url', url]);
    assert.deepEqual([again.code, again.stdout], [0, `You were not logged in at ${url}.\n`]);
    const { code, stderr } = await home.muster(['status', '--url', url]);
    assert.equal(code, 4);
    assert.match(stderr, /You are not logged in[\s\S]*muster login/);
  });

  async function refreshed(token: string): Promise<{ error?: string }> {
    const form = { grant_type: 'refresh_token', refresh_token: token, client_id: 'muster-cli' };
    const response = await fetch(`${url}/oauth/v2/token`, { method: 'POST', body: new URLSearchParams(form) });
    return (await response.json()) as { error?: string };
  }

  await t.test('cancelling in the browser is reported there and in the terminal', async (t) => {
    const page = await open(t);
    if (!page) return;
    const home = await openHome(t, url);
    const running = home.start(['login', '--no-browser']);
    await page.goto(await said(running, ADDRESS));
    await page.getByRole('button', { name: 'Back to Muster command line' }).click();
    await headed(page, 'Login failed');
    const { code, stderr } = await running.finished;
    assert.equal(code, 4);
    assert.match(stderr, /Login failed: access_denied \(the login was cancelled\)[\s\S]*muster login/);
    await assert.rejects(readFile(home.path), { code: 'ENOENT' });
  });

  await t.test('a callback without the state does nothing, one from another issuer ends the login', async (t) => {
    const home = await openHome(t, url);
    const running = home.start(['login', '--no-browser']);
    const { searchParams } = new URL(await said(running, ADDRESS));
    const callback = searchParams.get('redirect_uri') as string;
    assert.match(callback, /^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    const state = searchParams.get('state') as string;
    for (const query of ['', '?code=x', '?code=x&state=y', '?error=access_denied']) {
      assert.equal((await fetch(callback + query)).status, 404);
    }
    assert.equal((await fetch(`${callback}?state=${state}`, { method: 'POST' })).status, 404);
    assert.equal((await fetch(new URL(`/?state=${state}`, callback))).status, 404);
    const evil = new URLSearchParams({ code: 'x', state, iss: 'https://evil.example' });
    const answer = await fetch(`${callback}?${evil}`);
    assert.equal(answer.status, 400);
    assert.match(await answer.text(), /Login failed/);
    assert.equal((await running.finished).code, 4);
    await assert.rejects(fetch(callback));
  });

  await t.test('an invalid code is refused', async (t) => {
    const home = await openHome(t, url);
    const running = home.start(['login', '--no-browser']);
    const { searchParams } = new URL(await said(running, ADDRESS));
    const [callback, state] = [searchParams.get('redirect_uri'), searchParams.get('state') as string];
    await fetch(`${callback}?${new URLSearchParams({ code: 'made-up', state, iss: url })}`);
    const { code, stderr } = await running.finished;
    assert.equal(code, 4);
    assert.match(stderr, /invalid_grant/);
  });

  await t.test('the browser is opened if there is one', async (t) => {
    const folder = await mkdtemp(join(tmpdir(), 'muster-bin-'));
    t.after(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'xdg-open'), `#!/bin/sh\nprintf %s "$1" > ${folder}/opened\n`);
    await chmod(join(folder, 'xdg-open'), 0o755);
    const home = await openHome(t, url);
    const running = home.start(['login'], { env: { PATH: `${folder}:${process.env.PATH}` } });
    const address = await said(running, ADDRESS);
    const opened = await waitFor(() => readFile(join(folder, 'opened'), 'utf8').catch(() => ''), {
      what: 'the browser',
    });
    assert.equal(opened, address);
    running.kill('SIGINT');
    assert.notEqual((await running.finished).code, 0);
    await assert.rejects(readFile(home.path), { code: 'ENOENT' });
  });

  await t.test('on a machine without a browser, by a code', async (t) => {
    const page = await open(t);
    if (!page) return;
    const home = await openHome(t, url);
    const running = home.start(['login', '--device', '--json']);
    const code = await said(running, /\b([B-Z]{4}-[B-Z]{4})\b/);
    await page.goto(await said(running, /(http:\S+\/ui\/device)/));
    await page.getByLabel('Code').fill(code);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Continue' }).click();
    await logIn(page, ann.userName, ann.password);
    await headed(page, 'Your device is connected');
    const finished = await running.finished;
    assert.equal(finished.code, 0, finished.stderr);
    const told = JSON.parse(finished.stdout);
    assert.deepEqual([told.url, told.user.userId, told.instanceRoles], [url, ann.userId, []]);
    assert.deepEqual(
      told.organizations.map((org: { id: string; roles: string[] }) => [org.id, org.roles]),
      [[ann.orgId, ['ORG_OWNER']]],
    );
    assert.equal((await home.muster(['status'])).code, 0);
  });

  await t.test('refusing a device in the browser ends the login', async (t) => {
    const page = await open(t);
    if (!page) return;
    const home = await openHome(t, url);
    const running = home.start(['login', '--device']);
    const code = await said(running, /\b([B-Z]{4}-[B-Z]{4})\b/);
    await page.goto(`${url}/ui/device?user_code=${code}`);
    await page.getByRole('button', { name: 'Cancel' }).click();
    const finished = await running.finished;
    assert.equal(finished.code, 4);
    assert.match(finished.stderr, /The login was refused in the browser\.[\s\S]*muster login --device/);
  });

  await t.test('with a token from standard input', async (t) => {
    const home = await openHome(t, url);
    const { code, stdout } = await home.muster(['login', '--token'], { input: `${service.token}\n` });
    assert.equal(code, 0);
    assert.match(stdout, /as Muster administrator \(muster-admin@.+\), IAM_OWNER\./);
    assert.deepEqual((await home.kept()).logins, { [url]: { accessToken: service.token } });
    assert.equal((await home.muster(['status'])).code, 0);
    assert.equal((await home.muster(['logout'])).code, 0);
    const me = await service.call('GET', '/management/v1/me');
    assert.equal(me.status, 200, 'a token passed in stays valid');
  });

  await t.test('an invalid token is not stored', async (t) => {
    const home = await openHome(t, url);
    for (const [input, exit, words] of [
      ['x'.repeat(43), 4, /does not accept this token; nothing was stored/],
      ['', 2, /The token is empty/],
      ['two words', 2, /The token must be/],
      ['y'.repeat(100_000), 2, /The token must be/],
    ] as const) {
      const { code, stderr } = await home.muster(['login', '--token'], { input });
      assert.deepEqual([code, words.test(stderr)], [exit, true], stderr);
      assert(input === '' || !stderr.includes(input));
    }
    await assert.rejects(readFile(home.path), { code: 'ENOENT' });
  });

  await t.test('with a typed token, which is not shown', async (t) => {
    const home = await openHome(t, url);
    const terminal = home.terminal(t, ['login', '--token']);
    await terminal.shows(/Token \(not shown\): /);
    terminal.type(`${service.token}\r`);
    await terminal.shows(/Logged in at/);
    assert.equal(await terminal.ended, 0);
    assert(!terminal.output().includes(service.token));
    assert.equal((await home.kept()).logins[url]?.accessToken, service.token);

    const other = home.terminal(t, ['login', '--token']);
    await other.shows(/Token/);
    other.type('\x03');
    assert.equal(await other.ended, 130);
  });

  await t.test('a service that is down, is not Muster, or has another URL', async (t) => {
    const home = await openHome(t);
    const away = await home.muster(['login', '--url', 'http://127.0.0.1:1']);
    assert.equal(away.code, 5);
    assert.match(away.stderr, /cannot be reached/);
    const other = await home.muster(['login', '--url', url.replace('127.0.0.1', 'localhost')]);
    assert.equal(other.code, 2);
    assert.match(other.stderr, new RegExp(`says that its URL is ${url}[\\s\\S]*--url ${url}`));
    const none = await home.muster(['login', '--url', `${url}/docs`]);
    assert.match(none.stderr, /is not Muster/);
    assert.equal(none.code, 5);
  });

  await t.test('an expired token is renewed once, even by commands that run at the same time', async (t) => {
    const page = await open(t);
    if (!page) return;
    const home = await openHome(t);
    await logInAt(home, page);
    const before = (await home.kept()).logins[url];
    await expire(home, url);
    const ends = await Promise.all([1, 2, 3].map(() => home.muster(['status'])));
    assert.deepEqual(
      ends.map(({ code, stderr }) => [code, stderr]),
      [
        [0, ''],
        [0, ''],
        [0, ''],
      ],
    );
    const after = (await home.kept()).logins[url];
    assert.notEqual(after?.accessToken, before?.accessToken);
    assert.notEqual(after?.refreshToken, before?.refreshToken);
    assert((after?.expiresAt ?? 0) > Date.now() + 3000_000);
    assert.equal((await stat(home.path)).mode & 0o777, 0o600);
    // The old refresh token was used only once, or the grant would have ended.
    assert.equal((await home.muster(['status'])).code, 0);
  });

  await t.test('a login that the service has ended is reported', async (t) => {
    const page = await open(t);
    if (!page) return;
    const bea = await person(service);
    const home = await openHome(t);
    await logInAt(home, page, bea);
    await must(service.call('POST', `/v2beta/users/${bea.userId}/lock`, {}));
    for (const isExpired of [false, true]) {
      if (isExpired) await expire(home, url);
      const { code, stderr } = await home.muster(['status']);
      assert.equal(code, 4, stderr);
      assert.match(stderr, /muster login/);
    }
  });

  await t.test('renewing a token at another service does not change the default service', async (t) => {
    const page = await open(t);
    if (!page) return;
    const home = await openHome(t);
    await logInAt(home, page);
    const all = await home.kept();
    await writeFile(home.path, JSON.stringify({ ...all, url: 'https://muster.example.com' }));
    await expire(home, url);
    assert.equal((await home.muster(['status', '--url', url])).code, 0);
    assert.equal((await home.kept()).url, 'https://muster.example.com');
  });

  await t.test('the lock of a crashed command is taken over', async (t) => {
    const home = await openHome(t, url);
    await home.muster(['login', '--token'], { input: service.token });
    const crashed = { pid: 999_999, host: hostname(), since: new Date().toISOString() };
    await writeFile(`${home.path}.lock`, JSON.stringify(crashed));
    const { code } = await home.muster(['logout']);
    assert.equal(code, 0);
    assert.deepEqual(await readdir(dirname(home.path)), []);
  });

  await t.test('a lock that nobody can read is taken over once it is old', async (t) => {
    const home = await openHome(t, url);
    await home.muster(['login', '--token'], { input: service.token });
    await writeFile(`${home.path}.lock`, `${hostname()} 999999`);
    const twoMinutesAgo = new Date(Date.now() - 120_000);
    await utimes(`${home.path}.lock`, twoMinutesAgo, twoMinutesAgo);
    const { code } = await home.muster(['logout']);
    assert.equal(code, 0);
    assert.deepEqual(await readdir(dirname(home.path)), []);
  });
});
