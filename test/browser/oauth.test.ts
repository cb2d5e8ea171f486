/**
 * An application through `openid-client`, a certified relying party, and a person through Chromium: the code flow from
 * discovery to logout. The only special setting is that loopback is used without TLS.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, before, describe, it, type TestContext } from 'node:test';
import * as oidc from 'openid-client';
import type { Page } from 'playwright-core';
import { type SetUp, startApi, type TestApi } from '../support/api.ts';
import { launchBrowser, screenshot, type TestBrowser } from '../support/browser.ts';
import { API_SCOPE, addClient } from '../support/oauth.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { waitFor } from '../support/wait.ts';
import { logIn as logInAs } from './stage.ts';

describe('a relying party and a browser', () => {
  let api: TestApi;
  let org: SetUp;
  let browser: TestBrowser | undefined;
  let app: Application;
  before(async () => {
    api = await startApi();
    org = await api.setupOrg();
    app = await startApplication();
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    await app.stop();
    await api.stop();
  });

  async function register(fields: Record<string, unknown> = {}): Promise<oidc.Configuration> {
    const { clientId, clientSecret } = await addClient(api, {
      redirectUris: [app.callback],
      postLogoutRedirectUris: [app.bye],
      ...fields,
    });
    const auth = clientSecret === undefined ? oidc.None() : oidc.ClientSecretBasic(clientSecret);
    const options = { execute: [oidc.allowInsecureRequests, oidc.enableNonRepudiationChecks] };
    return oidc.discovery(new URL(api.url), clientId, undefined, auth, options);
  }

  /** Sends the browser to the login; returns what the application needs for the callback. */
  async function leave(page: Page, config: oidc.Configuration, more: Record<string, string> = {}) {
    const checks = {
      pkceCodeVerifier: oidc.randomPKCECodeVerifier(),
      expectedState: oidc.randomState(),
      expectedNonce: oidc.randomNonce(),
      idTokenExpected: true,
    };
    const url = oidc.buildAuthorizationUrl(config, {
      redirect_uri: app.callback,
      scope: `openid profile email ${API_SCOPE}`,
      code_challenge: await oidc.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
      code_challenge_method: 'S256',
      state: checks.expectedState,
      nonce: checks.expectedNonce,
      ...more,
    });
    app.visits.length = 0;
    await page.goto(url.href);
    return async () => {
      const back = await waitFor(() => app.visits[0], { what: 'the browser to return to the application' });
      await page.waitForURL(({ pathname }) => pathname === '/callback');
      return oidc.authorizationCodeGrant(config, back, checks);
    };
  }

  const logIn = (page: Page) => logInAs(page, org.userName, org.password);

  async function open(t: TestContext): Promise<Page | undefined> {
    return requireOrSkip(t, 'chromium') ? browser?.openPage(t) : undefined;
  }

  const callApi = async (config: oidc.Configuration, token: string) =>
    (await oidc.fetchProtectedResource(config, token, new URL(`${api.url}/management/v1/orgs/me`), 'GET')).status;

  it('goes from discovery through login, userinfo, refresh, introspection and revocation to logout', async (t) => {
    const page = await open(t);
    if (!page) return;
    const config = await register();
    const arrive = await leave(page, config);
    await logIn(page);
    const tokens = await arrive();
    const claims = tokens.claims() as oidc.IDToken;
    assert.deepEqual([claims.sub, claims.amr, claims.email], [org.userId, ['pwd'], 'ann@example.com']);
    assert.equal((await oidc.fetchUserInfo(config, tokens.access_token, claims.sub)).name, 'Ann Arbor');
    assert.equal(await callApi(config, tokens.access_token), 200);

    const renewed = await oidc.refreshTokenGrant(config, tokens.refresh_token as string);
    assert.equal(await callApi(config, renewed.access_token), 200);
    const seen = await oidc.tokenIntrospection(config, renewed.access_token);
    assert.deepEqual([seen.active, seen.sub], [true, org.userId]);
    await oidc.tokenRevocation(config, renewed.access_token);
    assert.equal((await oidc.tokenIntrospection(config, renewed.access_token)).active, false);

    // The hint names the user, so there is no question.
    const hint = { id_token_hint: renewed.id_token as string };
    app.visits.length = 0;
    const end = oidc.buildEndSessionUrl(config, { ...hint, post_logout_redirect_uri: app.bye, state: 'done' });
    await page.goto(end.href).catch(ignoreSuperseded);
    await page.waitForURL(`${app.bye}?state=done`);
    await leave(page, config);
    await page.getByLabel('Login name').waitFor();
  });

  it('serves an application without a secret, and offline access outlives the login', async (t) => {
    const page = await open(t);
    if (!page) return;
    const config = await register({ authMethod: 'none' });
    const scope = `openid offline_access ${API_SCOPE}`;
    const arrive = await leave(page, config, { scope });
    await logIn(page);
    const tokens = await arrive();
    assert.match(tokens.scope as string, /offline_access/);

    await page.goto(oidc.buildEndSessionUrl(config, {}).href);
    await screenshot(page, 'log-out');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor();

    const rotated = await oidc.refreshTokenGrant(config, tokens.refresh_token as string);
    assert.notEqual(rotated.refresh_token, tokens.refresh_token);
    assert.equal(await callApi(config, rotated.access_token), 200);
    await api.deps.pool.query(`update oauth_models set consumed_at = consumed_at - interval '11 seconds'`); // the grace is over
    await assert.rejects(oidc.refreshTokenGrant(config, tokens.refresh_token as string), { error: 'invalid_grant' });
    await assert.rejects(oidc.refreshTokenGrant(config, rotated.refresh_token as string), { error: 'invalid_grant' });
  });

  it('asks a logged-in user again only if the application requests it', async (t) => {
    const page = await open(t);
    if (!page) return;
    const config = await register();
    const first = await leave(page, config);
    await logIn(page);
    const { sub } = (await first()).claims() as oidc.IDToken;
    const silent = await leave(page, config, { prompt: 'none' });
    assert.equal((await silent()).claims()?.sub, sub);
    const asked = await leave(page, config, { prompt: 'login', login_hint: org.userName });
    assert.equal(await page.getByLabel('Login name').inputValue(), org.userName);
    await logIn(page);
    assert.equal((await asked()).claims()?.sub, sub);
  });

  it('receives the response as a form that submits itself', async (t) => {
    const page = await open(t);
    if (!page) return;
    const config = await register();
    const arrive = await leave(page, config, { response_mode: 'form_post' });
    await logIn(page);
    assert.equal((await arrive()).claims()?.sub, org.userId);
  });

  it('shows a page for a request that cannot be answered', async (t) => {
    const page = await open(t);
    if (!page) return;
    await page.goto(`${api.url}/oauth/v2/authorize?client_id=nobody&response_type=code`);
    await page.getByRole('heading', { name: 'Something went wrong' }).waitFor();
  });
});

/** Ignores the error of a page whose own script leaves for another address while it opens. */
function ignoreSuperseded(error: Error): void {
  if (!/interrupted by another navigation|ERR_ABORTED/.test(error.message)) throw error;
}

interface Application {
  callback: string;
  bye: string;
  /** Requests that the browser sent to the callback: URLs, or the POST request of a form. */
  visits: (URL | Request)[];
  stop(): Promise<void>;
}

/** Runs under another host name, so that the browser treats it as another site. */
async function startApplication(): Promise<Application> {
  const visits: (URL | Request)[] = [];
  const server = createServer(async (req, res) => {
    const url = new URL(req.url ?? '/', origin);
    const body = await text(req);
    if (url.pathname === '/callback') {
      const headers = { 'content-type': req.headers['content-type'] ?? '' };
      visits.push(req.method === 'POST' ? new Request(url, { method: 'POST', body, headers }) : url);
    }
    res.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><link rel="icon" href="data:,">');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
  return {
    callback: `${origin}/callback`,
    bye: `${origin}/bye`,
    visits,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
