/**
 * The image, built by the steps of the Dockerfile: its processes import users as a user without rights, while every
 * folder but /data is read-only.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { must, openCalls } from '../../support/calls.ts';
import { freePort } from '../../support/free-port.ts';
import { requireOrSkip } from '../../support/runner/programs.ts';
import { testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';
import { build, type Image } from './dockerfile.ts';

/** In a mount namespace of its own: all is read-only but the folder that is /data. Then root gives up all rights. */
const CONFINE = `mount --make-rprivate / && mount --bind "$DATA_DIR" "$DATA_DIR"
  awk '{ print $2 }' /proc/mounts | while read -r at; do
    [ "$at" = "$DATA_DIR" ] || mount -o remount,bind,ro "$at" 2>/dev/null || true
  done
  ! touch "$PWD/written" 2>/dev/null || { echo 'the folder is not read-only' >&2; exit 99; }
  exec setpriv --reuid="\${USER%:*}" --regid="\${USER#*:}" --clear-groups --no-new-privs --bounding-set=-all \\
    --inh-caps=-all "$@"`;

function start({ root, workdir, env, user }: Image, node: string, args: string[], more: Record<string, string>) {
  const settings = { ...env, HOST: '127.0.0.1', ...more, DATA_DIR: join(root, 'data'), USER: user };
  return spawn('unshare', ['--mount', 'bash', '-c', CONFINE, 'confine', node, ...args], {
    cwd: join(root, workdir),
    env: { PATH: process.env.PATH, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

const outputs = new Map<ChildProcess, string>();
function keepOutput(child: ChildProcess): ChildProcess {
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text) => outputs.set(child, (outputs.get(child) ?? '') + text));
  return child;
}

/** mysql2 has it as a peer, so npm installs it with the packages of the server. */
const PEER_OF_MYSQL2 = '@types/node';

test('the image', async (t) => {
  if (!requireOrSkip(t, 'mount')) return;
  const folder = mkdtempSync(join(tmpdir(), 'muster-image-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  const image = build(folder);
  const app = join(image.root, image.workdir);
  // The base image has it where everybody may run it.
  const node = join(folder, 'node');
  copyFileSync(process.execPath, node);

  await t.test('it has the program, its packages and their bill of materials, and nothing else', () => {
    const { version, dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
    const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8'));
    const expected = ['LICENSE', 'deploy', 'docs', 'node_modules', 'package.json', 'sbom.cdx.json', 'src', 'workers'];
    assert.deepEqual(readdirSync(app).sort(), expected);
    assert.deepEqual(readdirSync(join(app, 'deploy')), ['health.ts']);
    assert.deepEqual(readdirSync(join(app, 'docs')), ['sources']);
    const tools = Object.keys(devDependencies).filter((name) => name !== PEER_OF_MYSQL2);
    for (const name of tools) assert.ok(!existsSync(join(app, 'node_modules', name)), name);
    const { bomFormat, components } = JSON.parse(readFileSync(join(app, 'sbom.cdx.json'), 'utf8'));
    assert.equal(bomFormat, 'CycloneDX');
    const listed = new Set(components.map((one: { name: string; version: string }) => `${one.name}@${one.version}`));
    for (const name of Object.keys(dependencies)) {
      assert.ok(listed.has(`${name}@${packages[`node_modules/${name}`].version}`), name);
    }
    assert.equal(image.labels['org.opencontainers.image.version'], version);
    assert.equal(image.labels['org.opencontainers.image.licenses'], 'Apache-2.0');
    assert.equal(image.user, '1000:1000');
  });

  await t.test('its processes migrate, import and stop, and write to /data only', async (t) => {
    const { url, drop } = await testDatabase();
    // Over TCP: the folder of the socket is closed to other users.
    const databaseUrl = new URL(url);
    databaseUrl.searchParams.delete('host');
    const token = randomBytes(24).toString('hex');
    const [port, health] = [await freePort(), await freePort()];
    const settings = {
      DATABASE_URL: databaseUrl.href,
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      BOOTSTRAP_TOKEN: token,
      PORT: String(port),
      HEALTH_PORT: String(health),
    };
    const running: ChildProcess[] = [];
    const run = (...args: string[]) => {
      const child = keepOutput(start(image, node, args, settings));
      running.push(child);
      return child;
    };
    t.after(async () => {
      for (const child of running) child.kill('SIGKILL');
      await drop();
    });
    const ended = async (child: ChildProcess) => {
      const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode];
      assert.equal(code, 0, outputs.get(child));
    };

    await ended(run('src/start/migrate.ts'));
    assert.equal(image.command[0], 'node');
    const api = run(...image.command.slice(1));
    const worker = run('--max-semi-space-size=32', '--heap-growing-percent=60', 'workers/all-in-one.ts');
    for (const at of [port, health]) {
      const isHealthy = async () => {
        const check = run('deploy/health.ts', `http://127.0.0.1:${at}/readyz`);
        const [code] = await once(check, 'exit');
        return code === 0;
      };
      await waitFor(isHealthy, { what: `a healthy process: ${[api, worker].map((one) => outputs.get(one))}` });
    }
    const status = readFileSync(`/proc/${api.pid}/status`, 'utf8');
    assert.match(status, /^Uid:\s+1000\s+1000\s+1000\s+1000$/m);
    assert.match(status, /^CapEff:\s+0+$/m);

    const { call } = openCalls(() => `http://127.0.0.1:${port}`, token);
    await must(call('POST', '/management/v1/orgs', { name: 'Acme', orgId: 'acme' }));
    const user = {
      userName: 'ann',
      profile: { firstName: 'Ann', lastName: 'Arbor' },
      email: { email: 'ann@example.com' },
    };
    const body = { dataOrgs: { orgs: [{ orgId: 'acme', humanUsers: [{ userId: 'u1', user }] }] }, timeout: '1h' };
    const { importId } = (await must(call('POST', '/admin/v1/import', body))).body;
    const imported = async () => (await must(call('GET', `/admin/v1/imports/${importId}`))).body;
    await waitFor(async () => (await imported()).mails.sent === 1, { what: 'the user and their mail' });
    assert.equal((await imported()).counts.succeeded, 1);

    for (const child of [api, worker]) child.kill('SIGTERM');
    await Promise.all([api, worker].map(ended));
    assert.deepEqual(readdirSync(join(image.root, 'data')), ['mailbox']);
    assert.equal(readdirSync(join(image.root, 'data/mailbox')).length, 1);
  });
});
