/** Users from Cognito, Firebase, Entra and FusionAuth, each played by a server that speaks the documented protocol. */
import assert from 'node:assert/strict';
import { createVerify, generateKeyPairSync } from 'node:crypto';
import test from 'node:test';
import { awsSignature } from '../../../../src/sources/pull/http.ts';
import { cognito } from '../../../../src/sources/pull/systems/cognito.ts';
import { entra } from '../../../../src/sources/pull/systems/entra.ts';
import { firebase } from '../../../../src/sources/pull/systems/firebase.ts';
import { fusionauth } from '../../../../src/sources/pull/systems/fusionauth.ts';
import { type FakeAnswer, type FakeRequest, startFake } from '../../../support/pull/fake.ts';
import { readAll } from '../../../support/pull/read.ts';

const DENIED = { name: 'PullError', trouble: 'denied' };
const ids = (records: readonly Record<string, unknown>[], key = 'id') => records.map((record) => record[key]);

test('Cognito: signed requests, pages by token, a limit that looks like a mistake', async (t) => {
  const users = [1, 2, 3, 4, 5].map((n) => ({ Username: `u${n}`, Enabled: true, UserStatus: 'CONFIRMED' }));
  const keys = { id: 'AKIDEXAMPLE', secret: 'hidden' };
  let limited = 1;
  const { url, requests } = await startFake(t, ({ method, url, headers, body }): FakeAnswer | undefined => {
    if (headers['x-amz-target'] !== 'AWSCognitoIdentityProviderService.ListUsers') return undefined;
    const time = String(headers['x-amz-date']);
    const now = new Date(time.replace(/^(....)(..)(..T..)(..)/, '$1-$2-$3:$4:'));
    const given = { 'content-type': String(headers['content-type']), 'x-amz-target': headers['x-amz-target'] };
    const request = { method, url, headers: given, body, region: 'eu-central-1', service: 'cognito-idp' };
    if (headers.authorization !== awsSignature(request, keys, now).authorization) {
      const message = 'The request signature we calculated does not match the signature you provided.';
      return { status: 400, body: { __type: 'InvalidSignatureException', message } };
    }
    const message = 'Rate exceeded';
    if (limited-- > 0) {
      const body = { __type: 'com.amazonaws.cognito#TooManyRequestsException', message };
      return { status: 400, headers: { 'retry-after': '0' }, body };
    }
    const { UserPoolId, Limit, PaginationToken = '0' } = JSON.parse(body);
    if (UserPoolId !== 'eu-central-1_aBcD1234')
      return { status: 400, body: { __type: 'ResourceNotFoundException', message: 'User pool does not exist.' } };
    const end = Number(PaginationToken) + Limit;
    const next = end < users.length ? { PaginationToken: String(end) } : {};
    return { body: { Users: users.slice(Number(PaginationToken), end), ...next } };
  });
  const options = { host: url, pool: 'eu-central-1_aBcD1234', 'page-size': '2' };
  const secrets = { keyId: keys.id, secret: keys.secret };
  const { pages, records } = await readAll(cognito, { options, secrets });
  assert.deepEqual(records, users);
  assert.deepEqual([pages.length, requests.length], [3, 4]);
  await assert.rejects(readAll(cognito, { options, secrets: { ...secrets, secret: 'wrong' } }), DENIED);
  const other = { ...options, pool: 'eu-central-1_gone' };
  await assert.rejects(readAll(cognito, { options: other, secrets }), {
    trouble: 'failed',
    message: 'Cognito answered 400: User pool does not exist.',
  });
  await assert.rejects(readAll(cognito, { options: { ...options, pool: 'users' }, secrets }), /--pool must be the id/);
});

test('Firebase: a signed assertion, pages by token, the parameters of the hashes', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const users = [1, 2, 3].map((n) => ({ localId: `f${n}`, email: `f${n}@shop.example` }));
  const hashConfig = { algorithm: 'SCRYPT', signerKey: 'c2lnbg==', saltSeparator: 'Bw==', rounds: 8, memoryCost: 14 };
  let mayReadParameters = true;
  const isSigned = ({ body }: FakeRequest) => {
    const form = new URLSearchParams(body);
    const [header = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.');
    const { iss, aud, iat, exp } = JSON.parse(Buffer.from(claims, 'base64url').toString());
    return (
      form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:jwt-bearer' &&
      createVerify('sha256').update(`${header}.${claims}`).verify(publicKey, signature, 'base64url') &&
      iss === 'reader@shop.example' &&
      aud === `${url}/token` &&
      exp - iat <= 3600
    );
  };
  const { url } = await startFake(t, (request): FakeAnswer | undefined => {
    const { pathname, searchParams } = request.url;
    if (pathname === '/token') {
      if (isSigned(request)) return { body: { access_token: 'bearer-1', expires_in: 3599 } };
      return { status: 400, body: { error: 'invalid_grant', error_description: 'Invalid JWT Signature.' } };
    }
    if (request.headers.authorization !== 'Bearer bearer-1') return { status: 401 };
    if (pathname === '/admin/v2/projects/shop/config') {
      if (mayReadParameters) return { body: { signIn: { hashConfig } } };
      return { status: 403, body: { error: { code: 403, message: 'The caller does not have permission' } } };
    }
    if (pathname === '/v2/projects/shop/tenants/acme') return { body: { hashConfig: { ...hashConfig, rounds: 4 } } };
    if (!/^\/v1\/projects\/shop(?:\/tenants\/acme)?\/accounts:batchGet$/.test(pathname)) return undefined;
    const [from, size] = [Number(searchParams.get('nextPageToken') ?? 0), Number(searchParams.get('maxResults'))];
    const next = from + size < users.length ? { nextPageToken: String(from + size) } : {};
    return {
      body: { kind: 'identitytoolkit#DownloadAccountResponse', users: users.slice(from, from + size), ...next },
    };
  });
  const keyOf = (key: typeof privateKey) =>
    JSON.stringify({
      ...{
        type: 'service_account',
        project_id: 'shop',
        client_email: 'reader@shop.example',
        token_uri: `${url}/token`,
      },
      private_key: key.export({ type: 'pkcs8', format: 'pem' }),
    });
  const options = { host: url, 'page-size': '2' };
  const secrets = { key: keyOf(privateKey) };
  const all = await readAll(firebase, { options, secrets });
  assert.deepEqual(all.records, users);
  assert.deepEqual(
    ids((await readAll(firebase, { options, secrets, cursor: all.pages[0]?.cursor })).records, 'localId'),
    ['f3'],
  );
  assert.match(all.hashConfig ?? '', /"signerKey":"c2lnbg==".*"rounds":8.*"memCost":14/);
  const tenant = await readAll(firebase, { options: { ...options, tenant: 'acme' }, secrets });
  assert.match(tenant.hashConfig ?? '', /"rounds":4/);
  mayReadParameters = false;
  const without = await readAll(firebase, { options, secrets });
  assert.equal(without.hashConfig, undefined);
  assert.match(without.notes.join(), /firebaseauth\.configs\.getHashConfig/);
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  await assert.rejects(readAll(firebase, { options, secrets: { key: keyOf(other) } }), {
    message: 'Firebase answered 400: Invalid JWT Signature.',
  });
  await assert.rejects(
    readAll(firebase, { options, secrets: { key: '{"client_email":"hunter2"}' } }),
    (error: Error) => {
      return /PULL_SERVICE_ACCOUNT must be/.test(error.message) && !error.message.includes('hunter2');
    },
  );
});

test('Entra: pages by their links, throttling, and changes by the delta query', async (t) => {
  const users = [1, 2, 3].map((n) => ({ id: `e${n}`, displayName: `Ann ${n}` }));
  let limited = 1;
  let next = 'none';
  const { url, requests } = await startFake(t, (request): FakeAnswer | undefined => {
    const { pathname, searchParams } = request.url;
    const base = `${url}/v1.0`;
    if (pathname === '/acme.example/oauth2/v2.0/token') {
      const form = new URLSearchParams(request.body);
      const isRight = form.get('client_secret') === 'good' && form.get('scope') === `${url}/.default`;
      if (isRight) return { body: { access_token: 'bearer-1', expires_in: 3599 } };
      return { status: 401, body: { error: 'invalid_client', error_description: 'AADSTS7000215: Invalid secret.' } };
    }
    if (request.headers.authorization !== 'Bearer bearer-1') return { status: 401 };
    if (limited-- > 0)
      return {
        status: 429,
        headers: { 'retry-after': '0' },
        body: { error: { code: 'TooManyRequests', message: '' } },
      };
    if (pathname === '/v1.0/users') {
      const [from, top] = [Number(searchParams.get('$skiptoken') ?? 0), Number(searchParams.get('$top') ?? 2)];
      const link = { '@odata.nextLink': next === 'none' ? `${base}/users?$skiptoken=${from + top}` : next };
      return { body: { value: users.slice(from, from + top), ...(from + top < users.length ? link : {}) } };
    }
    if (pathname !== '/v1.0/users/delta') return undefined;
    const token = searchParams.get('$deltatoken');
    if (token === 'old')
      return {
        status: 410,
        body: { error: { code: 'syncStateNotFound', message: 'Sync state generation is not found' } },
      };
    if (token === 'd1') {
      const value = [
        { id: 'e2', displayName: 'Bob' },
        { id: 'e3', '@removed': { reason: 'changed' } },
      ];
      return { body: { value, '@odata.deltaLink': `${base}/users/delta?$deltatoken=d2` } };
    }
    // The first page is empty although others follow, as Graph may answer.
    if (searchParams.has('$skiptoken'))
      return { body: { value: users, '@odata.deltaLink': `${base}/users/delta?$deltatoken=d1` } };
    return { body: { value: [], '@odata.nextLink': `${base}/users/delta?$skiptoken=2` } };
  });
  const options = { host: url, 'login-host': url, tenant: 'acme.example', 'client-id': 'app', 'page-size': '2' };
  const secrets = { secret: 'good' };
  const all = await readAll(entra, { options: { ...options, select: 'extension_1_team, city' }, secrets });
  assert.deepEqual(all.records, users);
  assert.deepEqual(
    all.pages.map(({ mark }) => mark),
    [undefined, undefined],
  );
  const select = requests.find(({ url }) => url.pathname === '/v1.0/users')?.url.searchParams.get('$select');
  assert.match(select ?? '', /^id,accountEnabled,.*identities,extension_1_team,city$/);
  await assert.rejects(readAll(entra, { options, secrets: { secret: 'bad' } }), DENIED);
  next = 'https://graph.evil.example/v1.0/users?$skiptoken=2';
  await assert.rejects(readAll(entra, { options, secrets }), /leads to another host/);

  const asked = { ...options, changes: 'delta' };
  const first = await readAll(entra, { options: asked, secrets });
  const mark = first.pages.at(-1)?.mark;
  assert.deepEqual([first.records, mark], [users, `${url}/v1.0/users/delta?$deltatoken=d1`]);
  assert.equal(requests.at(-1)?.headers.prefer, 'odata.maxpagesize=2');
  const changed = await readAll(entra, { options: asked, secrets, since: mark });
  assert.deepEqual(changed.records, [{ id: 'e2', displayName: 'Bob' }]);
  assert.match(changed.pages[0]?.mark ?? '', /d2$/);
  const late = await readAll(entra, { options: asked, secrets, since: `${url}/v1.0/users/delta?$deltatoken=old` });
  assert.deepEqual([late.records, late.notes.length], [users, 1]);
  assert.notEqual(first.identity, all.identity);
});

test('FusionAuth: pages with both search engines', async (t) => {
  const users = [1, 2, 3, 4, 5].map((n) => ({ id: `u${n}`, active: true }));
  let engine: 'elasticsearch' | 'database' = 'elasticsearch';
  const { url, requests } = await startFake(t, ({ method, url, headers, body }): FakeAnswer | undefined => {
    if (method !== 'POST' || url.pathname !== '/api/user/search') return undefined;
    if (headers.authorization !== 'key') return { status: 401 };
    const { numberOfResults, startRow = 0, nextResults, queryString, sortFields } = JSON.parse(body).search;
    const isNext = nextResults !== undefined;
    // As documented: the token excludes the query and its order.
    if (isNext && (engine === 'database' || startRow > 0 || queryString !== undefined || sortFields !== undefined))
      return { status: 400, body: { fieldErrors: { 'search.nextResults': [{ code: '[invalid]' }] } } };
    const from = isNext ? Number(Buffer.from(nextResults, 'base64').toString().slice(1)) : startRow;
    const found = users.slice(from, from + numberOfResults);
    const token = Buffer.from(`n${from + found.length}`).toString('base64');
    const more = engine === 'elasticsearch' && found.length > 0 ? { nextResults: token } : {};
    return { body: { total: users.length, users: found, ...more } };
  });
  const options = { host: url, tenant: 't1', 'page-size': '2' };
  const secrets = { token: 'key' };
  for (engine of ['elasticsearch', 'database'] as const) {
    const { pages, records } = await readAll(fusionauth, { options, secrets });
    assert.deepEqual([records, pages.length], [users, 3], engine);
    const rest = await readAll(fusionauth, { options, secrets, cursor: pages[0]?.cursor });
    assert.deepEqual(ids(rest.records), ['u3', 'u4', 'u5'], engine);
  }
  assert.ok(requests.every(({ headers }) => headers['x-fusionauth-tenantid'] === 't1'));
  await assert.rejects(readAll(fusionauth, { options, secrets: { token: 'bad' } }), DENIED);
});
