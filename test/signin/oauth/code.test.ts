import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test, { after, before } from 'node:test';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { type SetUp, startApi, type TestApi, unique } from '../../support/api.ts';
import {
  API_SCOPE,
  addClient,
  authorizeUrl,
  Browser,
  codeFlow,
  loginUid,
  redeem,
  statusWith,
  type TestClient,
  tokenCall,
  tokensOf,
} from '../../support/oauth.ts';

let api: TestApi;
let org: SetUp;
let client: TestClient;
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  client = await addClient(api);
});
after(() => api.stop());

test('a code gets tokens: an ID token about the user, an access token for the API, a refresh token', async () => {
  const tokens = await tokensOf(api, client, {
    userId: org.userId,
    scope: `openid profile email phone ${API_SCOPE}`,
    params: { nonce: 'n-1' },
  });
  assert.equal(tokens.token_type, 'Bearer');
  assert.equal(tokens.expires_in, 3600);
  assert.equal(await statusWith(api, tokens.access_token), 200);
  assert(tokens.refresh_token);
  const header = decodeProtectedHeader(tokens.id_token);
  const { keys } = (await api.call('GET', '/oauth/v2/keys')).body;
  assert.deepEqual([header.alg, header.kid], ['RS256', keys[0].kid]);
  const { iat, exp, auth_time, updated_at, at_hash, ...claims } = decodeJwt(tokens.id_token) as Record<string, number>;
  assert.deepEqual(claims, {
    iss: api.url,
    aud: client.clientId,
    sub: org.userId,
    nonce: 'n-1',
    amr: ['pwd'],
    name: 'Ann Arbor',
    given_name: 'Ann',
    family_name: 'Arbor',
    preferred_username: `${org.userName}@${(await domainOf(org.orgId)) as string}`,
    email: 'ann@example.com',
    email_verified: true,
    'urn:service:iam:user:resourceowner:id': org.orgId,
  });
  assert.equal((exp as number) - (iat as number), 3600);
  assert(Math.abs((auth_time as number) - Date.now() / 1000) < 60 && (updated_at as number) > 0);
});

async function domainOf(orgId: string): Promise<unknown> {
  const { rows } = await api.deps.pool.query('select primary_domain from organizations where id = $1', [orgId]);
  return rows[0].primary_domain;
}

test('userinfo returns the claims of the scopes', async () => {
  const info = async (scope: string) => {
    const { access_token: token } = await tokensOf(api, client, { userId: org.userId, scope });
    return (await api.call('GET', '/oidc/v1/userinfo', undefined, { token })).body;
  };
  const always = { sub: org.userId, 'urn:service:iam:user:resourceowner:id': org.orgId };
  assert.deepEqual(await info('openid'), always);
  assert.deepEqual(await info('openid email'), {
    ...always,
    email: 'ann@example.com',
    email_verified: true,
  });
  assert.equal((await info(`openid profile ${API_SCOPE}`)).name, 'Ann Arbor');
});

test('two users who are equal but for their organization are told apart by the claim that names it', async () => {
  const human = {
    userName: `${unique('twin')}@example.com`,
    email: { email: 'twin@example.com', isEmailVerified: true },
  };
  const twins = [await api.setupOrg({ human }), await api.setupOrg({ human })];
  for (const scope of ['openid email', 'openid profile email phone']) {
    const [one, other] = await Promise.all(
      twins.map(async ({ userId }) => {
        const { id_token: token } = await tokensOf(api, client, { userId, scope });
        const { iat, exp, auth_time, updated_at, at_hash, sub, ...claims } = decodeJwt(token);
        return claims;
      }),
    );
    const CLAIM = 'urn:service:iam:user:resourceowner:id';
    assert.deepEqual({ ...one, [CLAIM]: null }, { ...other, [CLAIM]: null });
    assert.deepEqual([one?.[CLAIM], other?.[CLAIM]], [twins[0]?.orgId, twins[1]?.orgId]);
  }
});

test('without the API scope an access token is 401 on the API', async () => {
  const { access_token: token } = await tokensOf(api, client, { userId: org.userId, scope: 'openid profile' });
  assert.equal(await statusWith(api, token), 401);
});

test('the state is returned with the issuer (RFC 9207)', async () => {
  const { params } = await codeFlow(api, client, { userId: org.userId, params: { state: 'a b&c\0' } });
  assert.deepEqual([params.get('state'), params.get('iss')], ['a b&c\0', api.url]);
});

const json = { headers: { accept: 'application/json' } };

test('PKCE with S256 is required of every client', async () => {
  const publicClient = await addClient(api, { authMethod: 'none' });
  for (const app of [client, publicClient]) {
    for (const [params, words] of [
      [{ code_challenge: '', code_challenge_method: '' }, /PKCE/],
      [{ code_challenge_method: 'plain' }, /code_challenge_method/],
    ] as const) {
      const response = await new Browser().fetch(authorizeUrl(api, app, 'v'.repeat(43), { params }));
      const answer = new URL(response.headers.get('location') as string).searchParams;
      assert.equal(answer.get('error'), 'invalid_request');
      assert.match(answer.get('error_description') as string, words);
    }
  }
});

test('a code needs its verifier, its redirect URI and its client', async () => {
  const other = await addClient(api);
  const fresh = () => codeFlow(api, client, { userId: org.userId });
  const wrongs = [
    { flow: { ...(await fresh()), verifier: 'w'.repeat(43) }, by: client },
    { flow: await fresh(), by: { ...client, redirectUri: 'https://app.example.com/other' } },
    { flow: await fresh(), by: other },
    { flow: { ...(await fresh()), code: 'made-up' }, by: client },
  ];
  for (const { flow, by } of wrongs) {
    const answer = await redeem(api, by, flow);
    assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_grant']);
  }
});

test('a code is redeemed once; a second attempt revokes the tokens of the first', async () => {
  const flow = await codeFlow(api, client, { userId: org.userId });
  const first = await redeem(api, client, flow);
  assert.equal(first.status, 200);
  assert.equal((await redeem(api, client, flow)).body.error, 'invalid_grant');
  assert.equal(await statusWith(api, first.body.access_token), 401);
  const refresh = { grant_type: 'refresh_token', refresh_token: first.body.refresh_token };
  assert.equal((await tokenCall(api, refresh, client)).body.error, 'invalid_grant');
});

test('parallel redemptions of a code leave no valid token', async () => {
  for (let round = 0; round < 3; round++) {
    const flow = await codeFlow(api, client, { userId: org.userId });
    const answers = await Promise.all(Array.from({ length: 6 }, () => redeem(api, client, flow)));
    assert(answers.filter((answer) => answer.status === 200).length <= 1);
    assert(answers.every(({ status, body }) => status === 200 || body.error === 'invalid_grant'));
    for (const { body } of answers.filter((answer) => answer.status === 200)) {
      assert.equal(await statusWith(api, body.access_token), 401);
    }
  }
});

test('an expired code is refused', async () => {
  const flow = await codeFlow(api, client, { userId: org.userId });
  await api.deps.pool.query(
    `update oauth_models set payload = jsonb_set(payload::jsonb, '{exp}', '1')::json, expires_at = now() - interval '1 second'
     where kind = 'AuthorizationCode'`,
  );
  assert.equal((await redeem(api, client, flow)).body.error, 'invalid_grant');
});

test('an unknown client or redirect URI gives an error page, not a redirect', async () => {
  const verifier = 'v'.repeat(43);
  const unknown = { ...client, clientId: 'nobody' };
  const elsewhere = { ...client, redirectUri: 'https://evil.example.com/' };
  for (const [app, error] of [
    [unknown, 'invalid_client'],
    [elsewhere, 'invalid_redirect_uri'],
  ] as const) {
    const url = authorizeUrl(api, app, verifier, { params: { state: '<script>' } });
    const page = await new Browser().fetch(url);
    assert.equal(page.status, 400);
    assert.match(page.headers.get('content-type') as string, /^text\/html/);
    assert.match(page.headers.get('content-security-policy') as string, /default-src 'none'/);
    assert(!(await page.text()).includes('<script>'));
    const told = await new Browser().fetch(url, json);
    assert.equal(((await told.json()) as { error: string }).error, error);
  }
});

test('a redirect URI that is almost a registered one is not one', async () => {
  const registered = client.redirectUri;
  for (const redirectUri of [
    `${registered}/`,
    `${registered}?a=b`,
    `${registered}#x`,
    `${registered}/../evil`,
    registered.toUpperCase(),
    registered.replace('app.example.com', 'app.example.com.evil.example'),
    registered.replace('https', 'http'),
    registered.replace('app.example.com', 'app.example.com@evil.example'),
    registered.replace('/callback', ''),
    registered.replace('app.example.com', 'APP.example.com'),
    registered.replace('/callback', '//callback'),
    registered.replace('app.example.com', 'app.example.com:443'),
    registered.replace('/callback', '/%63allback'),
    '//evil.example',
    'javascript:alert(1)',
    `${registered} https://evil.example`,
    `${registered}\r\nX: y`,
  ]) {
    const response = await new Browser().fetch(authorizeUrl(api, { ...client, redirectUri }, 'v'.repeat(43)));
    assert.deepEqual([response.status, response.headers.get('location')], [400, null], redirectUri);
  }
});

test('a login gives the browser a new session, which somebody who planted the old one does not know', async () => {
  const browser = new Browser();
  await browser.fetch(`${api.url}/oidc/v1/end_session`);
  const planted = /=([^;]+)/.exec(browser.setCookie('muster_session') as string)?.[1];
  assert(planted);
  await codeFlow(api, client, { userId: org.userId, browser });
  const own = /=([^;]+)/.exec(browser.setCookie('muster_session') as string)?.[1];
  assert.notEqual(own, planted);
  const { Session } = api.deps.oauth.current();
  assert.equal(await Session.find(planted), undefined);
  assert.equal((await Session.find(own as string))?.accountId, org.userId);
});

test('a login that has ended shows only the expired page', async () => {
  const page = await new Browser().fetch(`${api.url}/oauth/v2/authorize/some-login`);
  assert.equal(page.status, 400);
  assert.match(await page.text(), /This sign‑in has expired/);
});

test('errors of the request are returned to the application', async () => {
  const url = (params: Record<string, string>) => authorizeUrl(api, client, 'v'.repeat(43), { params });
  for (const [params, error] of [
    [{ prompt: 'none' }, 'login_required'],
    [{ response_type: 'token' }, 'unsupported_response_type'],
    [{ request: 'x.y.z' }, 'request_not_supported'],
    [{ max_age: '-1' }, 'invalid_request'],
  ] as const) {
    const location = (await new Browser().fetch(url(params))).headers.get('location') as string;
    assert.equal(new URL(location.replace('#', '?')).searchParams.get('error'), error);
  }
});

test('a logged-in user is not asked again, unless the application requests it', async () => {
  const browser = new Browser();
  const first = await tokensOf(api, client, { userId: org.userId, browser });
  const again = (params: Record<string, string> = {}) =>
    browser.fetch(authorizeUrl(api, client, randomBytes(32).toString('base64url'), { params }));
  assert.equal(loginUid(await again()), undefined);
  assert.equal(loginUid(await again({ prompt: 'none' })), undefined);
  assert.equal(loginUid(await again({ prompt: 'consent' })), undefined);
  assert.equal(loginUid(await again({ max_age: '100' })), undefined);
  assert.equal(loginUid(await again({ id_token_hint: first.id_token })), undefined);
  assert(loginUid(await again({ prompt: 'login' })));
  assert(loginUid(await again({ max_age: '0' })));
  const other = await api.setupOrg();
  const theirs = await tokensOf(api, client, { userId: other.userId });
  assert(loginUid(await again({ id_token_hint: theirs.id_token })));
});

test('a login hint reaches the login page', async () => {
  const url = authorizeUrl(api, client, 'v'.repeat(43), { params: { login_hint: 'ann@acme' } });
  const uid = loginUid(await new Browser().fetch(url)) as string;
  const interaction = await api.deps.oauth.current().Interaction.find(uid);
  assert.equal(interaction?.params.login_hint, 'ann@acme');
});

test('a response by form post submits itself under a policy that allows only its script', async () => {
  const browser = new Browser();
  await tokensOf(api, client, { userId: org.userId, browser });
  const params = { response_mode: 'form_post' };
  const response = await browser.fetch(authorizeUrl(api, client, 'v'.repeat(43), { params }));
  const markup = await response.text();
  assert.match(markup, /<form method="post" action="https:\/\/app.example.com\/callback">/);
  assert.match(
    response.headers.get('content-security-policy') as string,
    /^default-src 'none';\s?script-src 'sha256-[\w+/=]+';\s?frame-ancestors 'none';\s?base-uri 'none'$/,
  );
});
