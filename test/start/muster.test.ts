import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Config, ConfigError, readConfig } from '../../src/platform/config.ts';
import { StartError } from '../../src/platform/errors.ts';
import { type Muster, type StartOptions, startMuster } from '../../src/start/muster.ts';
import { runMuster } from '../support/processes/muster.ts';
import { testDatabase } from '../support/stores/postgres.ts';
import { waitFor } from '../support/wait.ts';

const base = join(tmpdir(), `muster-start-${randomBytes(4).toString('hex')}`);
const DATA_DIR = join(base, 'data');
const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const files = { api: path('./stand-in-api.ts'), worker: path('./stand-in-worker.ts') };

after(() => rm(base, { recursive: true, force: true }));

function configOf(env: Record<string, string> = {}): Config {
  return readConfig({ DATA_DIR, PORT: '0', LOG_LEVEL: 'silent', ...env });
}

async function withMuster(config: Config, run: (muster: Muster) => Promise<void>, options: StartOptions = {}) {
  const muster = await startMuster(config, { files, output: 'ignore', ...options });
  try {
    await run(muster);
  } finally {
    await muster.stop();
  }
}

async function ask(muster: Muster): Promise<Record<string, unknown>> {
  return (await fetch(muster.baseUrl)).json() as Promise<Record<string, unknown>>;
}

function exists(name: string): Promise<boolean> {
  return stat(name).then(
    () => true,
    () => false,
  );
}

test('it starts on a free port, passes the addresses to its children, and drains them before the database', async () => {
  const tokens: string[] = [];
  let key = '';
  await withMuster(
    configOf({ WORKERS: '2' }),
    async (muster) => {
      assert.match(muster.baseUrl, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
      assert.deepEqual(tokens, [muster.token]);
      assert.match(String(muster.token), /^[\x21-\x7e]{32,200}$/);
      const answer = await ask(muster);
      assert.equal(answer.pid, muster.pids.api);
      assert.equal(answer.baseUrl, muster.baseUrl);
      assert.equal(muster.pids.workers.length, 2);
      key = answer.ENCRYPTION_KEY as string;
      assert.equal(Buffer.from(key, 'base64').length, 32);
    },
    { onToken: (token) => tokens.push(token) },
  );
  const file = join(DATA_DIR, 'encryption.key');
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await readFile(file, 'utf8')).trim(), key);
  assert.equal(await readFile(join(DATA_DIR, 'stopped'), 'utf8'), 'api 1\nworker 2\nworker 2\n');
});

test('the second start keeps the key and creates no token; a child that dies is restarted', async () => {
  await withMuster(configOf(), async (muster) => {
    assert.equal(muster.token, undefined);
    const first = await ask(muster);
    assert.equal(first.ENCRYPTION_KEY, (await readFile(join(DATA_DIR, 'encryption.key'), 'utf8')).trim());
    process.kill(first.pid as number, 'SIGKILL');
    const second = await waitFor(() => ask(muster), { what: 'the restarted API' });
    assert.notEqual(second.pid, first.pid);
    assert.equal(muster.pids.api, second.pid);
  });
});

test('a missing key is not replaced', async () => {
  const file = join(DATA_DIR, 'encryption.key');
  await rename(file, `${file}.kept`);
  await assert.rejects(startMuster(configOf(), { files }), (error) => {
    assert.ok(error instanceof StartError);
    assert.match(
      error.message,
      /^The encryption key .*encryption\.key is missing, but this database uses it: restore it from a backup/,
    );
    return true;
  });
  assert.equal(await exists(file), false);
  const lost = (env: Record<string, string>) => runMuster(['keys', 'lost'], { env: { DATA_DIR, ...env } });
  assert.match((await lost({})).stderr, /for `keys lost`, stop it and set ENCRYPTION_KEY/);
  const { code, stdout, stderr } = await lost({ ENCRYPTION_KEY: randomBytes(32).toString('base64') });
  assert.deepEqual([code, stdout, stderr], [0, 'Nothing is lost: every stored value can be decrypted.\n', '']);
  await writeFile(file, 'c2hvcnQ=');
  await assert.rejects(startMuster(configOf(), { files }), {
    message: `The encryption key in ${file} is damaged; it must be 32 bytes in base64. Restore it from a backup.`,
  });
  await rename(`${file}.kept`, file);
  await withMuster(configOf(), async (muster) => assert.equal((await ask(muster)).pid, muster.pids.api));
});

test('a port in use is refused in one sentence, with nothing written', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const elsewhere = join(base, 'never');
  await assert.rejects(startMuster(configOf({ PORT: String(port), DATA_DIR: elsewhere }), { files }), {
    message: `Port ${port} on 127.0.0.1 is in use by another program: stop that program, or set PORT to another port.`,
  });
  server.close();
  assert.equal(await exists(elsewhere), false);
});

test('a child that cannot start ends the start and everything started before', async () => {
  const missing = { ...files, worker: path('./no-such-file.ts') };
  await assert.rejects(startMuster(configOf(), { files: missing, output: 'ignore' }), {
    message: 'The worker 1 process ended with status 1 before it was ready; its output says why.',
  });
  const left = (await readdir(DATA_DIR)).filter((name) => name.startsWith('lock'));
  assert.deepEqual(left, []);
  assert.equal(await exists(join(DATA_DIR, 'postgres', 'postmaster.pid')), false);
});

test('with DATABASE_URL nothing is embedded, and ENCRYPTION_KEY is required', async (t) => {
  const { url, drop } = await testDatabase(t);
  const elsewhere = join(base, 'unused');
  const env = { DATABASE_URL: url, DATA_DIR: elsewhere, WORKERS: '0' };
  await assert.rejects(startMuster(configOf(env), { files }), (error) => {
    assert.ok(error instanceof ConfigError);
    assert.match(error.message, /^Set ENCRYPTION_KEY/);
    return true;
  });
  const ENCRYPTION_KEY = randomBytes(32).toString('base64');
  const given = configOf({ ...env, ENCRYPTION_KEY, BOOTSTRAP_TOKEN: 't'.repeat(32) });
  const muster = await startMuster(given, { files, output: 'ignore' });
  assert.equal(muster.token, undefined);
  assert.equal(muster.pids.postgres, undefined);
  assert.equal((await ask(muster)).ENCRYPTION_KEY, ENCRYPTION_KEY);
  assert.equal(await exists(elsewhere), false);
  muster.force();
  await muster.stop();
  await drop();
});

test('a database that does not respond is reported in one sentence', async () => {
  const ENCRYPTION_KEY = randomBytes(32).toString('base64');
  const config = configOf({ DATABASE_URL: 'postgres://u:secret@127.0.0.1:1/none', ENCRYPTION_KEY });
  await assert.rejects(startMuster(config, { files }), (error) => {
    assert.ok(error instanceof StartError);
    assert.match(error.message, /^The database of DATABASE_URL does not respond \(.*ECONNREFUSED.*\)\.$/);
    assert.doesNotMatch(error.message, /secret/);
    return true;
  });
});
