/**
 * `muster users erase` names a user by login name, and one who was deleted before by id; `muster users reset-factors`
 * removes all factors.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startApi, type TestApi } from '../support/api.ts';
import { runMuster } from '../support/processes/muster.ts';

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.stop());

const users = (...args: string[]) =>
  runMuster(['users', ...args], { env: { MUSTER_URL: api.url, MUSTER_TOKEN: api.token } });
const erase = (...args: string[]) => users('erase', ...args);

test('erases by login name, after a confirmation', async () => {
  const { userId, userName } = await api.setupOrg();
  assert.match((await erase(userName)).stderr, /--yes/);
  const { code, stdout } = await erase(userName, '--yes');
  assert.deepEqual([code, (await api.call('GET', `/v2beta/users/${userId}`)).status], [0, 404]);
  assert.match(
    stdout,
    new RegExp(`^User ${userId} is deleted\\. Workers now replace the id by erased:[\\w-]{22}\\.\\n$`),
  );
});

test('erases a user who was deleted before, by id', async () => {
  const { userId } = await api.setupOrg();
  await api.call('DELETE', `/v2beta/users/${userId}`);
  const { erasedId } = JSON.parse((await erase(userId, '--yes', '--json')).stdout);
  assert.equal(JSON.parse((await erase(userId, '--yes', '--json')).stdout).erasedId, erasedId, 'asked twice');
  assert.match((await erase('nobody@example.com', '--yes')).stderr, /USER-NOT-FOUND/);
});

test('resets the factors of a user after a confirmation, once', async () => {
  const { userId, userName } = await api.setupOrg();
  const path = `/v2beta/users/${userId}`;
  await api.call('POST', `${path}/totp`, {});
  assert.match((await users('reset-factors', userName)).stderr, /--yes/);
  const { code, stdout } = await users('reset-factors', userName, '--yes');
  assert.deepEqual([code, stdout], [0, `User ${userId} has no factors besides the password any more.\n`]);
  assert.deepEqual((await api.call('POST', `${path}/authentication_factors/_search`)).body.result, []);
  assert.match((await users('reset-factors', userName, '--yes')).stderr, /FACTORS-NOT-FOUND/);
});
