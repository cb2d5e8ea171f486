/** What a hostile service answers cannot control the terminal of the command line. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import { runMuster } from '../support/processes/muster.ts';

const EVIL = 'EV\u001b[2JIL\u009b31m\u202e\u2066';
// biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be there
const CONTROLS = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/;

test('ids and messages of errors are printable, also as JSON and with a stack trace', async (t) => {
  const body = { code: 3, message: `wrong ${EVIL}`, details: [{ '@type': 't', id: EVIL, message: EVIL }] };
  const server = createServer((_req, res) => {
    res.writeHead(400, { 'content-type': 'application/json', 'x-request-id': 'r' });
    res.end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const args of [['status'], ['status', '--json']]) {
    for (const debug of [{}, { MUSTER_DEBUG: '1' }]) {
      const { stderr, code } = await runMuster(args, { env: { MUSTER_URL: url, MUSTER_TOKEN: 'token', ...debug } });
      assert.notEqual(code, 0);
      assert.doesNotMatch(stderr, CONTROLS, JSON.stringify(stderr));
      assert.match(stderr, /EV/);
    }
  }
});

test('an error id that every object has as a name gives no advice', async (t) => {
  const server = createServer((_req, res) => {
    res.writeHead(400, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ code: 3, message: 'wrong', details: [{ '@type': 't', id: 'constructor' }] }));
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { stderr } = await runMuster(['status'], { env: { MUSTER_URL: url, MUSTER_TOKEN: 'token' } });
  assert.doesNotMatch(stderr, /native code|TypeError|Unexpected/);
  assert.match(stderr, /wrong \(constructor\)/);
});
