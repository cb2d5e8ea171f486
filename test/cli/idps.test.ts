/** `muster idps`: identity providers of an organization and of the instance, with secrets from files. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { findIdp, type Idp, secretsOf } from '../../src/signin/providers/store.ts';
import { startApi, type TestApi } from '../support/api.ts';
import { runMuster } from '../support/processes/muster.ts';

let api: TestApi;
let folder: string;
before(async () => {
  api = await startApi();
  folder = await mkdtemp(join(tmpdir(), 'muster-idps-'));
});
after(async () => {
  await api.stop();
  await rm(folder, { recursive: true });
});

const muster = (args: string[], env: Record<string, string> = {}) =>
  runMuster(['idps', ...args], { env: { MUSTER_URL: api.url, MUSTER_TOKEN: api.token, ...env } });
const json = async (...args: string[]) => {
  const { stdout, stderr } = await muster([...args, '--json']);
  return JSON.parse(stdout || stderr);
};
const secretAt = async (id: string) =>
  secretsOf(api.deps.secrets, (await findIdp(api.deps.pool, id)) as Idp).clientSecret;

test('a provider of an organization is added by its preset, shown, changed and removed', async () => {
  const { orgId } = await api.setupOrg();
  const file = join(folder, 'google.secret');
  await writeFile(file, 'from a file\n');
  const google = ['--preset', 'google', '--client-id', 'client-1', '--client-secret-file', file, '--org', orgId];
  const added = await muster(['add', ...google, '--callback-path', '/login/callback']);
  assert.equal(added.code, 0, added.stderr);
  const [, id = ''] = /^provider id +(\S+)$/m.exec(added.stdout) ?? [];
  assert.match(added.stdout, new RegExp(`^redirect URI +${new URL(api.url).origin}/login/callback$`, 'm'));
  assert.equal(await secretAt(id), 'from a file');

  const shown = await muster(['show', id]);
  assert.match(shown.stdout, /^clientId +client-1$/m);
  assert.match(shown.stdout, /^secret +stored$/m);
  assert.ok(!shown.stdout.includes('from a file'));
  assert.match((await muster(['list', '--org', orgId])).stdout, new RegExp(`${id} +Google +google +on +google `));

  const changed = await muster(['update', id, '--alias', 'a', 'b', '--no-enabled'], { MUSTER_IDP_SECRET: 'another' });
  assert.equal(changed.code, 0, changed.stderr);
  assert.equal(await secretAt(id), 'another');
  const { idp } = await json('show', id);
  assert.deepEqual([idp.aliases, idp.isEnabled, idp.name], [['a', 'b'], false, 'Google']);

  assert.equal((await muster(['remove', id])).code, 2, 'without a terminal, --yes confirms');
  assert.equal((await muster(['remove', id, '--yes'])).code, 0);
  assert.equal((await json('show', id)).error.id, 'IDP-NOT-FOUND');
});

test('a provider of the instance, and one without discovery', async () => {
  const endpoints = ['authorization', 'token', 'userInfo'].map((name) => `${name}=https://hub.example/${name}`);
  const hub = ['--preset', 'oauth', '--client-id', 'c', '--endpoint', ...endpoints, '--field', 'email=mail'];
  const { idpId } = await json('add', 'Hub', ...hub, '--instance', '--linking', 'confirm');
  const { idp } = await json('show', idpId);
  assert.deepEqual(idp.endpoints, {
    authorization: 'https://hub.example/authorization',
    token: 'https://hub.example/token',
    userInfo: 'https://hub.example/userInfo',
  });
  assert.deepEqual([idp.fields.email, idp.linking, idp.details.resourceOwner], ['mail', 'confirm', 'instance']);
  assert.equal((await muster(['update', idpId, '--name', 'The hub'])).code, 0);
  assert.match((await muster(['list', '--instance'])).stdout, /The hub +oauth +on/);
  assert.equal((await muster(['remove', idpId, '--yes'])).code, 0);
});

test('what is wrong is said', async () => {
  const { orgId } = await api.setupOrg();
  const google = ['add', '--preset', 'google', '--client-id', 'c'];
  assert.equal((await muster([...google, '--org', orgId, '--instance'])).code, 2);
  assert.match(
    (await muster([...google, '--client-secret-file', join(folder, 'none')])).stderr,
    /cannot be read: ENOENT/,
  );
  assert.match((await muster([...google, '--endpoint', 'tokens=x'])).stderr, /--endpoint must be NAME=VALUE/);
  const unknown = await muster(['add', '--preset', 'oidc', '--client-id', 'c', '--org', orgId]);
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /issuer: is required/);
});

test('a provider that does not answer is said to be wrong, with exit code 1', async () => {
  const { idpId } = await json('add', 'Nowhere', '--preset', 'oidc', '--client-id', 'c', ...NOWHERE, '--instance');
  const checked = await muster(['check', idpId]);
  assert.equal(checked.code, 1, checked.stderr);
  assert.match(checked.stdout, /^wrong {2}discovery: The metadata of the provider could not be used: /m);
  assert.match(checked.stdout, /^ok {2}links: 0 links belong to it\.$/m);
});

const NOWHERE = ['--issuer', 'https://nowhere.invalid'];
