/**
 * The commands of docs/operations.md and docs/deployment.md, as they stand there, in their order, against servers with
 * passwords and TLS. A block that this does not run says why.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../../src/platform/db/embedded/embedded.ts';
import { openPool } from '../../src/platform/db/pool.ts';
import { makeCertificate } from '../support/certificate.ts';
import { freePort } from '../support/free-port.ts';
import { bulk, OLD_PASSWORD, people } from '../support/imports/bodies.ts';
import { baseEnv } from '../support/processes/base-env.ts';
import { startService } from '../support/processes/service.ts';
import { requireOrSkip } from '../support/runner/programs.ts';
import { startDistributionServer } from '../support/stores/distribution.ts';
import { requirePasswords, startTlsRedis, useTls } from '../support/stores/tls.ts';
import { waitFor } from '../support/wait.ts';
import { blocksOf, inlineOf } from './commands.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CLUSTER = 'needs a container engine or a cluster; test/deploy/chart, image and compose.test.ts try what they can';

/** Blocks by the beginning of their first line, and why they are not run. */
const NOT_RUN: Readonly<Record<string, string>> = {
  'docker build ': CLUSTER,
  'kubectl create namespace muster': CLUSTER,
  'helm install ': CLUSTER,
  'helm upgrade ': CLUSTER,
};

/** In the place of programs that belong to the machine: what they are told is in `calls`, or is done here. */
const PROGRAMS = {
  npm: `case "$1" in
  ci) test -f package-lock.json && ln -s "$ROOT/node_modules" node_modules ;;
  start) cd "$ROOT" && exec node src/main.ts ;;
  run) shift 3; cd "$ROOT" && exec node src/cli/main.ts "$@" ;;
  *) exit 64 ;;
esac`,
  runuser:
    'shift 3; PGHOST=localhost PGPORT="$PG_PORT" PGUSER=postgres PGPASSWORD="$PG_PASSWORD" PGSSLMODE=verify-full PGSSLROOTCERT="$CA" exec "$@"',
  systemctl: `echo "$*" >> "$FOLDER/calls"
case "$*" in
  'start muster-migrate') cd "$FOLDER/opt/muster/current" && exec node src/start/migrate.ts ;;
  list-units*) echo "muster-api@$API_PORT.service loaded active running Muster" ;;
esac`,
};
/** The embedded PostgreSQL may be newer than the machine's pg_dump: this connects with its arguments. */
const PG_DUMP = `for arg; do case "$arg" in --host=*|--port=*|--username=*) set -- "$@" "$arg" ;; --file=*) file=\${arg#*=} ;; esac; shift; done
psql "$@" --dbname=muster --no-align --tuples-only --command='select 1' > "$file"`;

interface Machine {
  folder: string;
  env: Record<string, string | undefined>;
}

async function machine(t: TestContext): Promise<Machine> {
  const folder = await mkdtemp(join(tmpdir(), 'muster-commands-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o711); // the embedded PostgreSQL runs as another user
  const bin = join(folder, 'bin');
  await Promise.all([mkdir(bin), mkdir(join(folder, 'etc/systemd/system'), { recursive: true })]);
  await symlink(join(ROOT, 'deploy'), join(folder, 'deploy'));
  for (const [name, script] of Object.entries(PROGRAMS)) await program(bin, name, script);
  const path = `${bin}:${ROOT}node_modules/.bin:${process.env.PATH}`;
  const git = {
    GIT_DIR: execFileSync('git', ['rev-parse', '--absolute-git-dir'], { cwd: ROOT, encoding: 'utf8' }).trim(),
  };
  return { folder, env: { ...baseEnv(), ...git, PATH: path, ROOT, FOLDER: folder, HOME: folder, LOG_LEVEL: 'warn' } };
}

async function program(bin: string, name: string, script: string): Promise<void> {
  await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** Starts a block in a shell that ends at the first command that fails. */
function start({ folder, env }: Machine, block: string, more: Record<string, string> = {}) {
  const here = block
    .replaceAll('/opt/muster', `${folder}/opt/muster`)
    .replaceAll(/(?<=[\s="])\/etc\//g, `${folder}/etc/`);
  const child = spawn('bash', ['-eu', '-c', here], {
    cwd: folder,
    env: { ...env, ...more },
    detached: true,
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (said += text));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, said }));
  /** Ends the shell and what it runs. */
  const end = () => child.exitCode === null && process.kill(-(child.pid as number), 'SIGTERM');
  return { ended, end };
}

async function run(on: Machine, block: string, more?: Record<string, string>): Promise<string> {
  const { code, said } = await start(on, block, more).ended;
  assert.equal(code, 0, `${block}\n${said}`);
  return said;
}

test('every command of the documentation is run, or says why not', async (t) => {
  for (const name of ['postgres', 'redis', 'bash', 'git'] as const) if (!requireOrSkip(t, name)) return;
  const [operations, deployment] = await Promise.all(
    ['operations', 'deployment'].map((page) => readFile(join(ROOT, `docs/${page}.md`), 'utf8')),
  );
  const blocks = [...blocksOf(deployment ?? '', 'sh'), ...blocksOf(operations ?? '', 'sh')];
  /** The block that begins so; each is taken once. */
  const take = (beginning: string) => {
    const at = blocks.findIndex((block) => block.startsWith(beginning));
    assert.notEqual(at, -1, `no block begins with ${beginning}`);
    return blocks.splice(at, 1)[0] as string;
  };
  const on = await machine(t);
  const { certificate, key } = makeCertificate(on.folder);
  const usual = getCACertificates('default');
  setDefaultCACertificates([...usual, await readFile(certificate, 'utf8')]);
  t.after(() => setDefaultCACertificates(usual));
  const server = await startDistributionServer();
  t.after(() => server.stop());
  await useTls(server.url, certificate, key);
  await requirePasswords(server.url);
  const { port, password: adminPassword } = new URL(server.url);
  const options = `?sslmode=verify-full&sslrootcert=${certificate}`;
  const address = (login: string, database: string) => `postgres://${login}@localhost:${port}/${database}${options}`;
  const admin = `postgres:${adminPassword}`;
  const rolePassword = randomBytes(12).toString('hex');
  const redis = await startTlsRedis(t, { certificate, key, password: 'a secret/of Redis' });
  const secrets = {
    ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    BOOTSTRAP_TOKEN: randomBytes(24).toString('hex'),
  };
  Object.assign(on.env, secrets, {
    CA: certificate,
    NODE_EXTRA_CA_CERTS: certificate,
    PG_PORT: port,
    PG_PASSWORD: adminPassword,
  });
  Object.assign(on.env, { DATABASE_URL: address(`muster:${rolePassword}`, 'muster'), REDIS_URL: redis.url });
  const asAdmin = openPool(address(admin, 'postgres'), { max: 1 });
  t.after(() => asAdmin.end());
  await asAdmin.query('drop database muster');

  await t.test('machines with systemd', async () => {
    await run(on, take('mkdir -p /opt/muster/1.0.0'));
    await stat(join(on.folder, 'opt/muster/current/src/start/api.ts'));
    await run(on, take('MUSTER_PASSWORD=').replace('MUSTER_PASSWORD=...', `MUSTER_PASSWORD=${rolePassword}`));
    await run(on, take('install -D'));
    assert.equal((await stat(join(on.folder, 'etc/muster/muster.env'))).mode & 0o777, 0o600);
    await run(on, take('install --mode=0644'));
    await stat(join(on.folder, 'etc/systemd/system/muster-api@.service'));
    await run(on, take('systemctl enable --now'));
  });

  const pool = openPool(on.env.DATABASE_URL as string, { max: 4 });
  t.after(() => pool.end());
  const database = { url: on.env.DATABASE_URL as string, pool };
  const env = { ...secrets, NODE_EXTRA_CA_CERTS: certificate };
  const service = await startService(t, { backend: 'redis', redisUrl: redis.url, database, env, ownProcesses: true });
  const { orgId } = await service.newOrg();
  await service.imported(bulk(orgId, people('kept', 20)));

  await t.test('the upgrade, and the backup, while the service runs', async () => {
    await run(on, take('mkdir -p /opt/muster/1.1.0'), { API_PORT: new URL(service.url).port });
    const calls = (await readFile(join(on.folder, 'calls'), 'utf8')).split('\n');
    assert.ok(calls.includes(`restart muster-api@${new URL(service.url).port}.service`), calls.join());
    assert.equal(calls.filter((call) => call === 'start muster-migrate').length, 2);
    await run(on, take('pg_dump '));
    const embedded = await startEmbeddedPostgres({ dataDir: join(on.folder, '.muster') });
    await mkdir(join(on.folder, 'dump'));
    await program(join(on.folder, 'dump'), 'pg_dump', PG_DUMP);
    const kept = join(on.folder, 'muster.dump');
    const dump = await readFile(kept);
    await run(on, take('PGPASSWORD=$(cat'), { PATH: `${on.folder}/dump:${on.env.PATH}` }).finally(() =>
      embedded.stop(),
    );
    assert.equal(await readFile(kept, 'utf8'), '1\n');
    await writeFile(kept, dump);
  });

  await t.test('the restore, after everything was lost', async (t) => {
    for (const each of service.processes) each.kill('SIGTERM');
    await Promise.all(service.processes.map(({ exited }) => exited));
    const restored = { ADMIN_URL: address(admin, 'postgres'), RESTORED_ADMIN_URL: address(admin, 'muster_restored') };
    const more = { ...restored, RESTORED_URL: address(`muster:${rolePassword}`, 'muster_restored') };
    const apiPort = await freePort();
    const url = `http://127.0.0.1:${apiPort}`;
    const started = start(on, take('createdb'), { ...more, PORT: `${apiPort}`, DATA_DIR: join(on.folder, 'data') });
    t.after(async () => {
      started.end();
      await started.ended;
    });
    const isOver = started.ended.then(({ said }) => Promise.reject(new Error(said)));
    const isReady = waitFor(async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok, {
      what: 'the restored service',
    });
    await Promise.race([isReady, isOver]);
    const again = await service.call(
      'POST',
      '/v2beta/sessions',
      { checks: { user: { userId: 'id-kept7' }, password: { password: OLD_PASSWORD } } },
      { url },
    );
    assert.equal(again.status, 201, JSON.stringify(again.body));
    const { importId } = (await service.call('POST', '/admin/v1/import', bulk(orgId, people('later', 20)), { url }))
      .body;
    const state = async () =>
      (await service.call('GET', `/admin/v1/imports/${importId}`, undefined, { url })).body.state;
    await waitFor(async () => (await state()) === 'IMPORT_STATE_SUCCEEDED', { what: 'an import after the restore' });
    assert.ok((await redis.keys('muster-restored:*')).length > 0, 'its jobs had the new prefix');
    for (const query of blocksOf(operations ?? '', 'sql')) {
      await asAdmin.query('select 1');
      await run(on, 'psql --no-psqlrc -v ON_ERROR_STOP=1 --dbname="$RESTORED_ADMIN_URL" --command="$QUERY"', {
        ...more,
        QUERY: query.replace("'ID'", "'id-kept7'"),
      });
    }
  });

  await t.test('the commands in sentences', async () => {
    const found = inlineOf(`${operations}\n${deployment}`, /^npm run muster -- /);
    assert.deepEqual(found, [
      'npm run muster -- keys lost',
      'npm run muster -- keys lost --yes',
      'npm run muster -- keys rotate',
      'npm run muster -- keys status',
    ]);
    for (const line of found) await run(on, line);
  });

  const unexplained = blocks.filter((block) => !Object.keys(NOT_RUN).some((beginning) => block.startsWith(beginning)));
  assert.deepEqual(unexplained, [], 'these blocks are neither run nor in NOT_RUN');
  const unused = Object.keys(NOT_RUN).filter((beginning) => !blocks.some((block) => block.startsWith(beginning)));
  assert.deepEqual(unused, [], 'these reasons have no block any more');
});
