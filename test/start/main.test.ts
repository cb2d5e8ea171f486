/** `npm start` in a real process group, with a real API and worker. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/free-port.ts';
import { baseEnv } from '../support/processes/base-env.ts';
import { waitFor } from '../support/wait.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const base = join(tmpdir(), `muster-main-${randomBytes(4).toString('hex')}`);
const BOOTSTRAP_TOKEN = randomBytes(24).toString('hex');
const PORT = String(await freePort());
const url = `http://127.0.0.1:${PORT}`;
const started = new Set<ChildProcess>();

after(async () => {
  for (const child of started)
    if (child.exitCode === null && child.signalCode === null && child.pid) process.kill(-child.pid, 'SIGKILL');
  await rm(base, { recursive: true, force: true });
});

interface Main {
  pid: number;
  output: () => string;
  ended: Promise<number | string>;
}

/** Leads a process group, as if a shell had started it. */
function start(env: Record<string, string> = {}): Main {
  const settings = { ...baseEnv(), DATA_DIR: join(base, 'data'), PORT, BOOTSTRAP_TOKEN, LOG_LEVEL: 'info' };
  const child = spawn(process.execPath, [MAIN], { env: { ...settings, ...env }, detached: true });
  started.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      output += text;
    });
  }
  const ended = once(child, 'close').then(([code, signal]) => code ?? signal);
  return { pid: child.pid as number, output: () => output, ended };
}

async function startReady(): Promise<Main> {
  const main = start();
  const ready = () => main.output().includes('"msg":"muster is ready"');
  await waitFor(ready, { what: 'muster to be ready' }).catch((error) => {
    throw new Error(`${error.message}\n${main.output()}`);
  });
  return main;
}

async function answer(): Promise<number> {
  const response = await fetch(`${url}/management/v1/orgs/me`, {
    headers: { authorization: `Bearer ${BOOTSTRAP_TOKEN}` },
  });
  return response.status;
}

test('it prints its URL; a second start on its port or data folder prints what is wrong; Ctrl-C ends it', async () => {
  const main = await startReady();
  assert.match(main.output(), new RegExp(`Muster is ready: ${url}`));
  assert.match(main.output(), /embedded PostgreSQL in/);
  assert.ok(!main.output().includes(BOOTSTRAP_TOKEN), 'a configured token is not shown');
  assert.equal(await answer(), 200);

  const elsewhere = join(base, 'elsewhere');
  const samePort = start({ DATA_DIR: elsewhere });
  assert.equal(await samePort.ended, 1);
  assert.equal(
    samePort.output(),
    `Port ${PORT} on 127.0.0.1 is in use by another program: stop that program, or set PORT to another port.\n`,
  );
  await assert.rejects(stat(elsewhere), { code: 'ENOENT' });

  const sameFolder = start({ PORT: '0' });
  assert.equal(await sameFolder.ended, 1);
  assert.equal(
    sameFolder.output(),
    `The data folder ${base}/data is in use by process ${main.pid}: stop that one, or set DATA_DIR to another.\n`,
  );

  process.kill(-main.pid, 'SIGINT');
  assert.equal(await main.ended, 0, main.output());
  assert.doesNotMatch(main.output(), /"level":[56]0/);
});

test('after SIGKILL it starts again at once, and SIGTERM to the parent alone ends everything', async () => {
  const killed = await startReady();
  process.kill(killed.pid, 'SIGKILL');
  // The old API drains when it notices the closed channel; until then it holds the port.
  await waitFor(
    () =>
      fetch(url).then(
        () => false,
        () => true,
      ),
    { what: 'the port to be free' },
  );
  const main = await startReady();
  assert.equal(await answer(), 200);
  process.kill(main.pid, 'SIGTERM');
  assert.equal(await main.ended, 0, main.output());
});

test('an invalid setting is named and nothing is started', async () => {
  const main = start({ PORT: 'eighty', DATA_DIR: join(base, 'none') });
  assert.equal(await main.ended, 1);
  assert.match(main.output(), /^The configuration has 1 problem:\n {2}PORT: /);
  await assert.rejects(stat(join(base, 'none')), { code: 'ENOENT' });
});
