/** Clients of event streams that read slowly or not at all. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, mock, test } from 'node:test';
import express from 'express';
import type { ImportResult } from '../../src/contract/import-types.ts';
import { streamProgress } from '../../src/imports/routes.ts';
import type { ProgressWatch, Seen } from '../../src/imports/status/watch.ts';
import { waitFor } from '../support/wait.ts';

const RUNNING = { importId: '1', state: 'IMPORT_STATE_RUNNING' } as ImportResult;
/** More than the buffers of both sockets hold. */
const LARGE = 'x'.repeat(8 * 2 ** 20);

let server: Server;
let tell: (seen: Seen | undefined) => void;
/** Bytes that wait in the memory of the server's process. */
let buffered: () => number;
let watchers = 0;
/** The request of a client that leaves before it is answered. */
const [arrived, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
const watch: ProgressWatch = {
  watch(current, watcher) {
    watchers++;
    tell = watcher;
    watcher({ progress: current, json: JSON.stringify(current), fingerprint: '' });
    return () => watchers--;
  },
};

before(async () => {
  const app = express().get('/', async (req, res) => {
    buffered = () => res.writableLength;
    await streamProgress(watch, req, res, RUNNING);
  });
  app.get('/late', async (req, res) => {
    arrived.resolve();
    await once(res, 'close');
    await streamProgress(watch, req, res, RUNNING);
    ended.resolve();
  });
  server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
after(() => server.close());
beforeEach(() => {
  watchers = 0;
});

const message = (text: string, state = RUNNING.state): Seen => ({
  progress: { ...RUNNING, state },
  json: text,
  fingerprint: text,
});

async function open(): Promise<IncomingMessage> {
  const client = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' }).end();
  const [response] = (await once(client, 'response')) as [IncomingMessage];
  return response;
}

test('a client that has left before the stream began is not watched', { timeout: 60_000 }, async () => {
  const { port } = server.address() as AddressInfo;
  const client = request({ port, host: '127.0.0.1', path: '/late' }).end();
  client.on('error', () => {}); // it is destroyed
  await arrived.promise;
  client.destroy();
  await ended.promise;
  assert.equal(watchers, 0);
});

test('a client that reads slowly gets the newest messages, and takes the memory of one', async () => {
  const response = await open();
  tell(message(LARGE));
  for (let i = 0; i < 100; i++) tell(message(`${i}${LARGE}`));
  assert.ok(buffered() < 2 * LARGE.length, `${buffered()} bytes`);
  tell(message('newest'));
  let text = '';
  response.setEncoding('utf8').on('data', (part) => {
    text += part;
  });
  await waitFor(() => text.includes('data: newest'), { what: 'the newest message' });
  assert.ok(text.length < 2 * LARGE.length, 'the messages between are left out');
  tell(message('last', 'IMPORT_STATE_SUCCEEDED'));
  await once(response, 'end');
  assert.ok(text.endsWith('data: last\n\nevent: end\nid: end\ndata: last\n\n'));
  await waitFor(() => watchers === 0, { what: 'the end of the watching' });
});

test('a client that reads nothing is disconnected after a minute', async (t) => {
  mock.timers.enable({ apis: ['setInterval', 'Date'] });
  t.after(() => mock.timers.reset());
  const response = await open();
  response.on('error', () => {}); // it is cut
  tell(message(LARGE));
  mock.timers.tick(45_000);
  assert.equal(watchers, 1);
  mock.timers.tick(45_000);
  mock.timers.reset();
  await waitFor(() => watchers === 0, { what: 'the disconnection' });
});

test('an import that is removed ends the stream', async () => {
  const response = await open();
  tell(undefined);
  let text = '';
  for await (const part of response.setEncoding('utf8')) text += part;
  assert.equal(text, `id: 1\ndata: ${JSON.stringify(RUNNING)}\n\n`);
});
