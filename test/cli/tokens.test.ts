/** `muster tokens` and `muster clients` against a real API. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { expiryDate } from '../../src/cli/options.ts';
import { type SetUp, startApi, type TestApi, unique } from '../support/api.ts';
import { runMuster } from '../support/processes/muster.ts';

let api: TestApi;
let org: SetUp;
before(async () => {
  api = await startApi();
  org = await api.setupOrg({ org: { name: 'Acme Ltd' } });
});
after(() => api.stop());

const muster = (...args: string[]) => runMuster(args, { env: { MUSTER_URL: api.url, MUSTER_TOKEN: api.token } });
const me = async (token: string) => (await api.call('GET', '/management/v1/me', undefined, { token })).body;

test('a token for a new machine user works at once, with its role, until it is deleted', async () => {
  const name = unique('importer');
  const { code, stdout, stderr } = await muster(
    ...['tokens', 'create', '--new-machine', name, '--org', 'Acme Ltd', '--expires', '30d'],
  );
  assert.equal(code, 0, stderr);
  const token = stdout.trimEnd();
  assert.match(token, /^[\w-]{20,}$/);
  const { user, organizations } = await me(token);
  assert.deepEqual([user.username, organizations[0].id, organizations[0].roles], [name, org.orgId, ['ORG_OWNER']]);
  assert.ok(stderr.includes(user.userId) && !stderr.includes(token));

  const listed = await muster('tokens', 'list', '--user', name);
  const [, tokenId, ends] = /^(\S+) +\S+ +(\S+)$/m.exec(listed.stdout.split('\n')[1] as string) ?? [];
  assert.ok(Math.abs(Date.parse(ends as string) - Date.now() - 30 * 86_400_000) < 60_000);
  assert.ok(!listed.stdout.includes(token));

  assert.equal((await muster('tokens', 'delete', tokenId as string, '--user', name)).code, 0);
  assert.equal((await me(token)).message, 'A valid bearer token is needed.');
  assert.match((await muster('tokens', 'list', '--user', name)).stdout, /^None\.$/m);
});

test('create takes another role, or IAM_OWNER, and makes a second token for an existing user', async () => {
  for (const [role, isInstance] of [
    ['ORG_OWNER_VIEWER', false],
    ['IAM_OWNER', true],
  ] as const) {
    const args = ['tokens', 'create', '--new-machine', unique('m'), '--org', org.orgId, '--role', role, '--json'];
    const made = JSON.parse((await muster(...args)).stdout);
    const { instanceRoles, organizations } = await me(made.token);
    assert.deepEqual([instanceRoles, organizations.length], isInstance ? [['IAM_OWNER'], 0] : [[], 1]);
    const second = await muster('tokens', 'create', '--user', made.userId);
    assert.equal((await me(second.stdout.trim())).user.userId, made.userId);
  }
});

test('conflicting options are refused before anything is created', async () => {
  const before = await machines();
  for (const args of [
    ['--expires', '30d'],
    ['--new-machine', 'x'],
    ['--user', 'x', '--new-machine', 'y', '--org', 'z'],
    ['--user', 'x', '--role', 'ORG_OWNER'],
    ['--new-machine', 'x', '--org', org.orgId, '--role', 'KING'],
    ['--new-machine', 'x', '--org', org.orgId, '--expires', 'soon'],
    ['--new-machine', 'x', '--org', 'nowhere'],
  ]) {
    assert.equal((await muster('tokens', 'create', ...args)).code, 2, args.join(' '));
  }
  assert.equal(await machines(), before);
  const human = await muster('tokens', 'create', '--user', org.userId);
  assert.match(human.stderr, /PAT-NOT-A-MACHINE/);
});

async function machines(): Promise<string> {
  return (await api.deps.pool.query(`select count(*) as n from users where kind = 'machine'`)).rows[0].n;
}

test('an expiry is given as a duration, a date or a timestamp', () => {
  const now = Date.parse('2027-01-01T00:00:00Z');
  const said = (text: string) => expiryDate(text, now);
  assert.equal(said('90d'), '2027-04-01T00:00:00.000Z');
  assert.equal(said('12h'), '2027-01-01T12:00:00.000Z');
  assert.equal(said('2w'), '2027-01-15T00:00:00.000Z');
  assert.equal(said('2027-01-31'), '2027-01-31T23:59:59.000Z');
  assert.equal(said('2027-01-31T12:00:00+01:00'), '2027-01-31T11:00:00.000Z');
  for (const bad of ['', '0d', 'soon', '2026-12-31', '90', '2027-13-01', '1y', '2027', '-1d']) {
    assert.throws(() => said(bad), /not a future date or time/, bad);
  }
});

test('clients: one with a secret, one without, listed and deleted', async () => {
  const shop = await muster('clients', 'create', 'Shop', '--redirect-uri', 'https://shop.example.com/callback');
  const [, clientId, secret] = /^client id +(\S+)\nclient secret +(\S+)\n$/.exec(shop.stdout) ?? [];
  assert.ok(clientId && secret, shop.stderr);
  const phone = JSON.parse(
    (
      await muster(
        ...['clients', 'create', 'App', '--redirect-uri', 'com.example.app:/a', '--redirect-uri', 'com.example.app:/b'],
        ...['--auth', 'none', '--grant', 'authorization_code', '--json'],
      )
    ).stdout,
  );
  assert.equal(phone.clientSecret, undefined);
  const listed = await muster('clients', 'list');
  assert.ok(!listed.stdout.includes(secret));
  const row = (id: string) => listed.stdout.split('\n').find((line) => line.startsWith(id));
  assert.match(row(clientId) as string, /Shop +client_secret_basic +authorization_code refresh_token +https:/);
  assert.match(
    row(phone.clientId) as string,
    /App +none +authorization_code +com.example.app:\/a com.example.app:\/b$/,
  );

  const claims = async (...args: string[]) => {
    const { code, stderr } = await muster('clients', 'update', clientId, ...args);
    const shown = JSON.parse((await muster('clients', 'list', '--json')).stdout);
    const entry = shown.result.find((one: { clientId: string }) => one.clientId === clientId);
    return { code, stderr, entry };
  };
  const { entry } = await claims('--claims', 'keycloak', '--name', 'Portal');
  assert.deepEqual([entry.name, entry.accessTokenType, entry.claims[2].claim], ['Portal', 'jwt', 'groups']);
  const own = await claims('--claim', 'dep=metadata.department', '--in', 'id_token', '--access-token', 'opaque');
  assert.deepEqual(own.entry.claims, [{ claim: 'dep', from: 'metadata.department', in: ['id_token'] }]);
  assert.equal(own.entry.accessTokenType, 'opaque');
  const wrong = await claims('--claim', 'sub=user.id');
  assert.notEqual(wrong.code, 0);
  assert.match(wrong.stderr, /claims\[0\]\.claim must not be a claim that says who the user is/);
  assert.equal((await claims('--claim', 'dep')).code, 2);
  assert.deepEqual((await claims('--claims', 'none')).entry.claims, []);
  assert.equal((await muster('clients', 'delete', clientId)).code, 2, 'there is no terminal to ask on');
  assert.equal((await muster('clients', 'delete', clientId, '--yes')).code, 0);
  assert.ok(!(await muster('clients', 'list')).stdout.includes(clientId));
  assert.match((await muster('clients', 'delete', clientId, '--yes')).stderr, /CLIENT-NOT-FOUND/);
  const bad = await muster('clients', 'create', 'Bad', '--redirect-uri', 'http://shop.example.com/');
  assert.match(bad.stderr, /redirectUris.*https/);
});
