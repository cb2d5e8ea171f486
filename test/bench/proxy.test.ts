import assert from 'node:assert/strict';
import { once } from 'node:events';
import { buffer } from 'node:stream/consumers';
import test from 'node:test';
import { postgresAddress, throughPort } from '../../bench/testbed/proxy.ts';
import { delayLine } from '../../bench/testbed/proxy-line.ts';
import { waitFor } from '../support/wait.ts';

test('all data comes out complete, in order, and not before its time', async () => {
  const line = delayLine(20);
  const start = performance.now();
  const first = once(line, 'readable').then(() => performance.now() - start);
  const sent = Array.from({ length: 300 }, (_, n) => Buffer.alloc(1 + ((n * 7919) % 5000), n));
  for (const chunk of sent) line.write(chunk);
  line.end();
  assert.ok((await first) >= 19);
  assert.ok((await buffer(line)).equals(Buffer.concat(sent)));
});

test('data after a pause is delayed too, and the end comes last', async () => {
  const line = delayLine(5);
  const times: number[] = [];
  line.on('data', () => times.push(performance.now()));
  const ended = once(line, 'end');
  line.write('a');
  await once(line, 'data');
  const start = performance.now();
  line.end('b');
  await ended;
  assert.equal(times.length, 2);
  assert.ok((times[1] as number) - start >= 4);
});

test('data that is sent while other data waits gets the same delay, and no more', async () => {
  const line = delayLine(400);
  const order: string[] = [];
  line.on('data', (chunk: Buffer) => order.push(String(chunk)));
  const ended = once(line, 'end');
  line.write('a');
  await new Promise((resume) => setTimeout(resume, 200));
  line.end('b');
  // Timers of one process fire in the order of their times, however late: b is due 400 ms after this moment.
  setTimeout(() => order.push('550 ms'), 550);
  await ended;
  // A process that was late for both passes them on together.
  assert.equal(order.join(''), 'ab');
});

test('a reader that reads nothing makes the writer wait', async () => {
  const line = delayLine(1);
  const chunk = Buffer.alloc(64 * 1024);
  let taken = 0;
  const write = () => {
    line.write(chunk, () => {
      taken++;
      if (taken < 100) write();
    });
  };
  write();
  await waitFor(() => taken >= 10, { what: 'ten chunks' });
  const turn = () => new Promise((resume) => setTimeout(resume, 1));
  for (let before = -1; before < taken; await turn()) before = taken;
  assert.ok(taken < 40, `${taken} chunks of 64 KiB`);
  line.resume();
  while (taken < 100) await new Promise((resume) => setImmediate(resume));
  line.destroy();
});

test('stores are reached by their sockets, and through the proxy by port', () => {
  const url = 'postgres://muster:se%2Fcret@127.0.0.1:54321/muster?host=%2Ftmp%2Fa%20b%2Frun';
  assert.deepEqual(postgresAddress(url), { path: '/tmp/a b/run/.s.PGSQL.54321' });
  assert.equal(throughPort(url, 4000), 'postgres://muster:se%2Fcret@127.0.0.1:4000/muster');
  assert.deepEqual(postgresAddress(throughPort(url, 4000)), { host: '127.0.0.1', port: 4000 });
});
