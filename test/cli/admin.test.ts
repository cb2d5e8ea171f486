/** `muster admin recover`: from no administrator who can sign in to one who does, with the settings of the service. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { startApi, type TestApi, unique } from '../support/api.ts';
import { runMuster } from '../support/processes/muster.ts';

const ENCRYPTION_KEY = randomBytes(32).toString('base64');
const NEW_PASSWORD = 'a new horse battery';

let api: TestApi;
before(async () => {
  api = await startApi({ env: { ENCRYPTION_KEY } });
});
after(() => api.stop());

function recover(args: string[], env: Record<string, string | undefined> = {}) {
  const settings = { DATABASE_URL: api.deps.config.DATABASE_URL, ENCRYPTION_KEY, BASE_URL: api.url, ...env };
  return runMuster(['admin', 'recover', ...args], { env: settings });
}

async function recovered(...args: string[]) {
  const { code, stdout, stderr } = await recover([...args, '--json']);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

/** Sets a password with the code of the link, which opens a page, and signs in with it. */
async function signInWith(link: string, loginName: string) {
  const page = await fetch(link);
  assert.deepEqual([page.status, new URL(link).pathname], [200, '/ui/reset']);
  const [userId, code] = ['userId', 'code'].map((name) => new URL(link).searchParams.get(name) as string);
  const path = `/v2beta/users/${encodeURIComponent(userId as string)}/password`;
  const body = { newPassword: { password: NEW_PASSWORD }, verificationCode: code };
  const set = await api.call('POST', path, body, { token: null });
  assert.equal(set.status, 200, JSON.stringify(set.body));
  assert.equal((await api.call('POST', path, body, { token: null })).status, 400, 'the link works once');
  const checks = { user: { loginName }, password: { password: NEW_PASSWORD } };
  assert.equal((await api.call('POST', '/v2beta/sessions', { checks })).status, 201);
}

async function owners(): Promise<string[]> {
  const { body } = await api.call('POST', '/admin/v1/members/_search', { query: { limit: 1000 } });
  return body.result.map(({ userId }: { userId: string }) => userId);
}

async function events(userId: string) {
  const { body } = await api.call('POST', '/admin/v1/events/_search', { userId, asc: true });
  return body.result.map((event: { type: string; actor: { kind: string } }) => [event.type, event.actor.kind]);
}

test('a deactivated person becomes IAM_OWNER, active, without second factor, with a link', async () => {
  const { userId, userName, orgId } = await api.setupOrg();
  await api.call('POST', `/v2beta/users/${userId}/deactivate`, {});
  await api.deps.pool.query(`insert into user_totp (user_id, secret, confirmed_at) values ($1, 'x', now())`, [userId]);
  const { rows } = await api.deps.pool.query('select primary_domain from organizations where id = $1', [orgId]);
  const loginName = `${userName}@${rows[0].primary_domain}`;
  const { link, changes, ...rest } = await recovered(loginName.toUpperCase(), '--remove-second-factor');
  assert.deepEqual(changes, ['reactivated', 'secondFactorRemoved', 'madeOwner']);
  assert.deepEqual([rest.userId, rest.loginName], [userId, loginName]);
  await signInWith(link, loginName);
  assert.ok((await owners()).includes(userId));
  const found = await events(userId);
  for (const type of ['user.reactivated', 'user.human.factors.reset', 'instance.member.added']) {
    assert.ok(
      found.some(([name, kind]: string[]) => name === type && kind === 'system'),
      `${type} of ${JSON.stringify(found)}`,
    );
  }
  const { rows: audited } = await api.deps.pool.query(
    `select actor_kind, user_id, payload from audit_events where type = 'instance.administrator.recovered'`,
  );
  assert.equal(audited.length, 1);
  assert.equal(audited[0].user_id, userId);
  assert.match(audited[0].payload.by, /.+@.+/);
  assert.doesNotMatch(JSON.stringify(audited), new RegExp(new URL(link).searchParams.get('code') as string));
});

test('whoever is locked by failures or by hand is unlocked, and only told what changed', async () => {
  const { userId, userName } = await api.setupOrg();
  await api.call('POST', `/v2beta/users/${userId}/lock`, {});
  assert.deepEqual((await recovered(userId)).changes, ['unlocked', 'madeOwner']);
  const again = await recover([userId]);
  assert.match(again.stderr, /is IAM_OWNER and active already/);
  assert.match(again.stdout, /^http:\/\/127\.0\.0\.1:\d+\/ui\/reset\?userId=\S+\n$/);
  await signInWith(again.stdout.trim(), userName);
});

test('where nobody is left, a person is created', async () => {
  const address = `${unique('ops')}@example.com`;
  const { userId, link, changes } = await recovered(address, '--create');
  assert.deepEqual(changes, ['created']);
  await signInWith(link, address);
  assert.ok((await owners()).includes(userId));
  const taken = await recover([address, '--create']);
  assert.deepEqual([taken.code, /Leave out --create/.test(taken.stderr)], [2, true]);
});

test('the machine user of the first start gets a token for a day', async () => {
  const { token, changes, expiresAt } = await recovered('muster-admin');
  assert.deepEqual(changes, []);
  assert.equal((await api.call('POST', '/admin/v1/members/_search', {}, { token })).status, 200);
  assert.ok(Math.abs(Date.parse(expiresAt) - Date.now() - 24 * 3_600_000) < 60_000);
});

test('nothing is changed for nobody, for several, for no address, or with another key or version', async () => {
  const name = unique('twice');
  for (const _ of [1, 2]) await api.setupOrg({ human: { userName: name } });
  const before = await owners();
  const refused = async (args: string[], problem: RegExp, env = {}) => {
    const { code, stdout, stderr } = await recover(args, env);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, problem);
  };
  await refused(['nobody@example.com'], /no user with the id, login name or address nobody@example\.com/);
  await refused([name], /Several users .* Name one by id: .* of /);
  await refused(['Ops', '--create'], /must be an email address/);
  await refused(['muster-admin'], /Set DATABASE_URL, ENCRYPTION_KEY/, { ENCRYPTION_KEY: undefined });
  const { pool } = api.deps;
  await pool.query(`insert into encryption_keys (id) values ('of-other')`);
  await refused(['muster-admin'], /needs the encryption key with the id of-other/);
  await pool.query('delete from encryption_keys');
  await pool.query('update migrations set id = id - 900');
  await refused(['muster-admin'], /Use the version that the service has/);
  await pool.query('update migrations set id = id + 900');
  assert.deepEqual(await owners(), before);
});

test('somebody of a deactivated organization is refused, as they could not sign in', async () => {
  const { userId, orgId } = await api.setupOrg();
  await api.call('POST', '/management/v1/orgs/me/_deactivate', undefined, { orgId });
  const refused = await recover([userId]);
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, new RegExp(`organization ${orgId} is deactivated`));
  assert.ok(!(await owners()).includes(userId));
});
