import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { applicationType, redirectUriProblem } from '../../src/contract/clients.ts';
import { tokenHash } from '../../src/platform/ids.ts';
import { findClient } from '../../src/signin/clients.ts';
import { badFieldsOf, errorId, startApi, type TestApi } from '../support/api.ts';

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.stop());

const PATH = '/admin/v1/clients';
const CALLBACK = 'https://app.example.com/callback';
const WEB = {
  name: 'Shop',
  redirectUris: [CALLBACK],
  grantTypes: ['authorization_code', 'refresh_token'],
  authMethod: 'client_secret_basic',
};

test('a client with a secret is registered, listed without it, and removed', async () => {
  const postLogoutRedirectUris = ['https://app.example.com/'];
  const { status, body } = await api.call('POST', PATH, { ...WEB, post_logout_redirect_uris: postLogoutRedirectUris });
  assert.deepEqual([status, Object.keys(body).sort()], [200, ['clientId', 'clientSecret', 'details']]);
  assert.equal(body.details.resourceOwner, 'instance');
  const { clientId } = body;
  const list = await api.call('GET', PATH);
  assert.deepEqual(list.body, {
    details: { totalResult: '1' },
    result: [
      {
        ...{ clientId, ...WEB, postLogoutRedirectUris, pkceRequired: true },
        ...{ claims: [], accessTokenType: 'opaque', details: body.details },
      },
    ],
  });
  assert(!JSON.stringify(list.body).includes(body.clientSecret));
  const secretHash = tokenHash(body.clientSecret);
  assert.deepEqual(await findClient(api.deps.pool, clientId), {
    clientId,
    ...WEB,
    postLogoutRedirectUris,
    pkceRequired: true,
    scopes: null,
    claims: [],
    accessTokenType: 'opaque',
    secretHash,
  });

  const removed = await api.call('DELETE', `${PATH}/${clientId}`);
  assert.deepEqual([removed.status, removed.body.details.resourceOwner], [200, 'instance']);
  assert.equal(await findClient(api.deps.pool, clientId), undefined);
  const again = await api.call('DELETE', `${PATH}/${clientId}`);
  assert.deepEqual([again.status, errorId(again)], [404, 'CLIENT-NOT-FOUND']);
  const { rows } = await api.deps.pool.query(
    `select type, payload from events where aggregate_type = 'client' and aggregate_id = $1 order by sequence`,
    [clientId],
  );
  assert.deepEqual(rows, [
    { type: 'client.added', payload: { name: 'Shop' } },
    { type: 'client.removed', payload: null },
  ]);
});

test('grants end with their client', async () => {
  const { pool } = api.deps;
  const { clientId } = (await api.call('POST', PATH, WEB)).body;
  const other = (await api.call('POST', PATH, WEB)).body.clientId;
  for (const id of [clientId, other]) {
    await pool.query(
      `insert into oauth_models (id_hash, kind, client_id, payload, expires_at)
       values ($1, 'AccessToken', $2, '{}', now() + interval '1 hour')`,
      [tokenHash(id), id],
    );
  }
  await api.call('DELETE', `${PATH}/${clientId}`);
  const { rows } = await pool.query('select client_id as id from oauth_models');
  assert.deepEqual(rows, [{ id: other }]);
  await api.call('DELETE', `${PATH}/${other}`);
});

test('a public client has no secret; names that published clients send for its method are accepted', async () => {
  for (const authMethod of ['none', 'OIDC_AUTH_METHOD_TYPE_NONE']) {
    const app = { ...WEB, redirectUris: ['com.example.shop:/callback'], authMethod };
    const { status, body } = await api.call('POST', PATH, app);
    assert.deepEqual([status, Object.keys(body).sort()], [200, ['clientId', 'details']]);
    const stored = await findClient(api.deps.pool, body.clientId);
    assert.deepEqual([stored?.authMethod, stored?.secretHash], ['none', null]);
  }
});

test('a client for machines needs no redirect URI', async () => {
  const robot = { name: 'Robot', grantTypes: ['client_credentials'], authMethod: 'client_secret_post' };
  const { status, body } = await api.call('POST', PATH, robot);
  assert.equal(status, 200);
  const stored = await findClient(api.deps.pool, body.clientId);
  assert.deepEqual([stored?.redirectUris, stored?.postLogoutRedirectUris], [[], []]);
});

test('repeated values are stored once', async () => {
  const twice = {
    ...WEB,
    redirectUris: [CALLBACK, CALLBACK],
    grantTypes: ['authorization_code', 'authorization_code'],
  };
  const { body } = await api.call('POST', PATH, twice);
  const stored = await findClient(api.deps.pool, body.clientId);
  assert.deepEqual([stored?.redirectUris, stored?.grantTypes], [[CALLBACK], ['authorization_code']]);
});

test('every invalid field is named, including those that contradict each other', async () => {
  const bad: [body: object, fields: string[]][] = [
    [{}, ['authMethod', 'grantTypes', 'name']],
    [{ ...WEB, name: '' }, ['name']],
    [{ ...WEB, name: 'x'.repeat(201) }, ['name']],
    [{ ...WEB, authMethod: 'private_key_jwt' }, ['authMethod']],
    [{ ...WEB, grantTypes: [] }, ['grantTypes']],
    [{ ...WEB, grantTypes: ['authorization_code', 'implicit'] }, ['grantTypes[1]']],
    [{ ...WEB, grantTypes: ['refresh_token'] }, ['grantTypes']],
    [{ ...WEB, grantTypes: ['client_credentials'], authMethod: 'none' }, ['grantTypes']],
    [{ ...WEB, redirectUris: undefined }, ['redirectUris']],
    [{ ...WEB, redirectUris: [] }, ['redirectUris']],
    [{ ...WEB, redirectUris: 'https://app.example.com' }, ['redirectUris']],
    [{ ...WEB, redirectUris: [CALLBACK, 'http://app.example.com/', 7] }, ['redirectUris[1]', 'redirectUris[2]']],
    [{ ...WEB, redirectUris: [`https://app.example.com/${'x'.repeat(2000)}`] }, ['redirectUris[0]']],
    [{ ...WEB, redirectUris: Array.from({ length: 51 }, (_, i) => `${CALLBACK}/${i}`) }, ['redirectUris']],
    [{ ...WEB, postLogoutRedirectUris: ['/'] }, ['postLogoutRedirectUris[0]']],
    [{ ...WEB, redirectUris: ['com.example.app:/', 'https://localhost/'] }, ['redirectUris']],
    [{ ...WEB, authMethod: 'none', pkceRequired: false }, ['pkceRequired']],
    [{ ...WEB, pkceRequired: 'no' }, ['pkceRequired']],
    [{ ...WEB, scopes: [] }, ['scopes']],
    [{ ...WEB, scopes: ['openid', 'admin'] }, ['scopes[1]']],
    [{ redirectUris: [], grantTypes: ['authorization_code'] }, ['authMethod', 'name', 'redirectUris']],
  ];
  for (const [body, fields] of bad) {
    const answer = await api.call('POST', PATH, body);
    assert.deepEqual([answer.status, errorId(answer), badFieldsOf(answer)], [400, 'CLIENT-INVALID', fields]);
  }
});

test('only an IAM_OWNER manages clients', async () => {
  const org = await api.setupOrg();
  const { token } = await api.machine(org.orgId, ['ORG_OWNER']);
  assert.equal((await api.call('POST', PATH, '{', { token })).status, 403);
  assert.equal((await api.call('GET', PATH, undefined, { token })).status, 403);
  assert.equal((await api.call('DELETE', `${PATH}/missing`, undefined, { token })).status, 403);
});

test('redirect URIs: https anywhere, http on loopback, private-use schemes', () => {
  for (const good of [
    CALLBACK,
    'https://app.example.com:8443/callback?tenant=7',
    'http://localhost:3000/callback',
    'http://127.0.0.1/callback',
    'http://[::1]:5000/callback',
    'com.example.app:/oauth2redirect',
    'COM.example.app://callback',
  ]) {
    assert.equal(redirectUriProblem(good), undefined, good);
  }
  for (const bad of [
    '/callback',
    'app.example.com/callback',
    'https:app.example.com',
    'https://',
    'https:\\\\app.example.com',
    ' https://app.example.com',
    'https://app.example.com/\n',
    'https://app.example.com/ä',
    'https://app.example.com/#',
    'https://app.example.com/#fragment',
    'https://ann:secret@app.example.com/',
    'http://app.example.com/',
    'http://localhost.example.com/',
    'http://127.0.0.2/',
    'myapp:/callback',
    'javascript:alert(1)',
    'data:text/html,x',
    'urn:ietf:wg:oauth:2.0:oob',
  ]) {
    assert.notEqual(redirectUriProblem(bad), undefined, bad);
  }
  assert.match(redirectUriProblem('http://app.example.com/') as string, /must be https/);
});

test('an app is native when only an app on a device can have such redirect URIs', () => {
  assert.equal(applicationType([CALLBACK], []), 'web');
  assert.equal(applicationType([], []), 'web');
  assert.equal(applicationType([CALLBACK, 'http://localhost:3000/'], []), 'web');
  assert.equal(applicationType(['http://localhost:3000/'], ['https://localhost/']), 'web');
  assert.equal(applicationType(['http://127.0.0.1/'], []), 'native');
  assert.equal(applicationType([CALLBACK, 'com.example.app:/'], []), 'native');
  assert.equal(applicationType([CALLBACK], ['com.example.app:/']), 'native');
});
