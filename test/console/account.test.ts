/** People see where they are signed in, and end it: with or without a role, and only after a recent sign-in. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { deviceName } from '../../src/console/account.ts';
import { headed, logIn } from '../browser/stage.ts';
import { addVerified } from '../directory/users/people.ts';
import { addClient, type TestClient, tokensOf } from '../support/oauth.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { findingsOf, openWorld, type World } from './world.ts';

const PASSWORD = 'correct horse';

describe('the sign-ins of a person', () => {
  let world: World;
  let shop: TestClient;
  before(async () => {
    world = await openWorld();
    shop = await addClient(world.api, { name: 'Shop <b>' });
  });
  after(() => world.stop());

  /** A person without a role, who is signed in at the shop from another browser, and through a program. */
  async function person(): Promise<string> {
    const userId = await addVerified(world.api, world.org.orgId, PASSWORD);
    await tokensOf(world.api, shop, { userId, scope: 'openid offline_access' });
    const checks = { user: { userId }, password: { password: PASSWORD } };
    await world.api.call('POST', '/v2beta/sessions', { checks, userAgent: { ip: '203.0.113.9' } });
    return userId;
  }
  const loginsOf = async (userId: string): Promise<{ type: string; isCurrent: boolean }[]> =>
    (await world.api.call('GET', `/v2beta/users/${encodeURIComponent(userId)}/logins`)).body.result;
  const enter = (t: Parameters<World['enter']>[0], userId: string, path = '/console/account') =>
    world.enter(t, path, { ...world.org, userName: userId, password: PASSWORD }, { javaScriptEnabled: false });

  it('are linked from the name of the person, and from the page for those without a role', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await enter(t, await person(), '/console');
    await headed(page, 'You have no role in the console yet');
    await page.getByRole('link', { name: 'Your sign-ins', exact: true }).click();
    await headed(page, 'Your sign-ins');
    const owner = await world.enter(t, '/console');
    await owner.getByRole('link', { name: /^Your sign-ins:/ }).click();
    await headed(owner, 'Your sign-ins');
    assert.equal(await owner.locator('[aria-current="page"]').count(), 1);
  });

  it('are shown with time, address and browser; one ends, and then all others', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const userId = await person();
    const page = await enter(t, userId);
    await headed(page, 'Your sign-ins');
    const rows = await page.locator('tbody tr').allInnerTexts();
    assert.equal(rows.length, 5);
    assert.equal(rows.filter((row) => row.includes('In use now')).length, 2);
    assert(
      rows.some((row) => /^Chrome on Linux.*127\.0\.0\.1.*In use now/s.test(row)),
      rows.join(),
    );
    assert(
      rows.some((row) => /^Muster administrator.*203\.0\.113\.9.*End/s.test(row)),
      rows.join(),
    );
    assert(
      rows.some((row) => /^Shop <b>.*\d{4}-\d\d-\d\d \d\d:\d\d UTC.*127\.0\.0\.1/s.test(row)),
      rows.join(),
    );

    await page.getByRole('button', { name: 'End Shop <b>' }).click();
    await page.getByText('The sign-in has ended.').waitFor();
    assert.equal(await page.getByText('Shop <b>').count(), 0);
    const left = (await loginsOf(userId)).map(({ type }) => type);
    assert.equal(left.filter((type) => type === 'LOGIN_TYPE_APPLICATION').length, 1);

    await page.getByRole('button', { name: 'End all others' }).click();
    await page.getByText('All other sign-ins have ended.').waitFor();
    assert.equal(await page.locator('tbody tr').count(), 2);
    assert.equal(await page.getByRole('button', { name: /^End/ }).count(), 0);
    assert.equal((await loginsOf(userId)).length, 2);
  });

  it('end only after a recent sign-in: an older one leads to the sign-in, and back', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const userId = await person();
    const page = await enter(t, userId);
    await world.api.deps.pool.query(
      `update oauth_models set payload = jsonb_set(jsonb_set(payload::jsonb,
         '{loginTs}', to_jsonb(extract(epoch from now())::int - 301)),
         '{extra}', jsonb_build_object('auth_time', extract(epoch from now())::int - 301))::json
       where user_id = $1 and kind in ('Session', 'AccessToken')`,
      [userId],
    );
    for (const name of ['End Shop <b>', 'End all others']) {
      await page.goto(`${world.api.url}/console/account`);
      await page.getByRole('button', { name }).click();
      await page.getByLabel('Password').waitFor();
      assert.equal((await loginsOf(userId)).length, 5, 'nothing has ended');
    }
    await logIn(page, userId, PASSWORD);
    await page.getByText('You have signed in again.').waitFor();
    await page.getByRole('button', { name: 'End all others' }).click();
    await page.getByText('All other sign-ins have ended.').waitFor();
    assert.equal((await loginsOf(userId)).length, 2);
  });

  it('are not ended by another site, by a form without an id, or for somebody else', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const [userId, other] = [await person(), await person()];
    const page = await enter(t, userId);
    const post = async (path: string, form: Record<string, string>, origin = world.api.url) =>
      (await page.request.post(world.api.url + path, { form, headers: { origin }, maxRedirects: 0 })).status();
    const [theirs] = (await loginsOf(other)) as unknown as { id: string }[];
    assert.equal(await post('/console/account/end-others', {}, 'https://evil.example'), 403);
    assert.equal(await post('/console/account/end', {}), 400);
    assert.equal(await post('/console/account/end', { loginId: theirs?.id ?? '' }), 303);
    assert.deepEqual([(await loginsOf(userId)).length, (await loginsOf(other)).length], [5, 3]);
  });

  it('are accessible in every look', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const page = await world.enter(t, '/console/account?done=again', {
      ...world.org,
      userName: await person(),
      password: PASSWORD,
    });
    await headed(page, 'Your sign-ins');
    await page.getByText('You have signed in again.').waitFor();
    assert.deepEqual(await findingsOf(page, 'account'), []);
    await page.getByRole('link', { name: 'Change your password' }).click();
    await page.waitForURL(`${world.api.url}/ui/forgot`);
  });
});

describe('the name of a browser', () => {
  const NAMES: Record<string, string> = {
    'Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0': 'Firefox on Linux',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36 Edg/131.0.0.0':
      'Edge on Windows',
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36':
      'Chrome on Android',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.6 Mobile/15E148 Safari/604.1':
      'Safari on iOS',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.6 Safari/605.1.15':
      'Safari on macOS',
    'curl/8.5.0': 'Browser',
  };
  for (const [userAgent, name] of Object.entries(NAMES)) {
    it(`is ${name}`, () => assert.equal(deviceName(userAgent), name));
  }
});
