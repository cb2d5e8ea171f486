import assert from 'node:assert/strict';
import test, { after, before, type TestContext } from 'node:test';
import { type Hasher, openHasher } from '../../src/passwords/hasher.ts';
import { ConfigError, readConfig } from '../../src/platform/config.ts';
import { callerOfToken } from '../../src/signin/authenticate.ts';
import { bootstrap } from '../../src/signin/bootstrap.ts';
import { testDatabase } from '../support/stores/postgres.ts';

let hasher: Hasher;
before(() => {
  hasher = openHasher({ threads: 1, bcryptCost: 4 });
});
after(() => hasher.close());

async function start(t: TestContext, env: Record<string, string>) {
  const { pool, drop } = await testDatabase(t);
  t.after(drop);
  const deps = { pool, config: readConfig(env), hasher };
  return { pool, boot: () => bootstrap(deps), deps };
}

const TOKEN = 'a-token-of-at-least-32-characters';

test('the first start sets up the instance, later ones change nothing', async (t) => {
  const { pool, boot } = await start(t, { BOOTSTRAP_TOKEN: TOKEN });
  assert.deepEqual(await boot(), { created: true, unused: [] });
  const caller = await callerOfToken(pool, TOKEN);
  assert.deepEqual([caller?.isIamOwner, caller?.orgId], [true, 'muster']);
  const { rows } = await pool.query('select name, primary_domain from organizations');
  assert.deepEqual(rows, [{ name: 'Muster', primary_domain: 'muster.localhost' }]);
  const events = async () => (await pool.query('select count(*) from events')).rows[0].count;
  const before = await events();
  assert.deepEqual(await boot(), { created: false, unused: [] });
  assert.equal(await events(), before);
});

test('without BOOTSTRAP_TOKEN one is generated and shown once', async (t) => {
  const { pool, boot } = await start(t, {});
  const { created, token } = await boot();
  assert.equal(created, true);
  assert.match(token ?? '', /^[\w-]{43}$/);
  assert.equal((await callerOfToken(pool, token as string))?.isIamOwner, true);
  assert.deepEqual(await boot(), { created: false, unused: [] });
});

test('of several processes that start at once, one sets it up', async (t) => {
  const { pool, boot } = await start(t, {});
  const results = await Promise.all([boot(), boot(), boot(), boot()]);
  assert.deepEqual(results.map((r) => r.created).sort(), [false, false, false, true]);
  assert.equal(results.filter((r) => r.token).length, 1);
  assert.equal((await pool.query('select count(*) from users')).rows[0].count, '1');
});

test('the first human is an IAM_OWNER who is active and verified, and no mail is due', async (t) => {
  const { pool, boot } = await start(t, { ADMIN_EMAIL: 'ann@localhost', ADMIN_PASSWORD: 'correct horse' });
  await boot();
  const { rows } = await pool.query(
    `select u.state, u.email_verified, u.password_hash, i.roles from users u join instance_members i on i.user_id = u.id
     where u.email = 'ann@localhost'`,
  );
  const { password_hash: hash, ...user } = rows[0];
  assert.deepEqual(user, { state: 'active', email_verified: true, roles: ['IAM_OWNER'] });
  assert.deepEqual(await hasher.verify(hash, 'correct horse'), { ok: true, rehash: false });
  assert.equal((await pool.query('select from mail_outbox')).rowCount, 0);
});

test('an administrator without a password, with a common one or with an invalid address is refused, and nothing is created', async (t) => {
  for (const env of [
    { ADMIN_EMAIL: 'a@b' },
    { ADMIN_PASSWORD: 'x' },
    { ADMIN_EMAIL: 'Ann <a@b>', ADMIN_PASSWORD: 'correct horse' },
    { ADMIN_EMAIL: 'ann@localhost', ADMIN_PASSWORD: 'Password1' },
    { ADMIN_EMAIL: 'ann@localhost', ADMIN_PASSWORD: 'Ann@localhost' },
  ]) {
    const { pool, boot } = await start(t, env as Record<string, string>);
    await assert.rejects(boot(), ConfigError);
    assert.equal((await pool.query('select from organizations')).rowCount, 0);
  }
});

test('a later start is quiet once the deleted token of the first administrator is no longer set', async (t) => {
  const { pool, boot, deps } = await start(t, { BOOTSTRAP_TOKEN: TOKEN });
  await boot();
  assert.equal((await pool.query('delete from personal_access_tokens')).rowCount, 1);
  assert.deepEqual(await boot(), { created: false, unused: ['BOOTSTRAP_TOKEN'] });
  const without = { ...deps, config: readConfig({ BOOTSTRAP_TOKEN: '' }) };
  assert.deepEqual(await bootstrap(without), { created: false, unused: [] });
  assert.equal((await pool.query('select from personal_access_tokens')).rowCount, 0, 'none is made');
});

test('a later start names the settings that were changed since the first, or whose administrator is gone', async (t) => {
  const first = { BOOTSTRAP_TOKEN: TOKEN, ADMIN_EMAIL: 'ann@localhost', ADMIN_PASSWORD: 'correct horse' };
  const { pool, boot, deps } = await start(t, first);
  assert.deepEqual((await boot()).unused, []);
  const later = async (env: Record<string, string>) =>
    (await bootstrap({ ...deps, config: readConfig({ ...first, ...env }) })).unused;
  assert.deepEqual(await later({ ADMIN_PASSWORD: 'another horse' }), []);
  assert.deepEqual(await later({ ADMIN_EMAIL: 'ANN@localhost' }), []);
  assert.deepEqual(await later({ ADMIN_EMAIL: 'eve@localhost' }), ['ADMIN_EMAIL']);
  assert.deepEqual(await later({ BOOTSTRAP_TOKEN: `${TOKEN}-2` }), ['BOOTSTRAP_TOKEN']);
  await pool.query(`update users set state = 'inactive' where kind = 'machine'`);
  assert.deepEqual((await boot()).unused, ['BOOTSTRAP_TOKEN']);
  await pool.query('delete from instance_members');
  assert.deepEqual((await boot()).unused, ['BOOTSTRAP_TOKEN', 'ADMIN_EMAIL']);
});
