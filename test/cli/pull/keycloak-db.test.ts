/** `muster pull keycloak-db` into a running service: all users, resumption, changes, and what is refused. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { type Finished, runMuster } from '../../support/processes/muster.ts';
import { type Service, startService } from '../../support/processes/service.ts';
import { openTerminal, startMuster } from '../../support/processes/terminal.ts';
import { type FakeAnswer, startFake } from '../../support/pull/fake.ts';
import { addKeycloakUsers, createKeycloak, inSchema, KEYCLOAK_PASSWORD, REALM } from '../../support/pull/keycloak.ts';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { type TestDatabase, testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

const SCHEMA = 'keycloak';

/** The example of https://github.com/firebase/scrypt, whose password is `user1password`. */
const PARAMETERS = {
  algorithm: 'SCRYPT',
  signerKey: 'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==',
  saltSeparator: 'Bw==',
  rounds: 8,
  memoryCost: 14,
};
const HASHED = {
  salt: '42xEC+ixf3L2lw==',
  passwordHash: 'lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
};

interface Stage {
  service: Service;
  old: TestDatabase;
  orgId: string;
  folder: string;
  statePath: string;
  args: string[];
  env: Record<string, string>;
  password: string;
  /** Released before the old database is dropped. */
  held: (() => Promise<void>)[];
  pull(...more: string[]): Promise<Finished>;
  state(): Promise<{ run?: Record<string, unknown>; last?: { startedAt: string } }>;
}

async function stage(t: TestContext, service: Service, users: number): Promise<Stage> {
  const old = await testDatabase(t);
  await createKeycloak(old.pool, SCHEMA);
  await addKeycloakUsers(old.pool, SCHEMA, 1, users);
  const { orgId, ownerToken } = await service.newOrg();
  const held: (() => Promise<void>)[] = [];
  const folder = await mkdtemp(join(tmpdir(), 'muster-pull-'));
  t.after(async () => {
    for (const release of held) await release();
    await rm(folder, { recursive: true });
    await old.drop();
  });
  const url = new URL(old.url);
  const password = decodeURIComponent(url.password);
  url.password = '';
  const env = { MUSTER_URL: service.url, MUSTER_TOKEN: ownerToken, PULL_PASSWORD: password };
  const statePath = join(folder, 'state.json');
  // User ids are unique in the instance, so each stage has its own prefix.
  const where = ['--database', url.href, '--schema', SCHEMA, '--realm', REALM, '--id-prefix', `${orgId}-`];
  const args = ['pull', 'keycloak-db', ...where, '--org', orgId, '--state', statePath];
  return {
    service,
    old,
    orgId,
    folder,
    statePath,
    args,
    env,
    password,
    held,
    pull: (...more) => runMuster([...args, ...more], { env }),
    state: async () => JSON.parse(await readFile(statePath, 'utf8')),
  };
}

async function count(service: Service, orgId: string): Promise<number> {
  const { rows } = await service.pool.query('select count(*)::int as n from users where org_id = $1 and id like $2', [
    orgId,
    `${orgId}-kc-%`,
  ]);
  return rows[0].n;
}

/** Makes queries for users after this one wait until the function that it returns is called. */
async function holdReading({ pool }: TestDatabase, after: string): Promise<() => Promise<void>> {
  await inSchema(pool, SCHEMA, (client) =>
    client.query(`alter table credential rename to credential_rows;
      create function gate() returns boolean language plpgsql volatile as
        $$ begin perform pg_advisory_xact_lock_shared(7); return true; end $$;
      create view credential as select * from credential_rows where case when user_id > '${after}' then ${SCHEMA}.gate() else true end`),
  );
  const client = await pool.connect();
  await client.query('select pg_advisory_lock(7)');
  let isHeld = true;
  const release = async () => {
    if (!isHeld) return;
    isHeld = false;
    await client.query('select pg_advisory_unlock(7)');
    client.release();
  };
  return release;
}

test('users of Keycloak, straight from its database', async (t) => {
  const service = await startService(t, { backend: 'postgres' });

  await t.test('all users arrive with their passwords; a later run sends what changed', async (t) => {
    const { pull, orgId, old, statePath, state } = await stage(t, service, 25);
    const first = await pull('--batch', '10', '--page-size', '5', '--json');
    assert.equal(first.code, 0, first.stderr);
    const said = JSON.parse(first.stdout);
    assert.deepEqual([said.read, said.counts.succeeded, said.imports.length], [25, 25, 3]);
    assert.equal(await count(service, orgId), 25);
    const login = await service.login({ userId: `${orgId}-kc-000007` }, KEYCLOAK_PASSWORD);
    assert.equal(login.status, 201, JSON.stringify(login.body));
    const { body } = await service.call('GET', `/v2beta/users/${orgId}-kc-000007/metadata`);
    assert.match(JSON.stringify(body), /realmRoles.*team|team.*realmRoles/);
    assert.equal((await stat(statePath)).mode & 0o777, 0o600);
    assert.equal((await state()).run, undefined);
    assert.ok((await state()).last?.startedAt);

    // One user changes, one comes new, one is disabled: exactly these are sent.
    await addKeycloakUsers(old.pool, SCHEMA, 26, 26);
    await inSchema(old.pool, SCHEMA, (client) =>
      client.query(`update user_entity set last_name = 'Baker' where id = 'kc-000003';
        update user_entity set enabled = false where id = 'kc-000004'`),
    );
    const second = await pull('--since', 'last', '--json');
    assert.equal(second.code, 0, second.stderr);
    const { read, counts } = JSON.parse(second.stdout);
    assert.deepEqual([read, counts.total, counts.succeeded], [26, 3, 3]);
    const disabled = await service.call('GET', `/v2beta/users/${orgId}-kc-000004`);
    assert.match(JSON.stringify(disabled.body), /USER_STATE_INACTIVE/);

    const third = await pull('--json');
    assert.deepEqual(JSON.parse(third.stdout).counts.total, 0);
  });

  await t.test('users that fail are named, and sent again by the next run', async (t) => {
    const { pull, orgId, old } = await stage(t, service, 3);
    const break1 = `update user_entity set email = 'no address' where id = 'kc-000002'`;
    await inSchema(old.pool, SCHEMA, (client) => client.query(break1));
    const first = await pull();
    assert.equal(first.code, 3, first.stderr);
    assert.match(first.stdout, /Failed, by reason\n +1 {2}user\.email\.email: must be an email address.*line 2\)/);
    const mend = `update user_entity set email = 'kc2@shop.example' where id = 'kc-000002'`;
    await inSchema(old.pool, SCHEMA, (client) => client.query(mend));
    const second = await pull('--json');
    assert.equal(JSON.parse(second.stdout).counts.total, 1, second.stderr);
    assert.equal(await count(service, orgId), 3);
  });

  await t.test('stopped by Ctrl-C or killed in the middle, the same command continues from there', async (t) => {
    const { pull, orgId, args, env, state, folder, old, password, held } = await stage(t, service, 30);
    const release = await holdReading(old, 'kc-000020');
    held.push(release);
    const small = ['--batch', '10', '--page-size', '5'];
    const start = () => startMuster([...args, ...small], { env, cwd: folder });
    const running = start();
    const imports = async () => ((await state().catch(() => undefined))?.run?.imports as string[]) ?? [];
    await waitFor(async () => (await imports()).length === 2, { what: 'two imports' });
    const beside = await pull(...small);
    assert.equal(beside.code, 1, beside.stderr);
    assert.match(beside.stderr, /Another muster pull uses the state file .*state\.json \(process \d+ on /);
    running.kill('SIGINT');
    const { code, stderr } = await running.finished;
    assert.equal(code, 130, stderr);
    assert.match(stderr, /Interrupted\. The first 20 users read are finished, in import \d+, \d+\./);
    assert.match(stderr, /The same command continues from there; the state is in .*state\.json/);
    assert.ok(!stderr.includes(password));

    const second = start();
    await waitFor(() => /Going on after 20 users/.test(second.stderr()), { what: 'the second attempt' });
    second.kill('SIGKILL');
    await second.finished;
    assert.equal(await count(service, orgId), 20);
    await release();
    const third = await pull(...small, '--json');
    assert.equal(third.code, 0, third.stderr);
    const { counts, imports: all } = JSON.parse(third.stdout);
    assert.deepEqual([counts.total, all.length], [10, 3]);
    assert.equal(await count(service, orgId), 30);
    assert.equal((await state()).run, undefined);
  });

  await t.test('--follow sends each change until it is stopped', async (t) => {
    const { args, env, old, folder, orgId } = await stage(t, service, 5);
    const running = startMuster([...args, '--follow', '1s'], { env, cwd: folder });
    await waitFor(async () => (await count(service, orgId)) === 5, { what: 'the first round' });
    await addKeycloakUsers(old.pool, SCHEMA, 6, 8);
    await waitFor(async () => (await count(service, orgId)) === 8, { what: 'the new users' });
    running.kill('SIGTERM');
    assert.equal((await running.finished).code, 130);
  });

  await t.test('--out saves a file that import reads, and continues where it was cut off', async (t) => {
    const { orgId, env, folder, args } = await stage(t, service, 12);
    const file = join(folder, 'users.ndjson');
    const state = join(folder, 'out.state');
    const saving = args.filter((arg) => arg !== '--state' && arg !== args.at(-1));
    const command = [...saving, '--state', state, '--out', file, '--page-size', '5'];
    const { code, stdout, stderr } = await runMuster(command, { env });
    assert.equal(code, 0, stderr);
    assert.match(stdout, /12 users of Keycloak .*muster import .*--from keycloak/);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const whole = await readFile(file, 'utf8');
    // As a process leaves it that is killed after its first page: a page in the state, and half of the next one.
    const lines = whole.split('\n');
    const first = `${lines.slice(0, 5).join('\n')}\n`;
    await writeFile(`${file}.part`, `${first}${lines[5]?.slice(0, 40)}`);
    const { last: _, ...before } = JSON.parse(await readFile(state, 'utf8'));
    const cursor = JSON.parse(lines[4] as string).id;
    const run = { startedAt: new Date().toISOString(), cursor, read: 5, imports: [], bytes: Buffer.byteLength(first) };
    await writeFile(state, JSON.stringify({ ...before, run }));
    await rm(file);
    assert.equal((await runMuster(command, { env })).code, 0);
    assert.equal(await readFile(file, 'utf8'), whole);
    const prefix = ['--id-prefix', `${orgId}-`];
    const sent = await runMuster(['import', file, '--from', 'keycloak', '--org', orgId, ...prefix, '--watch'], { env });
    assert.equal(sent.code, 0, sent.stderr);
    assert.equal(await count(service, orgId), 12);
  });

  await t.test('a dry run writes neither users nor a state', async (t) => {
    const { pull, orgId, statePath } = await stage(t, service, 3);
    const { code, stderr, stdout } = await pull('--dry-run');
    assert.equal(code, 0, stderr);
    assert.match(stdout, /3 users read from Keycloak/);
    assert.equal(await count(service, orgId), 0);
    await assert.rejects(stat(statePath), { code: 'ENOENT' });
  });

  await t.test('what is refused, and why', async (t) => {
    const { pull, args, env, statePath, password } = await stage(t, service, 2);
    const refused = async (more: string[], code: number, what: RegExp, given: Record<string, string> = {}) => {
      const result = await runMuster([...args, ...more], { env: { ...env, ...given } });
      assert.equal(result.code, code, result.stderr);
      assert.match(result.stderr, what);
      assert.ok(!result.stderr.includes(password), 'the password is in the message');
    };
    await refused(['--realm', 'nowhere'], 1, /has no realm "nowhere"/);
    await refused(['--schema', 'public'], 1, /not those of Keycloak 8 or later/);
    await refused(['--since', '24h'], 2, /does not tell when a user was changed/);
    await refused(['--since', 'last'], 2, /no complete run before/);
    await refused(['--batch', '0'], 2, /--batch must be a number from 1/);
    await refused(['--follow', '5x'], 2, /--follow must be an interval/);
    await refused(['--page-size', '1e9'], 2, /--page-size must be a number/);
    await refused([], 4, /password|authentication/i, { PULL_PASSWORD: 'wrong' });
    const at = args.indexOf('--database') + 1;
    const url = new URL(args[at] as string);
    url.password = password;
    const withPassword = args.with(at, url.href);
    const leaked = await runMuster(withPassword, { env });
    assert.equal(leaked.code, 2);
    assert.match(leaked.stderr, /contains a password, which every user of this machine can read/);
    assert.ok(!leaked.stderr.includes(password));
    url.password = '';
    url.port = '1';
    const away = await runMuster(args.with(at, url.href), { env });
    assert.equal(away.code, 5, away.stderr);
    await writeFile(statePath, '{');
    await refused([], 2, /is not a state file/);
    await writeFile(statePath, JSON.stringify({ version: 1, from: 'elsewhere', to: 'there' }));
    await refused([], 2, /belongs to another pull, which reads elsewhere/);
    assert.equal((await pull('--restart')).code, 0);
  });

  await t.test(
    'users of Firebase: the parameters of their hashes come along, and a password source serves the rest',
    async (t) => {
      const { orgId, ownerToken } = await service.newOrg();
      const { url } = await startFake(t, ({ url }): FakeAnswer => {
        if (url.pathname === '/token') return { body: { access_token: 'bearer-1' } };
        if (url.pathname.endsWith('/config')) return { body: { signIn: { hashConfig: PARAMETERS } } };
        const users = [
          { ...HASHED, localId: `${orgId}-1`, email: `a@${orgId}.example` },
          { localId: `${orgId}-2`, email: `b@${orgId}.example` },
        ];
        return { body: { users } };
      });
      const pem = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
        type: 'pkcs8',
        format: 'pem',
      });
      const key = {
        client_email: 'reader@shop.example',
        project_id: 'shop',
        private_key: pem,
        token_uri: `${url}/token`,
      };
      const env = { MUSTER_URL: service.url, MUSTER_TOKEN: ownerToken, PULL_SERVICE_ACCOUNT: JSON.stringify(key) };
      const muster = async (...args: string[]) => {
        const { code, stdout, stderr } = await runMuster([...args, '--json'], { env });
        assert.equal(code, 0, stderr);
        return JSON.parse(stdout);
      };
      const create = ['create', 'Old', '--org', orgId, '--kind', 'http', '--set', 'url=https://gone.example.com/check'];
      const { sourceId } = await muster('password-sources', ...create);
      const change = ['--set', 'url=https://old.example.com/check', '--until', '30d', '--new-secret'];
      assert.match((await muster('password-sources', 'change', sourceId, ...change)).secret, /^whsec_/);
      const { passwordSource } = await muster('password-sources', 'show', sourceId);
      assert.deepEqual(
        [passwordSource.name, passwordSource.settings],
        ['Old', { url: 'https://old.example.com/check' }],
      );
      assert.ok(passwordSource.until);

      const folder = await mkdtemp(join(tmpdir(), 'muster-pull-'));
      t.after(() => rm(folder, { recursive: true }));
      const where = ['--host', url, '--org', orgId, '--state', join(folder, 'state.json')];
      const { counts } = await muster('pull', 'firebase', ...where, '--password-source', sourceId);
      assert.deepEqual([counts.total, counts.succeeded], [2, 2]);
      assert.equal((await service.login({ userId: `${orgId}-1` }, 'user1password')).status, 201);
      const { users } = await muster('password-sources', 'status', sourceId);
      assert.deepEqual(users, { remaining: 1, migrated: 0 });
    },
  );

  await t.test('a terminal asks for the password without showing it', async (t) => {
    if (!requireOrSkip(t, 'script')) return;
    const { args, env, password, folder, orgId } = await stage(t, service, 2);
    const { PULL_PASSWORD: _, ...without } = env as Record<string, string>;
    const terminal = openTerminal(t, args, { env: without, cwd: folder });
    await terminal.shows(/Password of the database \(not shown\): /);
    terminal.type(`${password}\r`);
    assert.equal(await terminal.ended, 0, terminal.text());
    assert.ok(!terminal.output().includes(password));
    assert.equal(await count(service, orgId), 2);
  });
});
