/** Ctrl-C during `muster import`: the command ends at once and says what remains where. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import { MUSTER, startMuster } from '../../support/processes/terminal.ts';
import { waitFor } from '../../support/wait.ts';

const USER = {
  orgId: 'acme',
  userId: 'ann',
  user: { profile: { firstName: 'Ann', lastName: 'Ash' }, email: { email: 'ann@example.com' } },
};
const FIXTURE = 'test/fixtures/sources/zitadel/camel.json';

test('while the files are read, nothing was sent', async () => {
  const args = [MUSTER, 'import', '-', '--from', 'ndjson', '--url', 'http://127.0.0.1:1'];
  const child = spawn(process.execPath, args, { env: { ...process.env, MUSTER_TOKEN: 'x' } });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  // Standard input stays open, so the command never comes to the end of it.
  child.stdin.on('error', () => {});
  // More than a pipe holds: once all is written, the command has read some of it.
  await new Promise((resolve) => child.stdin.write(`${JSON.stringify(USER)}\n`.repeat(5000), resolve));
  child.kill('SIGINT');
  const [code] = await once(child, 'exit');
  assert.equal(code, 130, stderr);
  assert.match(stderr, /Interrupted before anything was sent\./);
});

test('while the users are sent, an incomplete upload is dropped', async (t) => {
  let isSent = false;
  const server = createServer((req) => {
    isSent = true;
    req.resume();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const running = startMuster(['import', FIXTURE, '--from', 'zitadel', '--yes', '--url', url], {
    env: { MUSTER_TOKEN: 'x' },
  });
  await waitFor(() => isSent, { what: 'the upload to begin' });
  running.kill('SIGINT');
  const { code, stderr } = await running.finished;
  assert.equal(code, 130, stderr);
  assert.match(stderr, /The service drops an incomplete upload.*\n.*`muster status` shows it/);
});

test('while the users are checked, they stay as a draft', async (t) => {
  let isAsked = false;
  const server = createServer(async (req, res) => {
    for await (const _ of req);
    isAsked ||= req.method === 'GET';
    res.setHeader('content-type', 'application/json').end('{"importId":"17","state":"IMPORT_STATE_DRAFT","draft":{}}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const running = startMuster(['import', FIXTURE, '--from', 'zitadel', '--dry-run', '--url', url], {
    env: { MUSTER_TOKEN: 'x' },
  });
  await waitFor(() => isAsked, { what: 'the check' });
  running.kill('SIGINT');
  const { code, stderr } = await running.finished;
  assert.equal(code, 130, stderr);
  assert.match(stderr, /keeps them as a draft; nothing was imported\.\n.*`muster start 17`.*`muster discard 17`/);
});
