/** Where the link of an email may lead. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Answer, badFieldsOf, errorId, type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { addClient } from '../../support/oauth.ts';
import { addVerified, allowUrl, lastMail, tokenOf, unsentMails } from './people.ts';

let api: TestApi;
let org: SetUp;
let manager: { token: string };
before(async () => {
  api = await startApi();
  org = await api.setupOrg();
  manager = await api.machine(org.orgId, ['ORG_USER_MANAGER']);
  await allowUrl(api, org.orgId, 'https://app.example.com');
});
after(() => api.stop());

const at = (userId: string, rest: string) => `/v2beta/users/${encodeURIComponent(userId)}/${rest}`;
const NEW = 'new@example.com';

type Send = (userId: string, urlTemplate: string, token: string) => Promise<Answer>;
const WAYS: Record<string, Send> = {
  'a new address': (userId, urlTemplate, token) =>
    api.call('POST', at(userId, 'email'), { email: NEW, sendCode: { urlTemplate } }, { token }),
  'a reset': (userId, urlTemplate, token) =>
    api.call('POST', at(userId, 'password_reset'), { sendLink: { urlTemplate } }, { token }),
  'a change of the user': (userId, urlTemplate, token) => {
    const path = `/v2beta/users/human/${encodeURIComponent(userId)}`;
    return api.call('PUT', path, { email: { email: NEW, sendCode: { urlTemplate } } }, { token });
  },
  'a code that is sent again': async (userId, urlTemplate, token) => {
    await api.deps.pool.query('update users set email_verified = false where id = $1', [userId]);
    return api.call('POST', at(userId, 'email/resend'), { sendCode: { urlTemplate } }, { token });
  },
  'a new user': (_, urlTemplate, token) => {
    const profile = { givenName: 'Bob', familyName: 'Burns' };
    const body = { profile, email: { email: `${Math.random()}@example.com`, sendCode: { urlTemplate } } };
    return api.call('POST', '/v2beta/users/human', body, { token });
  },
};

for (const [name, send] of Object.entries(WAYS)) {
  describe(`the link of ${name}`, () => {
    it('leads only where the organization allows it', async () => {
      const userId = await addVerified(api, org.orgId, 'old horse');
      const bad = await send(userId, 'https://evil.example/?u={{.UserID}}&c={{.Code}}', manager.token);
      assert.deepEqual([bad.status, errorId(bad)], [400, 'URL-TEMPLATE-NOT-ALLOWED']);
      assert.match(badFieldsOf(bad)[0] ?? '', /urlTemplate$/);
      assert.deepEqual(await unsentMails(api, userId), []);
      const template = 'https://app.example.com/x?u={{.UserID}}&c={{.Code}}';
      const good = await send(userId, template, manager.token);
      assert.equal(good.status, 200, JSON.stringify(good.body));
      assert.equal((await lastMail(api, good.body.userId ?? userId)).urlTemplate, template);
    });

    it('is not chosen by users themselves', async () => {
      const userId = await addVerified(api, org.orgId, 'old horse');
      const answer = await send(userId, 'https://app.example.com/{{.Code}}', await tokenOf(api, userId));
      assert.deepEqual([answer.status, await unsentMails(api, userId)], [403, []]);
    });
  });
}

it('another spelling of the origin, a placeholder in it, or another organization gains nothing', async () => {
  const userId = await addVerified(api, org.orgId, 'old horse');
  const reset = WAYS['a reset'] as Send;
  for (const template of [
    'https://app.example.com.evil.example/{{.Code}}',
    'https://app.example.com@evil.example/{{.Code}}',
    'https://app.example.com:444/{{.Code}}',
    'http://app.example.com/{{.Code}}',
    'https://app.example.com{{.UserID}}/{{.Code}}',
    'https://{{.UserID}}.example.com/{{.Code}}',
    'https://app.example.com:{{.UserID}}/{{.Code}}',
  ]) {
    assert.equal((await reset(userId, template, api.token)).status, 400, template);
  }
  assert.equal((await reset(userId, 'https://APP.example.com:443/{{.Code}}', api.token)).status, 200);
  const other = await api.setupOrg();
  assert.equal((await reset(other.userId, 'https://app.example.com/{{.Code}}', api.token)).status, 400);
});

it('the service itself and the redirect URIs of OAuth clients are allowed', async () => {
  const userId = await addVerified(api, org.orgId, 'old horse');
  const reset = WAYS['a reset'] as Send;
  assert.equal((await reset(userId, `${api.url}/own?c={{.Code}}`, manager.token)).status, 200);
  const template = 'https://shop.example.com/reset?c={{.Code}}';
  assert.equal((await reset(userId, template, manager.token)).status, 400);
  await addClient(api, { redirectUris: ['https://shop.example.com/callback'] });
  assert.equal((await reset(userId, template, manager.token)).status, 200);
});

describe('the allowed URLs', () => {
  const PATH = '/management/v1/orgs/me/allowed_urls';
  const put = (allowedUrls: unknown, orgId = org.orgId) => api.call('PUT', PATH, { allowedUrls }, { orgId });

  it('are origins, of the organization alone, and are replaced as a whole', async () => {
    const { orgId } = await api.setupOrg();
    const answer = await put(['https://a.example/', 'https://a.example', 'http://localhost:3000'], orgId);
    assert.deepEqual([answer.status, Object.keys(answer.body)], [200, ['details']]);
    const read = (await api.call('GET', PATH, undefined, { orgId })).body;
    assert.deepEqual(read.allowedUrls, ['https://a.example', 'http://localhost:3000']);
    assert.equal(read.details.sequence, answer.body.details.sequence);
    assert.equal((await put([], orgId)).status, 200);
    assert.deepEqual((await api.call('GET', PATH, undefined, { orgId })).body.allowedUrls, []);
  });

  it('name every bad entry', async () => {
    const bad = [
      'http://a.example',
      'https://a.example/path',
      'https://u@a.example',
      'javascript:1',
      '',
      'https://*.a.example/x',
    ];
    const answer = await put(bad);
    assert.deepEqual([answer.status, errorId(answer)], [400, 'ALLOWED-URLS']);
    assert.deepEqual(
      badFieldsOf(answer),
      bad.map((_, i) => `allowedUrls[${i}]`),
    );
    assert.deepEqual(badFieldsOf(await put(Array(51).fill('https://a.example'))), ['allowedUrls']);
  });
});
