import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'node:test';
import { listen } from '../../src/http/server.ts';

const here = { host: '127.0.0.1', port: 0 };

/** Sends `text` on a new connection; returns the response once the server has closed it. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    received += chunk;
  });
  socket.write(text);
  await once(socket, 'close');
  return received;
}

test('a stopping server finishes requests in progress, and does not wait for further ones', async () => {
  const started = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const server = await listen(async (_req, res) => {
    started.resolve();
    await finish.promise;
    res.end('done');
  }, here);
  const running = raw(server.port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await started.promise;
  const begun = performance.now();
  const stopped = server.stop(60_000);
  finish.resolve();
  assert.match(await running, /done/);
  await stopped;
  // The connection would be kept open for 65 s.
  assert(performance.now() - begun < 30_000);
  await assert.rejects(fetch(`http://127.0.0.1:${server.port}`));
});

test('a client that goes silent during a request is disconnected, one that waits for the response is not', async (t) => {
  const silent = Promise.withResolvers<void>();
  const server = await listen(
    async (req, res) => {
      req.resume();
      if (req.method === 'POST') return;
      await silent.promise;
      res.end('at last');
    },
    { ...here, silenceMs: 50 },
  );
  t.after(() => server.stop(1000));
  const waiting = raw(server.port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  const upload = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf of it';
  // The second one is cut later, so by then the first one has been silent for long enough.
  assert.equal(await raw(server.port, upload), '');
  assert.equal(await raw(server.port, upload), '');
  silent.resolve();
  assert.match(await waiting, /at last/);
});

test('a stopping server closes connections that do not finish in time', async () => {
  const started = Promise.withResolvers<void>();
  const server = await listen(() => started.resolve(), here);
  const running = fetch(`http://127.0.0.1:${server.port}`);
  const failed = assert.rejects(running);
  await started.promise;
  await server.stop(20);
  await failed;
});

test('a used port is an error', async () => {
  const server = await listen(() => {}, here);
  await assert.rejects(
    listen(() => {}, { ...here, port: server.port }),
    { code: 'EADDRINUSE' },
  );
  await server.stop(1000);
});
