import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import test, { type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../support/free-port.ts';
import { bulk, people } from '../../support/imports/bodies.ts';
import { testDatabase } from '../../support/stores/postgres.ts';
import { waitFor } from '../../support/wait.ts';

const ENCRYPTION_KEY = randomBytes(32).toString('base64');
const ENTRY = fileURLToPath(new URL('../../../src/start/api.ts', import.meta.url));

interface Api {
  child: ChildProcess;
  url: string;
  errors(): string;
  log(): string;
}

async function startProcess(t: TestContext, env: Record<string, string>): Promise<Api> {
  const port = await freePort();
  const settings = { PORT: String(port), ENCRYPTION_KEY, ...env };
  const child = spawn(process.execPath, [ENTRY], { env: { ...process.env, ...settings } });
  t.after(() => child.kill('SIGKILL'));
  let errors = '';
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  const url = `http://127.0.0.1:${port}`;
  const isReady = async () => child.exitCode !== null || (await fetch(`${url}/readyz`)).ok;
  await waitFor(isReady, { what: 'the API to be ready' });
  return { child, url, errors: () => errors, log: () => log };
}

test('the API creates the instance, shows its token once, responds, and ends with status 0 on SIGTERM', async (t) => {
  const database = await testDatabase(t);
  t.after(() => database.drop());
  const first = await startProcess(t, { DATABASE_URL: database.url });
  const [token] = /[\w-]{43}/.exec(first.errors()) ?? [];
  const me = await fetch(`${first.url}/management/v1/orgs/me`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal(me.status, 200);
  assert(!first.log().includes(token as string), 'the log must not contain the token');
  const second = await startProcess(t, { DATABASE_URL: database.url });
  assert.equal(second.errors(), '');
  for (const { child } of [first, second]) {
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
  }
});

test('an upload that takes longer than five seconds is finished after SIGTERM, within STOP_AFTER_MS', async (t) => {
  const database = await testDatabase(t);
  t.after(() => database.drop());
  const BOOTSTRAP_TOKEN = randomBytes(24).toString('base64url');
  const { child, url, log } = await startProcess(t, { DATABASE_URL: database.url, BOOTSTRAP_TOKEN });
  const headers = { authorization: `Bearer ${BOOTSTRAP_TOKEN}`, 'content-type': 'application/json' };
  const me = await fetch(`${url}/management/v1/orgs/me`, { headers });
  const { org } = (await me.json()) as { org: { id: string } };
  const body = JSON.stringify(bulk(org.id, people('slow', 9)));
  const sent = request(`${url}/admin/v1/import`, { method: 'POST', headers });
  sent.write(body.slice(0, 200));
  await sleep(500);
  child.kill('SIGTERM');
  await sleep(6000);
  sent.end(body.slice(200));
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  assert.equal(answer.statusCode, 202, log());
  answer.resume();
  assert.deepEqual(await once(child, 'exit'), [0, null]);
});

test('without its stores it prints one sentence and ends', async (t) => {
  const { child, errors } = await startProcess(t, { DATABASE_URL: '', ENCRYPTION_KEY: '' });
  assert.equal(child.exitCode, 1);
  assert.match(errors(), /^Set DATABASE_URL and ENCRYPTION_KEY[^\n]*\n$/);
});

test('with a key that does not match the database it prints one sentence and ends', async (t) => {
  const database = await testDatabase(t);
  t.after(() => database.drop());
  await startProcess(t, { DATABASE_URL: database.url });
  const other = { DATABASE_URL: database.url, ENCRYPTION_KEY: randomBytes(32).toString('base64') };
  const { child, errors } = await startProcess(t, other);
  assert.equal(child.exitCode, 1);
  assert.match(
    errors(),
    /^The database needs the encryption key with the id [0-9a-f]{8}: set it as ENCRYPTION_KEY, or[^\n]*\n$/,
  );
});
