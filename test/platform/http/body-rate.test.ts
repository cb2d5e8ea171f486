/** Bodies that hardly arrive: src/platform/http/limits.ts. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'node:test';
import { type Arriving, openBodyWatch } from '../../../src/platform/http/limits.ts';
import { listen } from '../../../src/platform/http/server.ts';

const RATE = { windowMs: 60_000, bytes: 30_000 };

function arriving(): Arriving {
  return { complete: false, readableLength: 0, socket: { bytesRead: 100 } };
}

test('a body is too slow once a window has passed that brought too few bytes', () => {
  const watch = openBodyWatch(RATE);
  const [slow, fast, done] = [arriving(), arriving(), arriving()];
  for (const req of [slow, fast, done]) watch.add(req);
  assert.deepEqual(watch.look(1000), []);
  slow.socket.bytesRead += RATE.bytes - 1;
  fast.socket.bytesRead += RATE.bytes;
  assert.deepEqual(watch.look(60_999), []);
  done.complete = true;
  assert.deepEqual(watch.look(61_000), [slow]);
  // Each window counts for itself: a fast start earns nothing.
  assert.deepEqual(watch.look(120_999), []);
  assert.deepEqual(watch.look(121_000), [fast]);
  assert.deepEqual(watch.look(200_000), []);
});

test('time in which a body waits to be read does not count', () => {
  const watch = openBodyWatch(RATE);
  const req = arriving();
  watch.add(req);
  assert.deepEqual(watch.look(0), []);
  req.readableLength = 65_536;
  assert.deepEqual(watch.look(59_000), []);
  assert.deepEqual(watch.look(300_000), []);
  req.readableLength = 0;
  assert.deepEqual(watch.look(359_000), []);
  assert.deepEqual(watch.look(360_000), [req]);
});

test('a request whose body hardly arrives is answered 408, and its connection closed; one without a body may wait', async (t) => {
  const slowOver = Promise.withResolvers<void>();
  const server = await listen(
    async (req, res) => {
      req.resume();
      if (req.method === 'POST') return;
      await slowOver.promise;
      res.end('at last');
    },
    { host: '127.0.0.1', port: 0, bodyRate: { windowMs: 60, bytes: 10_000 } },
  );
  t.after(() => server.stop(1000));
  const waiting = fetch(`http://127.0.0.1:${server.port}`);
  const socket = connect(server.port, '127.0.0.1');
  let answer = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    answer += chunk;
  });
  socket.on('error', () => {}); // the service closes the connection while the drops still come
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n');
  const drip = setInterval(() => socket.write('x'), 10);
  await once(socket, 'close');
  clearInterval(drip);
  assert.match(answer, /^HTTP\/1.1 408 /);
  assert.match(answer, /"id":"REQUEST-TIMEOUT"/);
  slowOver.resolve();
  assert.equal(await (await waiting).text(), 'at last');
});
