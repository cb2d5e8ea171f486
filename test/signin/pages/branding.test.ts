/** Whose name, logo and language pages have, and that none has an organization's before that organization is known. */
import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import pg from 'pg';
import { addHuman, mailCode } from '../../directory/users/people.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { addClient as addApplication, tokensOf } from '../../support/oauth.ts';
import { dataUrl, png } from '../../support/pictures.ts';
import { type Held, hold } from '../../support/stores/locks.ts';
import { waitFor } from '../../support/wait.ts';
import { addClient, comparable, hiddenOf, type Shown, type Visitor, visitor } from './visitor.ts';

const PASSWORD = 'correct horse';

let api: TestApi;
let org: SetUp;
let clientId: string;
before(async () => {
  api = await startApi({ env: { LOGIN_DELAY_MS: '0', CLI_LOGIN: 'all' } });
  org = await api.setupOrg();
  clientId = await addClient(api, { name: 'Portal' });
  await put('/management/v1/policies/branding', {
    name: 'Acme <b>& Söhne</b>',
    logo: dataUrl(png()),
    primaryColor: '#0b6b36',
    backgroundColor: '#eef6f1',
    cornerRadius: 3,
    links: { help: 'https://acme.example/help?a=1&b="2', terms: 'https://acme.example/terms' },
    supportEmail: 'help+here@acme.example',
    language: 'de',
  });
  await put('/admin/v1/policies/branding', { name: 'The Service', theme: 'dark' });
});
after(() => api.stop());

async function put(path: string, body: object): Promise<void> {
  const answer = await api.call('PUT', path, body, { orgId: org.orgId });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
}

interface Begun {
  path: string;
  page: Shown;
  by: Visitor;
}

async function begun(more: Record<string, string> = {}): Promise<Begun> {
  const by = visitor(api);
  const path = await by.begin(clientId, more);
  return { path, page: await by.get(path), by };
}

const scope = () => ({ scope: `openid urn:zitadel:iam:org:id:${org.orgId}` });
const policyOf = ({ headers }: Shown) => headers.get('content-security-policy') ?? '';

function isAcme(page: Shown, what: string): void {
  assert.match(page.text, /<img src="\/ui\/branding\/[0-9a-f]{64}" alt="Acme &lt;b&gt;&amp; Söhne&lt;\/b&gt;">/, what);
  assert.match(policyOf(page), /; img-src 'self';/, what);
}

function isService(page: Shown, what: string): void {
  assert.match(page.text, /<header>\s*<span>The Service<\/span>/, what);
  assert.doesNotMatch(page.text, /acme|<img/i, what);
  assert.doesNotMatch(policyOf(page), /img-src/, what);
}

describe('the branding of a sign-in page', () => {
  it('is the organization’s that the application names, with its colours, corners and links as plain text', async () => {
    const { page, by, path } = await begun(scope());
    isAcme(page, 'by scope');
    isAcme((await begun({ organization: org.orgId })).page, 'by parameter');
    assert.match(page.text, /--page: #eef6f1; --glow: #eef6f1; --accent: #0b6b36;/);
    assert.match(page.text, /border-radius: 3px/);
    assert.match(
      page.text,
      /href="https:\/\/acme\.example\/help\?a=1&amp;b=&quot;2" target="_blank" rel="noopener noreferrer"/,
    );
    assert.match(page.text, /href="mailto:help%2Bhere@acme\.example"/);
    assert.doesNotMatch(page.text, /<b>/);
    assert.doesNotMatch(page.text, /\sstyle=|<script/);
    const policy = policyOf(page).replaceAll(/nonce-[^']+/g, 'nonce');
    assert.equal(
      policy,
      "default-src 'none'; style-src 'nonce'; img-src 'self'; form-action 'self' https://app.example.com; frame-ancestors 'none'; base-uri 'none'",
    );
    isAcme(await by.post(path, { ...hiddenOf(page, 'password'), loginName: 'nobody', password: 'x' }), 'a wrong one');
  });

  it('is the organization’s whose primary domain the application names; a domain that nobody has is as none', async () => {
    const named = (domain: string, more = '') => ({
      scope: `openid urn:zitadel:iam:org:domain:primary:${domain}${more}`,
    });
    const { rows } = await api.deps.pool.query('select primary_domain from organizations where id = $1', [org.orgId]);
    const [{ primary_domain: domain }] = rows;
    isAcme((await begun(named(domain))).page, 'its domain');
    isAcme((await begun(named(domain.toUpperCase()))).page, 'its domain in capitals');
    isAcme((await begun({ scope: `openid urn:service:iam:org:domain:primary:${domain}` })).page, 'our own scope');
    const setNames = async (signInNames: string[]) => {
      const path = '/management/v1/orgs/me/sign_in_names';
      assert.equal((await api.call('PUT', path, { signInNames }, { orgId: org.orgId })).status, 200);
    };
    await setNames(['email']);
    const byId = comparable((await begun(scope())).page);
    assert.equal(comparable((await begun(named(domain))).page), byId, 'what its id shows');
    await setNames(['userName', 'loginName', 'email']);
    const none = comparable((await begun()).page);
    for (const unknown of ['nobody.example', `not-${domain}`, '%', '..', 'x'.repeat(300)]) {
      const { page } = await begun(named(unknown));
      isService(page, unknown);
      assert.equal(comparable(page), none, unknown);
    }
    assert.equal(comparable((await begun({ organization_domain: domain })).page), none, 'a parameter of ours');
    isService((await begun(named(domain, ' urn:zitadel:iam:org:id:another'))).page, 'an id counts first');
  });

  it('is in the language of the organization where the browser wishes for none', async () => {
    assert.match((await begun(scope())).page.text, /<html lang="de"[\s\S]*>Hilfe<\/a>/);
    const { by, path } = await begun(scope());
    assert.match((await by.get(path, { 'accept-language': 'en' })).text, /<html lang="en"[\s\S]*>Help<\/a>/);
    assert.match((await begun()).page.text, /<html lang="en"/);
  });

  it('is the instance’s before the organization is known, for names that exist as for those that do not', async () => {
    const known = await addHuman(api, org.orgId, PASSWORD);
    for (const loginName of [known, 'nobody', `ann@${org.orgId}.example.com`]) {
      const { page, by, path } = await begun();
      isService(page, 'nothing typed');
      const fields = hiddenOf(page, 'password');
      isService(await by.post(path, { ...fields, loginName }), `the name ${loginName}`);
      isService(await by.post(path, { ...fields, loginName, password: 'wrong' }), `a wrong password of ${loginName}`);
      isService(await by.post(path, { ...fields, loginName, way: 'code' }), `a code for ${loginName}`);
      isService(await by.post('/ui/forgot', { loginName }), `a forgotten password of ${loginName}`);
    }
    isService((await begun({ login_hint: known })).page, 'a hint of the application');
    isService((await begun({ organization: 'no-such-organization' })).page, 'an organization that is not there');
  });

  it('is the user’s organization’s once they have proved who they are', async () => {
    const userId = await addHuman(api, org.orgId, PASSWORD);
    await api.deps.pool.query('update users set password_change_required = true where id = $1', [userId]);
    const { page, by, path } = await begun();
    const change = await by.post(path, { ...hiddenOf(page, 'password'), loginName: userId, password: PASSWORD });
    isAcme(change, 'the form for a new password');
    const again = await by.post(path, { ...hiddenOf(change, 'change'), password: 'a', repeated: 'b' });
    isAcme(again, 'the form again');
    isService(await by.post(path, { ...hiddenOf(change, 'change'), proof: 'forged' }), 'a forged proof');
  });
});

describe('pages of a sign-in while their branding cannot be read', () => {
  const WAITING = `from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%from branding%'`;
  const isPlain = (page: Shown, what: string) => {
    assert.equal(page.status, 200, what);
    assert.match(page.text, /name="loginName"/, what);
    assert.doesNotMatch(page.text, /acme|The Service|<img/i, what);
    assert.doesNotMatch(policyOf(page), /img-src/, what);
  };

  async function locked(t: TestContext): Promise<Held> {
    const held = await hold(api.deps.pool, 'lock table branding in access exclusive mode');
    t.after(() => held.abandon());
    return held;
  }

  it('have none when the statement fails, and have it again afterwards', async (t) => {
    const { by, path, page } = await begun(scope());
    isAcme(page, 'before');
    const held = await locked(t);
    const shown = by.get(path);
    // Not by the holder: what a transaction sees of other sessions stays as it was when it first looked.
    await waitFor(async () => (await api.deps.pool.query(`select pg_terminate_backend(pid) ${WAITING}`)).rowCount, {
      what: 'the statement that reads the branding',
    });
    isPlain(await shown, 'while it fails');
    await held.commit();
    isAcme(await by.get(path), 'after');
  });

  it('have none when the statement takes longer than its limit, and do not wait for its end', async (t) => {
    const { by, path } = await begun(scope());
    const held = await locked(t);
    isPlain(await by.get(path), 'while it waits');
    const { rows } = await api.deps.pool.query(`select count(*)::int as n ${WAITING}`);
    assert.equal(rows[0].n, 1, 'the statement still waits');
    await held.commit();
    isAcme(await by.get(path), 'after');
  });

  it('leave connections to others, however many pages wait for it', async (t) => {
    const pages = await Promise.all(Array.from({ length: 14 }, () => begun(scope())));
    const held = await locked(t);
    const shown = Promise.all(pages.map(({ by, path }) => by.get(path)));
    let most = 0;
    let isOver = false;
    const watching = (async () => {
      const own = new pg.Client({ connectionString: api.deps.pool.options.connectionString });
      await own.connect();
      try {
        while (!isOver) most = Math.max(most, (await own.query(`select ${WAITING}`)).rowCount ?? 0);
      } finally {
        await own.end();
      }
    })();
    for (const page of await shown) isPlain(page, 'one of many');
    isOver = true;
    await watching;
    assert.ok(most > 0 && most <= 4, `${most} statements waited at the same time`);
    await held.commit();
  });
});

describe('the branding of other pages', () => {
  it('is the user’s organization’s for holders of the code of a link, and the instance’s for others', async () => {
    const userId = await addHuman(api, org.orgId);
    const { code } = await mailCode(api, userId, 'initialise');
    const by = visitor(api);
    for (const path of ['init', 'verify', 'reset', 'passkey']) {
      isService(await by.get(`/ui/${path}?${new URLSearchParams({ userId, code: 'WRONGCODE' })}`), path);
      isService(await by.get(`/ui/${path}?${new URLSearchParams({ userId: 'nobody', code })}`), path);
    }
    isAcme(await by.get(`/ui/init?${new URLSearchParams({ userId, code })}`), 'the right code');
    isService(await by.post('/ui/new-link', { userId, code: 'WRONGCODE', action: 'init' }), 'a new link');
    isAcme(await by.get(`/ui/forgot?organization=${org.orgId}`), 'the organization of the login');
  });

  it('is the instance’s on pages of devices, of a sign-out and of errors', async () => {
    const by = visitor(api);
    const html = { accept: 'text/html' };
    isService(await by.get('/ui/device', html), 'a device');
    isService(await by.get('/oidc/v1/end_session/success', html), 'a sign-out of nobody');
    isService(await by.get('/ui/nothing', html), 'no page');
    assert.match((await by.get('/ui/forgot')).text, /color-scheme: dark;/);
    assert.doesNotMatch((await by.get('/ui/forgot')).text, /prefers-color-scheme/);
  });
});

describe('the branding of a sign-out', () => {
  const HTML = { accept: 'text/html' };
  const SUCCESS = '/oidc/v1/end_session/success';
  const FORM = /name="xsrf" value="([^"]*)"/;

  /** A browser in which a user of the organization has just signed in. */
  async function signedIn(): Promise<{ by: Visitor; userId: string }> {
    const userId = await addHuman(api, org.orgId, PASSWORD);
    const { page, by, path } = await begun();
    const done = await by.post(path, { ...hiddenOf(page, 'password'), loginName: userId, password: PASSWORD });
    const back = new URL(done.headers.get('location') ?? '', api.url);
    assert.match((await by.get(back.pathname)).headers.get('location') ?? '', /[?&]code=/);
    return { by, userId };
  }

  async function confirm(by: Visitor, page: Shown, more: Record<string, string> = { logout: 'yes' }): Promise<Shown> {
    const xsrf = FORM.exec(page.text)?.[1] ?? '';
    const { status, headers } = await by.post('/oidc/v1/end_session/confirm', { xsrf, ...more }, HTML);
    assert.equal(status, 303);
    const { pathname, search } = new URL(headers.get('location') ?? '', api.url);
    return by.get(pathname + search, HTML);
  }

  it('is that of the organization of who is signed in, and of who has just signed out', async () => {
    const { by } = await signedIn();
    const asked = await by.get('/oidc/v1/end_session', HTML);
    isAcme(asked, 'the question');
    isAcme(await confirm(by, asked, {}), 'who stays');
    const out = await confirm(by, await by.get('/oidc/v1/end_session', HTML));
    isAcme(out, 'who has signed out');
    assert.match(out.text, /<h1[^>]*>Sie sind abgemeldet/);
    isAcme(await by.get(SUCCESS, HTML), 'again');
  });

  it('is the instance’s where only a client is named, and for a cookie that is not ours', async () => {
    const by = visitor(api);
    const named = await by.get(`/oidc/v1/end_session?client_id=${clientId}`, HTML);
    isService(await confirm(by, named), 'a client');
    const forged = await fetch(api.url + SUCCESS, { headers: { ...HTML, cookie: `muster_signed_out=${org.orgId}` } });
    isService({ status: forged.status, text: await forged.text(), headers: forged.headers }, 'a forged cookie');
  });

  it('is that of the organization of an ID token of ours, and of no other token', async () => {
    const { userId } = await signedIn();
    const { id_token: token } = await tokensOf(api, await addApplication(api), { userId });
    const ours = visitor(api);
    isAcme(await confirm(ours, await ours.get(`/oidc/v1/end_session?id_token_hint=${token}`, HTML)), 'ours');
    const [head, body, signature = ''] = token.split('.');
    const forged = `${head}.${body}.${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
    const by = visitor(api);
    assert.equal((await by.get(`/oidc/v1/end_session?id_token_hint=${forged}`, HTML)).status, 400);
    isService(await by.get(SUCCESS, HTML), 'forged');
  });
});
