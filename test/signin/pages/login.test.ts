import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { addHuman, humanRow } from '../../directory/users/people.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { codeAt, wrongCode } from '../../support/totp.ts';
import { waitFor } from '../../support/wait.ts';
import { addClient, comparable, hiddenOf, REDIRECT_URI, type Shown, type Visitor, visitor } from './visitor.ts';

const PASSWORD = 'correct horse';

let api: TestApi;
let org: SetUp;
let clientId: string;
before(async () => {
  api = await startApi({ env: { LOGIN_DELAY_MS: '0' } });
  org = await api.setupOrg();
  clientId = await addClient(api);
});
after(() => api.stop());

interface Begun {
  path: string;
  page: Shown;
  by: Visitor;
  fields: Record<string, string>;
}

async function begun(more: Record<string, string> = {}, client = clientId): Promise<Begun> {
  const by = visitor(api);
  const path = await by.begin(client, more);
  const page = await by.get(path);
  return { path, page, by, fields: hiddenOf(page, 'password') };
}

const person = () => addHuman(api, org.orgId, PASSWORD);

describe('the login page', () => {
  it('has headers against leaks, loading and framing, and its form may lead to the application', async () => {
    const { page } = await begun();
    assert.equal(page.status, 200);
    const policy = page.headers.get('content-security-policy') ?? '';
    const nonce = /style-src 'nonce-([^']+)'/.exec(policy)?.[1];
    assert.equal(
      policy,
      `default-src 'none'; style-src 'nonce-${nonce}'; form-action 'self' https://app.example.com; frame-ancestors 'none'; base-uri 'none'`,
    );
    assert.doesNotMatch(page.text, /<script|\son\w+=|\sstyle=/);
    const expected = {
      'cache-control': 'no-store',
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'content-type': 'text/html; charset=utf-8',
    };
    for (const [name, value] of Object.entries(expected)) assert.equal(page.headers.get(name), value);
  });

  it('allows all addresses of the application as form targets, by scheme where a policy cannot name the host', async () => {
    const native = await addClient(api, {
      redirectUris: ['com.example.app:/cb', 'http://[::1]/cb', 'http://127.0.0.1/cb'],
    });
    const { page } = await begun({ redirect_uri: 'http://127.0.0.1:4711/cb' }, native);
    const targets = /form-action ([^;]*);/.exec(page.headers.get('content-security-policy') ?? '')?.[1];
    assert.equal(targets, `'self' http://127.0.0.1:4711 com.example.app: http: http://127.0.0.1`);
  });

  it('escapes the name of the application and its login hint', async () => {
    const evil = await addClient(api, { name: '<script>alert("1")</script>' });
    const { page } = await begun({ login_hint: '"><script>alert(2)</script>' }, evil);
    assert.ok(page.text.includes('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;'));
    assert.ok(page.text.includes('value="&quot;&gt;&lt;script&gt;alert(2)&lt;/script&gt;"'));
    assert.doesNotMatch(page.text, /<script/);
  });

  it('redirects to the application after a right password, without input in the address', async () => {
    const loginName = await person();
    const { by, path, fields } = await begun();
    const sent = await by.post(path, { ...fields, loginName: ` ${loginName} `, password: PASSWORD });
    assert.equal(sent.status, 303);
    const resume = sent.headers.get('location') ?? '';
    assert.ok(!resume.includes(loginName));
    const back = await by.get(new URL(resume).pathname);
    assert.match(back.headers.get('location') ?? '', new RegExp(`^${REDIRECT_URI.replaceAll('.', '\\.')}\\?code=`));
  });

  it('looks for a bare user name in the organization that the application names, and for a forgotten password', async () => {
    const twin = { userName: `${org.userName}-twin` };
    const mine = { human: { ...twin, password: 'the second horse' } };
    const [first, second] = [await api.setupOrg({ human: twin }), await api.setupOrg(mine)];
    for (const [named, status] of [
      [{}, 400],
      [{ organization: first.orgId }, 400],
      [{ organization: second.orgId }, 303],
      [{ scope: `openid urn:zitadel:iam:org:id:${second.orgId}` }, 303],
    ] as const) {
      const { by, path, page, fields } = await begun(named);
      const sent = await by.post(path, { ...fields, loginName: twin.userName, password: 'the second horse' });
      assert.equal(sent.status, status, JSON.stringify(named));
      const forgot = /href="([^"]*forgot[^"]*)"/.exec(page.text)?.[1]?.replaceAll('&amp;', '&') ?? '';
      const { text } = await by.get(new URL(forgot, `${api.url}${path}`).href.slice(api.url.length));
      const organization = /name="organization" value="([^"]*)"/.exec(text)?.[1] ?? '';
      assert.equal((await by.post('/ui/forgot', { organization, loginName: twin.userName })).status, 200);
    }
    const mails = async () =>
      (await api.deps.pool.query('select user_id from mail_outbox order by id')).rows.map((row) => row.user_id);
    await waitFor(async () => (await mails()).includes(second.userId), { what: 'the mail to the second user' });
    assert.deepEqual([...new Set(await mails())].sort(), [first.userId, second.userId].sort());
  });

  it('shows the same page for a wrong password, an unknown user, a user without a password and an invalid name', async () => {
    const shown = new Set<string>();
    const machine = await api.machine(org.orgId);
    const german = await person();
    await api.deps.pool.query(`update users set preferred_language = 'de' where id = $1`, [german]);
    for (const loginName of [
      await person(),
      german,
      'nobody',
      await addHuman(api, org.orgId),
      machine.userId,
      'a\0b',
      '',
    ]) {
      const { by, path, fields } = await begun();
      const page = await by.post(path, { ...fields, loginName, password: 'wrong' });
      assert.equal(page.status, 400);
      shown.add(comparable(page).replace(/(<input id="loginName"[^>]*?)( value="[^"]*")?( required.*)>/, '$1'));
      assert.match(page.text, /id="problem">The login name or the password is wrong\.</);
      assert.doesNotMatch(page.text, /wrong"/);
    }
    // With an empty name, the other field has the focus.
    assert.equal(new Set([...shown].map((page) => page.replaceAll(' autofocus', ''))).size, 1);
  });

  it('reveals a locked or deactivated user only after the right password', async () => {
    for (const [state, words] of [
      ['locked', 'is locked'],
      ['inactive', 'is deactivated'],
    ] as const) {
      const loginName = await person();
      await api.deps.pool.query('update users set state = $2 where id = $1', [loginName, state]);
      const { by, path, fields } = await begun();
      const wrong = await by.post(path, { ...fields, loginName, password: 'wrong' });
      assert.ok(!wrong.text.includes(words));
      const right = await by.post(path, { ...fields, loginName, password: PASSWORD });
      assert.deepEqual([right.status, right.text.includes(words)], [400, true]);
    }
  });
});

describe('a login with prompt=select_account', () => {
  it('suggests nobody, and is complete after one sign-in as anybody', async () => {
    const first = await person();
    const { by, path, fields } = await begun();
    const follow = async (page: Shown) => by.get(new URL(page.headers.get('location') ?? '').pathname);
    await follow(await by.post(path, { ...fields, loginName: first, password: PASSWORD }));

    const again = await by.get(await by.begin(clientId, { prompt: 'login' }));
    assert.ok(again.text.includes(first));
    const choice = await by.begin(clientId, { prompt: 'select_account' });
    const page = await by.get(choice);
    assert.ok(!page.text.includes(first));
    const signedIn = await by.post(choice, { ...hiddenOf(page, 'password'), loginName: first, password: PASSWORD });
    const back = await follow(signedIn);
    assert.match(back.headers.get('location') ?? '', /^https:\/\/app\.example\.com\/callback\?code=/);
  });
});

describe('a native application', () => {
  const redirect_uri = 'http://127.0.0.1:5000/callback';

  it('gets no code of a user who is signed in without an action of theirs', async () => {
    const native = await addClient(api, { name: 'Desk', redirectUris: ['http://127.0.0.1/callback'] });
    const loginName = await person();
    const { by, path, fields } = await begun();
    const follow = async (page: Shown) => by.get(new URL(page.headers.get('location') ?? '').pathname);
    await follow(await by.post(path, { ...fields, loginName, password: PASSWORD }));
    assert.match(await by.begin(clientId), /^\/callback$/, 'an application on the web needs none');

    const asked = await by.begin(native, { redirect_uri });
    const page = await by.get(asked);
    assert.match(page.text, /Continue to Desk\?/);
    assert.ok(page.text.includes(loginName) && !page.text.includes('type="password"'));
    const other = await by.post(asked, hiddenOf(page, 'different'));
    assert.ok(other.text.includes('id="loginName"') && !other.text.includes(loginName));
    const back = await follow(await by.post(asked, hiddenOf(page, 'continue')));
    assert.match(back.headers.get('location') ?? '', /^http:\/\/127\.0\.0\.1:5000\/callback\?code=/);
    assert.match(await by.begin(native, { redirect_uri }), /^\/ui\/login\//, 'each time');
    assert.equal(await by.begin(native, { redirect_uri, prompt: 'none' }), '/callback', 'nobody is asked silently');
  });

  it('is not one with a port of its own, as of a developer, or with a secret', async () => {
    const developed = await addClient(api, { redirectUris: [redirect_uri] });
    const trusted = await addClient(api, {
      redirectUris: ['http://127.0.0.1/callback'],
      authMethod: 'client_secret_basic',
    });
    const loginName = await person();
    const { by, path, fields } = await begun();
    const { headers } = await by.post(path, { ...fields, loginName, password: PASSWORD });
    await by.get(new URL(headers.get('location') ?? '').pathname);
    for (const known of [developed, trusted]) assert.equal(await by.begin(known, { redirect_uri }), '/callback');
  });

  it('needs no second action after a sign-in, and none replaces the password', async () => {
    const native = await addClient(api, { redirectUris: ['http://127.0.0.1/callback'] });
    const loginName = await person();
    const { by, path, fields } = await begun({ redirect_uri }, native);
    const skipped = await by.post(path, { ...fields, step: 'continue' });
    assert.deepEqual([skipped.status, skipped.headers.get('location')], [400, null]);
    const done = await by.post(path, { ...fields, loginName, password: PASSWORD });
    const back = await by.get(new URL(done.headers.get('location') ?? '').pathname);
    assert.match(back.headers.get('location') ?? '', /\?code=/);
  });
});

describe('a login form', () => {
  it('is refused without its token, with the token of another login, and from another site', async () => {
    const loginName = await person();
    const other = await begun();
    const { by, path, fields } = await begun();
    const good = { ...fields, loginName, password: PASSWORD };
    const elsewhere = { origin: 'https://evil.example' };
    for (const [body, headers] of [
      [{ ...good, token: '' }, {}],
      [{ ...good, token: other.fields.token ?? '' }, {}],
      [good, elsewhere],
      [good, { origin: 'null' }],
      [good, { 'sec-fetch-site': 'cross-site' }],
      [good, { 'sec-fetch-site': 'same-site', origin: api.url }],
    ] as [Record<string, string>, Record<string, string>][]) {
      const refused = await by.post(path, body, headers);
      assert.equal(refused.status, 403, JSON.stringify(headers));
      assert.match(refused.text, /This form was not accepted/);
    }
    assert.equal((await by.post(path, good, { origin: api.url, 'sec-fetch-site': 'same-origin' })).status, 303);
  });

  it('belongs to one browser, and ends when the login is complete', async () => {
    const loginName = await person();
    const { by, path, fields } = await begun();
    const good = { ...fields, loginName, password: PASSWORD };
    const stranger = visitor(api);
    for (const shown of [
      await stranger.get(path),
      await stranger.post(path, good),
      await stranger.get('/ui/login/x'),
    ]) {
      assert.equal(shown.status, 410);
      assert.match(shown.text, /This sign‑in has expired/);
    }
    const sent = await by.post(path, good);
    await by.get(new URL(sent.headers.get('location') ?? '').pathname);
    assert.equal((await by.get(path)).status, 410);
    assert.equal((await by.post(path, good)).status, 410);
  });

  it('is refused with an unknown step, and unread when it is too large', async () => {
    const { by, path, fields } = await begun();
    for (const step of ['', 'x', 'constructor']) assert.equal((await by.post(path, { ...fields, step })).status, 400);
    assert.equal((await by.post(path, { ...fields, password: 'x'.repeat(20_000) })).status, 413);
  });

  it('shows the expired page if the user was locked after the password check', async () => {
    const loginName = await person();
    const { by, path, fields } = await begun();
    const sent = await by.post(path, { ...fields, loginName, password: PASSWORD });
    await api.deps.pool.query(`update users set state = 'locked' where id = $1`, [loginName]);
    const back = await by.get(new URL(sent.headers.get('location') ?? '').pathname, { accept: 'text/html' });
    assert.equal(back.status, 400);
    assert.match(back.text, /This sign‑in has expired/);
  });
});

describe('the proof between two steps', () => {
  /** A login that stopped at a required password change, and the fields of that form. */
  async function stopped(): Promise<Begun & { loginName: string }> {
    const loginName = await person();
    await api.deps.pool.query('update users set password_change_required = true where id = $1', [loginName]);
    const log = await begun();
    const page = await log.by.post(log.path, { ...log.fields, loginName, password: PASSWORD });
    assert.equal(page.status, 200);
    assert.ok(!page.text.includes(PASSWORD));
    return { ...log, page, loginName, fields: hiddenOf(page, 'change') };
  }
  const choice = { password: 'battery staple', repeated: 'battery staple' };

  it('is valid only for its step and its login', async () => {
    const { by, path, fields, loginName } = await stopped();
    const other = await begun();
    const elsewhere = { ...other.fields, step: 'change', proof: fields.proof ?? '', ...choice };
    for (const refused of [
      await by.post(path, { ...fields, step: 'later' }),
      await by.post(path, { ...fields, step: 'choose' }),
      await by.post(path, { ...fields, step: 'code', code: '123456' }),
      await by.post(path, { ...fields, ...choice, proof: '' }),
      await by.post(path, { ...fields, ...choice, proof: `${fields.proof?.slice(0, -8)}AAAAAAA=` }),
      await other.by.post(other.path, elsewhere),
    ]) {
      assert.equal(refused.status, 400);
      assert.match(refused.text, /Please sign in again/);
    }
    assert.equal((await humanRow(api, loginName)).password_change_required, true);
    assert.equal((await by.post(path, { ...fields, ...choice })).status, 303);
    assert.equal((await humanRow(api, loginName)).password_change_required, false);
  });

  it('is void once the password has changed or the user is not active', async () => {
    const first = await stopped();
    assert.equal((await first.by.post(first.path, { ...first.fields, ...choice })).status, 303);
    const again = { password: 'a third one', repeated: 'a third one' };
    const late = await first.by.post(first.path, { ...first.fields, ...again });
    assert.match(late.text, /Please sign in again/);

    const second = await stopped();
    await api.deps.pool.query(`update users set state = 'locked' where id = $1`, [second.loginName]);
    const locked = await second.by.post(second.path, { ...second.fields, ...choice });
    assert.deepEqual([locked.status, locked.text.includes('Please sign in again')], [400, true]);
    const { password_hash: hash } = await humanRow(api, second.loginName);
    assert.ok((await api.deps.hasher.verify(hash ?? '', PASSWORD)).ok);
  });

  it('of the password alone does not pass the second factor, which does not ask for the password again', async () => {
    const loginName = await person();
    const factor = `/v2beta/users/${encodeURIComponent(loginName)}/totp`;
    const { secret } = (await api.call('POST', factor)).body;
    assert.equal((await api.call('POST', `${factor}/verify`, { code: codeAt(secret) })).status, 200);
    await api.deps.pool.query('update user_totp set last_step = last_step - 2 where user_id = $1', [loginName]);
    const md5 = createHash('md5').update(PASSWORD).digest('hex');
    await api.deps.pool.query('update users set password_hash = $2 where id = $1', [loginName, md5]);

    const { by, path, fields } = await begun();
    const asked = await by.post(path, { ...fields, loginName, password: PASSWORD });
    assert.deepEqual([asked.status, asked.text.includes('Enter your code')], [200, true]);
    const proven = hiddenOf(asked, 'code');
    for (const step of ['later', 'choose', 'change']) {
      assert.match((await by.post(path, { ...proven, ...choice, step })).text, /Please sign in again/);
    }
    for (const code of ['', wrongCode(secret)]) {
      const wrong = await by.post(path, { ...proven, code });
      assert.deepEqual([wrong.status, wrong.text.includes('aria-describedby="problem"')], [400, true]);
    }
    const code = codeAt(secret);
    assert.equal((await by.post(path, { ...proven, code })).status, 303);
    assert.match((await by.post(path, { ...proven, code })).text, /The code is wrong or has already been used/);
    assert.notEqual((await humanRow(api, loginName)).password_hash, md5);
  });
});
