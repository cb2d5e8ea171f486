import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test from 'node:test';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { openSecrets } from '../../../src/platform/encryption.ts';
import { StartError } from '../../../src/platform/errors.ts';
import { listen } from '../../../src/platform/http/server.ts';
import { currentKeys } from '../../../src/signin/oauth/keys.ts';
import { openProvider } from '../../../src/signin/oauth/provider.ts';
import { buildApp } from '../../../src/start/app.ts';
import { type SetUp, startApi, type TestApi } from '../../support/api.ts';
import { addClient, type TestClient, tokensOf } from '../../support/oauth.ts';
import { testDatabase } from '../../support/stores/postgres.ts';

/** A database without keys, and the dependencies to create some. */
async function setUp(t: { name: string; after(fn: () => unknown): void }) {
  const { pool, drop } = await testDatabase(t);
  t.after(drop);
  const secrets = openSecrets(randomBytes(32).toString('base64'));
  const deps = { pool, secrets, config: { SIGNING_KEY_ROTATE_DAYS: 90 } };
  const ids = async () => (await currentKeys(deps)).keys.map((key) => key.kid);
  /** Ages the keys. */
  const passed = (time: string) => pool.query(`update signing_keys set signs_from = signs_from - $1::interval`, [time]);
  return { pool, deps, ids, passed };
}

test('processes that start at once share one first key', async (t) => {
  const { deps, pool } = await setUp(t);
  const sets = await Promise.all(Array.from({ length: 6 }, () => currentKeys(deps)));
  assert.equal(new Set(sets.map((set) => set.version)).size, 1);
  const { rows } = await pool.query('select sealed_jwk from signing_keys');
  assert.equal(rows.length, 1);
  const secretPart = sets[0]?.keys[0]?.d as string;
  assert.equal(Buffer.from(sets[0]?.keys[0]?.n as string, 'base64url').length * 8, 3072);
  assert(secretPart.length > 300 && !rows[0].sealed_jwk.includes(secretPart));
});

test('the next key is published before it signs, the previous one as long as its signatures are valid', async (t) => {
  const { ids, passed, pool } = await setUp(t);
  const [first] = await ids();
  await passed('89 days');
  assert.deepEqual(await ids(), [first]);
  await passed('19 hours');
  const [signing, next] = await ids();
  assert.equal(signing, first);
  assert(next);
  await passed('6 hours');
  assert.deepEqual(await ids(), [next, first]);
  await passed('14 days');
  assert.deepEqual(await ids(), [next, first]);
  await passed('1 day');
  assert.deepEqual(await ids(), [next]);
  await passed('75 days');
  await ids();
  const { rows } = await pool.query('select id from signing_keys order by id');
  assert.equal(rows[0].id, next, 'the first one is removed');
});

test('processes that rotate at once create one key', async (t) => {
  const { deps, passed } = await setUp(t);
  await currentKeys(deps);
  await passed('90 days');
  await Promise.all(Array.from({ length: 6 }, () => currentKeys(deps)));
  assert.equal((await currentKeys(deps)).keys.length, 2);
});

test('a key that was not rotated in time signs until the next one has been published long enough', async (t) => {
  const { ids, passed } = await setUp(t);
  const [first] = await ids();
  await passed('400 days');
  assert.equal((await ids())[0], first);
  await passed('6 hours');
  assert.notEqual((await ids())[0], first);
});

test('keys of another ENCRYPTION_KEY stop the start with one message', async (t) => {
  const { deps } = await setUp(t);
  await currentKeys(deps);
  const secrets = openSecrets(randomBytes(32).toString('base64'));
  await assert.rejects(currentKeys({ ...deps, secrets }), (error: Error) => {
    assert(error instanceof StartError);
    assert.match(error.message, /ENCRYPTION_KEY/);
    return true;
  });
});

test('a running process signs with a key that another one created', async (t) => {
  const api: TestApi = await startApi();
  t.after(() => api.stop());
  const org: SetUp = await api.setupOrg();
  const client: TestClient = await addClient(api);
  // This one reads the keys with each request, a real one every ten seconds.
  const deps = { ...api.deps, oauth: await openProvider(api.deps, 0) };
  const server = await listen(buildApp(deps), { host: '127.0.0.1', port: 0 });
  t.after(() => server.stop(1000));
  const there = { ...api, deps, url: `http://127.0.0.1:${server.port}` };
  const oldToken = (await tokensOf(api, client, { userId: org.userId })).id_token;

  await api.deps.pool.query(`update signing_keys set signs_from = signs_from - interval '90 days'`);
  await currentKeys(api.deps);
  await api.deps.pool.query(`update signing_keys set signs_from = signs_from - interval '6 hours'`);
  const keys = async () =>
    ((await (await fetch(`${there.url}/oauth/v2/keys`)).json()) as { keys: { kid: string }[] }).keys;
  const [signing] = await keys();
  assert.notEqual(signing?.kid, decodeProtectedHeader(oldToken).kid);
  const jwks = createRemoteJWKSet(new URL(`${there.url}/oauth/v2/keys`));
  assert.equal((await jwtVerify(oldToken, jwks)).payload.sub, org.userId);
  const hint = await fetch(`${there.url}/oidc/v1/end_session?id_token_hint=${oldToken}`);
  assert.equal(hint.status, 200);
  const provider = deps.oauth.current();
  const { clientId } = client;
  const token = new provider.IdToken({ sub: org.userId }, { client: await provider.Client.find(clientId) });
  assert.equal(decodeProtectedHeader(await token.issue({ use: 'idtoken' })).kid, signing?.kid);
});
