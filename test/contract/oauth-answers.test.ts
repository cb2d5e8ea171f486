import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Json } from './judge.ts';
import { type Judged, openJudged } from './judged.ts';
import { openWorld, type World } from './world.ts';

const GRANT = { grant_type: 'client_credentials', scope: 'openid urn:service:iam:org:project:id:service:aud' };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

describe('the responses of the authorization server', () => {
  let world: World;
  let judged: Judged;
  let client: string;

  before(async () => {
    world = await openWorld({ workers: false });
    judged = openJudged(world);
    const { orgId } = await world.api.setupOrg();
    const { userId } = await world.api.machine(orgId);
    const { body } = await world.api.call('PUT', `/management/v1/users/${userId}/secret`);
    client = `Basic ${Buffer.from(`${userId}:${body.clientSecret}`).toString('base64')}`;
  });
  after(() => world.stop());

  async function post(
    id: string,
    form: Record<string, string>,
    status: number,
    authorization: string | null = client,
  ): Promise<Json> {
    const { method, path } = world.operation(id);
    const sent = {
      method,
      path,
      headers: { ...FORM, ...(authorization ? { authorization } : {}) },
      body: String(new URLSearchParams(form)),
    };
    const answer = await judged.call(world.operation(id), sent, null);
    assert.equal(answer.status, status, `${id} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  async function get(id: string, status: number, token: string | null = null): Promise<Json> {
    const { method, path } = world.operation(id);
    const answer = await judged.call(world.operation(id), { method, path }, token);
    assert.equal(answer.status, status, `${id} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  it('match the document from the issue of a token to its revocation', async () => {
    const { access_token: token } = await post('token', GRANT, 200);
    assert.equal((await post('introspect', { token }, 200)).active, true);
    await post('revoke', { token }, 200);
    assert.equal((await post('introspect', { token }, 200)).active, false);
    await get('getUserInfo', 401, token);
  });

  it('match the document for requests without a client', async () => {
    assert.equal((await get('getDiscovery', 200)).issuer, world.api.url);
    assert.equal((await get('getServerMetadata', 200)).issuer, world.api.url);
    assert.ok((await get('getKeys', 200)).keys.length > 0);
    await get('endSession', 200);
    const device = await post('authorizeDevice', { client_id: 'muster-cli', scope: 'openid' }, 200, null);
    assert.equal(device.verification_uri, `${world.api.url}/ui/device`);
  });

  it('match the document for refused requests', async () => {
    await post('token', { grant_type: 'magic' }, 400);
    await post('token', GRANT, 401, 'Basic bm8tc3VjaDpjbGllbnQ=');
    await post('introspect', {}, 400);
    await post('authorizeDevice', { client_id: 'no-such-client' }, 401, null);
    await post('revoke', {}, 400);
    await get('authorize', 400);
    await get('getUserInfo', 401, 'no-such-token');
    await get('postUserInfo', 401, 'no-such-token');
  });
});
