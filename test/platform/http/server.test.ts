import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import test from 'node:test';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { headersOfAll } from '../../../src/platform/http/origins.ts';
import { listen } from '../../../src/platform/http/server.ts';

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

test('a request on a connection that a proxy keeps is answered during a stop, and the connection closed then', async (t) => {
  const server = await listen((req, res) => void req.resume().on('end', () => res.end('done')), here);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  async function post(): Promise<[status: number | undefined, connection: string | undefined, isReused: boolean]> {
    const sent = request({ ...here, port: server.port, method: 'POST', agent }).end('a');
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    await once(answer.resume(), 'end');
    return [answer.statusCode, answer.headers.connection, sent.reusedSocket];
  }
  assert.deepEqual(await post(), [200, 'keep-alive', false]);
  const stopped = server.stop(60_000);
  assert.deepEqual(await post(), [200, 'close', true]);
  await stopped;
  await assert.rejects(post(), { code: 'ECONNREFUSED' });
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
    { ...here, silenceMs: 500 },
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

test('a connection that has sent nothing does not hold up a stop', async () => {
  const server = await listen((_req, res) => res.end(), here);
  const unused = connect(server.port, '127.0.0.1');
  await once(unused, 'connect');
  // A request on another connection, so that the server has accepted both.
  await fetch(`http://127.0.0.1:${server.port}`).then((response) => response.text());
  const begun = performance.now();
  await Promise.all([server.stop(60_000), once(unused, 'close')]);
  assert(performance.now() - begun < 30_000);
});

test('a stopping server answers 503 to what does not finish in time, and closes the connection', async () => {
  const started = Promise.withResolvers<void>();
  const server = await listen(() => started.resolve(), here);
  const running = fetch(`http://127.0.0.1:${server.port}`);
  await started.promise;
  await server.stop(20);
  const answer = await running;
  assert.deepEqual([answer.status, answer.headers.get('retry-after')], [503, '1']);
});

test('a stopping server ends event streams at once', async () => {
  const server = await listen((_req, res) => {
    res.setHeader('content-type', 'text/event-stream');
    res.write('data: 1\n\n');
  }, here);
  const answer = await fetch(`http://127.0.0.1:${server.port}`);
  const begun = performance.now();
  await server.stop(60_000);
  assert.equal(await answer.text(), 'data: 1\n\n');
  assert.ok(performance.now() - begun < 30_000);
});

const AUTHORITY = 'Host: a\r\n';
const POST = `POST / HTTP/1.1\r\n${AUTHORITY}`;
/** What Node's server refuses before the handler sees it: status, error id, part of the message. */
const REFUSED: [request: string, status: number, id: string, words: RegExp][] = [
  ['GET / HTTP/9\r\n\r\n', 400, 'REQUEST-MALFORMED', /HTTP\/1\.1/],
  [`GET / HTTP/1.1\r\n${AUTHORITY}No colon\r\n\r\n`, 400, 'REQUEST-MALFORMED', /HTTP\/1\.1/],
  [`FETCH / HTTP/1.1\r\n${AUTHORITY}\r\n`, 400, 'REQUEST-MALFORMED', /method/],
  [`${POST}Content-Length: x\r\n\r\n`, 400, 'REQUEST-MALFORMED', /Content-Length/],
  [`${POST}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`, 400, 'REQUEST-MALFORMED', /Content-Length/],
  [
    `${POST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
    'REQUEST-MALFORMED',
    /Content-Length/,
  ],
  [`${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n`, 400, 'REQUEST-MALFORMED', /chunks/],
  ['GET / HTTP/1.1\r\n\r\n', 400, 'REQUEST-MALFORMED', /Host/],
  [`GET / HTTP/1.1\r\n${AUTHORITY}host: b\r\n\r\n`, 400, 'REQUEST-MALFORMED', /Host must be sent once/],
  [`GET / HTTP/1.1\r\n${AUTHORITY}${AUTHORITY}\r\n`, 400, 'REQUEST-MALFORMED', /Host must be sent once/],
  [`GET /${'x'.repeat(20_000)} HTTP/1.1\r\n${AUTHORITY}\r\n`, 431, 'REQUEST-HEADERS', /16384 bytes/],
  [`GET / HTTP/1.1\r\n${AUTHORITY}X: ${'x'.repeat(200_000)}\r\n\r\n`, 431, 'REQUEST-HEADERS', /16384 bytes/],
  [`${POST}Expect: more\r\nContent-Length: 0\r\n\r\n`, 417, 'REQUEST-EXPECT', /100-continue/],
  [`CONNECT a:80 HTTP/1.1\r\n${AUTHORITY}\r\n`, 405, 'REQUEST-METHOD', /CONNECT/],
];
const SILENT: (typeof REFUSED)[number] = [`GET / HTTP/1.1\r\n${AUTHORITY}`, 408, 'REQUEST-TIMEOUT', /in time/];

test('a request that never reaches the handler gets the error body and a request id, which is logged', async (t) => {
  const logged: Record<string, unknown>[] = [];
  const logger = { info: (line: Record<string, unknown>) => logged.push(line) } as unknown as Pick<Logger, 'info'>;
  const headers = headersOfAll({ baseUrl: 'https://id.example.com' });
  const server = await listen((req) => req.resume(), { ...here, logger, headers });
  const impatient = await listen((req) => req.resume(), { ...here, logger, headers, headersMs: 50 });
  t.after(() => Promise.all([server.stop(0), impatient.stop(0)]));
  for (const [request, status, id, words] of [...REFUSED, SILENT]) {
    const { port } = status === 408 ? impatient : server;
    const [head = '', body = ''] = (await raw(port, request)).split('\r\n\r\n');
    const name = request.slice(0, 60);
    assert.match(head, new RegExp(`^HTTP/1.1 ${status} `), name);
    const requestId = /^x-request-id: (.+)$/m.exec(head)?.[1];
    assert.match(head, /^Content-Type: application\/json; charset=utf-8$/m);
    assert.match(head, /^X-Content-Type-Options: nosniff$/m);
    assert.match(head, /^Strict-Transport-Security: max-age=31536000; includeSubDomains$/m, name);
    const { code, message, details } = JSON.parse(body);
    assert.deepEqual([typeof code, details[0].id, details[0].message], ['number', id, message], name);
    assert.match(message, words);
    assert(
      logged.some((line) => line.requestId === requestId && line.id === id),
      name,
    );
    assert(!JSON.stringify(logged).includes('xxxx'));
  }
});

test('a request that breaks after its response has begun only ends the connection', async (t) => {
  const server = await listen((req, res) => {
    res.write('begun');
    req.resume();
  }, here);
  t.after(() => server.stop(0));
  const socket = connect(server.port, '127.0.0.1');
  let received = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    received += chunk;
    if (received.includes('begun')) socket.write('zz\r\n'); // not a chunk
  });
  socket.write(`${POST}Transfer-Encoding: chunked\r\n\r\n`);
  await once(socket, 'close');
  assert.equal(received.split('HTTP/1.1').length, 2);
});

test('a used port is an error', async () => {
  const server = await listen(() => {}, here);
  await assert.rejects(
    listen(() => {}, { ...here, port: server.port }),
    { code: 'EADDRINUSE' },
  );
  await server.stop(1000);
});

/** Opens connections while the thread that listens stands still; writes how many the kernel took. */
const CONNECTS = `
  const { workerData: { port, count, taken } } = require('node:worker_threads');
  const { connect } = require('node:net');
  const connected = new Int32Array(taken);
  for (let n = 0; n < count; n++) connect(port, '127.0.0.1', () => {
    if (Atomics.add(connected, 0, 1) + 1 === count) Atomics.notify(connected, 0);
  }).on('error', () => {});`;

test('a thousand connections at once wait for a process that is busy, instead of being reset', async (t) => {
  const most = Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8'));
  if (most < 1000) return t.skip('the kernel lets fewer connections wait');
  const server = await listen((_req, res) => res.end(), { host: '127.0.0.1', port: 0 });
  t.after(() => server.stop(0));
  const taken = new SharedArrayBuffer(4);
  const connected = new Int32Array(taken);
  const worker = new Worker(CONNECTS, { eval: true, workerData: { port: server.port, count: 1000, taken } });
  t.after(() => worker.terminate());
  // The event loop stands still here, so none is accepted.
  for (let seen = 0; seen < 1000; seen = Atomics.load(connected, 0)) {
    if (Atomics.wait(connected, 0, seen, 20_000) === 'timed-out' && Atomics.load(connected, 0) === seen) break;
  }
  assert.equal(Atomics.load(connected, 0), 1000);
});
