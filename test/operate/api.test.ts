/** What an API process counts itself: sign-ins and tokens. */
import assert from 'node:assert/strict';
import test, { after, before } from 'node:test';
import { type SetUp, startApi, type TestApi, unique } from '../support/api.ts';
import { tokenCall } from '../support/oauth.ts';
import { sample, scrape } from './served.ts';

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi({ env: { LOCK_AFTER_FAILURES: '2', LOGIN_DELAY_MS: '0' } });
  org = await api.setupOrg();
});
after(() => api.stop());

const value = async (series: string) => sample(await scrape(api.deps.metrics), series);

test('sign-ins are counted by outcome', async () => {
  const login = (loginName: string, password: string) =>
    api.call('POST', '/v2beta/sessions', { checks: { user: { loginName }, password: { password } } });
  await login(org.userName, org.password);
  await login('nobody', 'wrong password');
  await login(org.userName, 'wrong password');
  await login(org.userName, 'wrong password');
  await login(org.userName, org.password); // locked by now
  const outcomes = ['succeeded', 'unknown_user', 'wrong_password', 'locked_for_a_time', 'no_password'];
  const counts = await Promise.all(outcomes.map((outcome) => value(`muster_signins_total{outcome="${outcome}"}`)));
  assert.deepEqual(counts, [1, 1, 2, 1, 0]);
});

test('tokens are counted by grant type, refused requests are not', async () => {
  const name = unique('machine');
  const options = { orgId: org.orgId };
  const made = await api.call('POST', '/management/v1/users/machine', { userName: name, name }, options);
  const client = (await api.call('PUT', `/management/v1/users/${made.body.userId}/secret`)).body;
  const grant = { grant_type: 'client_credentials' };
  assert.equal((await tokenCall(api, grant, client)).status, 200);
  assert.equal((await tokenCall(api, grant, { ...client, clientSecret: 'wrong' })).status, 401);
  assert.equal((await tokenCall(api, { grant_type: 'made up' }, client)).status, 400);
  assert.equal(await value('muster_tokens_issued_total{grant_type="client_credentials"}'), 1);
  assert.equal(await value('muster_tokens_issued_total{grant_type="other"}'), undefined);
});
