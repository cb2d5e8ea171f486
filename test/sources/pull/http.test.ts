/** Requests to old systems: rate limits, faults that pass, and what is reported. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import test from 'node:test';
import { askedWaitMs, nextLink, openHttp, usedUpMs } from '../../../src/sources/pull/http.ts';
import { baseUrl } from '../../../src/sources/pull/system.ts';
import { type FakeAnswer, startFake } from '../../support/pull/fake.ts';

const NOW = Date.parse('2026-11-23T12:00:00Z');

test('how long an answer asks to wait', () => {
  const wait = (headers: Record<string, string>) => askedWaitMs(new Headers(headers), NOW);
  assert.equal(wait({ 'retry-after': '7' }), 7000);
  assert.equal(wait({ 'retry-after': 'Mon, 23 Nov 2026 12:00:30 GMT' }), 30_000);
  assert.equal(wait({ 'retry-after': 'Mon, 23 Nov 2026 11:00:00 GMT' }), 0);
  assert.equal(wait({ 'x-rate-limit-reset': String(NOW / 1000 + 12) }), 12_000);
  assert.equal(wait({ 'ratelimit-reset': '20' }), 20_000);
  assert.equal(wait({ 'retry-after': 'soon' }), undefined);
  const used = (left: string) =>
    usedUpMs(new Headers({ 'x-ratelimit-remaining': left, 'x-ratelimit-reset': '9' }), NOW);
  assert.deepEqual([used('0'), used('1')], [9000, undefined]);
});

/** Serves the answers one after the other; every wait is recorded and takes no time. */
async function served(t: TestContext, answers: FakeAnswer[]) {
  const { url, requests } = await startFake(t, () => answers[Math.min(requests.length, answers.length) - 1]);
  const waits: number[] = [];
  const notes: string[] = [];
  const http = openHttp({
    title: 'Old',
    signal: new AbortController().signal,
    note: (text) => void notes.push(text),
    pause: async (ms) => void waits.push(ms),
  });
  return { url, http, requests, waits, notes };
}

test('a rate limit and a fault that passes are waited for; the last request of a window is followed by a pause', async (t) => {
  const reset = { 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': String(Math.ceil(Date.now() / 1000) + 40) };
  const { url, http, requests, waits, notes } = await served(t, [
    { status: 429, headers: { 'retry-after': '9' } },
    { status: 503 },
    { body: ['first'], headers: reset },
    { body: ['second'] },
  ]);
  assert.deepEqual((await http.json(url)).body, ['first']);
  assert.equal(waits[0], 9000);
  assert.ok(waits[1] && waits[1] >= 1000 && waits[1] <= 2000, String(waits[1]));
  assert.deepEqual((await http.json(url)).body, ['second']);
  assert.ok(waits[2] && waits[2] > 30_000 && waits[2] <= 41_000, String(waits[2]));
  assert.equal(requests.length, 4);
  assert.match(notes[0] ?? '', /^Old limits the rate: going on in 9 s\.$/);
});

test('numbers that JavaScript cannot hold keep their digits', async (t) => {
  const body = Buffer.from('[{"id":1145148919810123457,"in":{"n":9007199254740993},"small":7}]');
  const { url, http } = await served(t, [{ body }]);
  const answer = await http.json<object[]>(url);
  assert.deepEqual(answer.body, [{ id: '1145148919810123457', in: { n: '9007199254740993' }, small: 7 }]);
});

test('it gives up after eight attempts, and waits five minutes at most', async (t) => {
  const { url, http, requests, waits } = await served(t, [{ status: 429, headers: { 'retry-after': '86400' } }]);
  await assert.rejects(http.json(url), { name: 'PullError', trouble: 'unreachable' });
  assert.equal(requests.length, 8);
  assert.deepEqual(new Set(waits), new Set([300_000]));
});

test('what is refused is reported at once, with what the system says', async (t) => {
  const { url, http, requests } = await served(t, [
    { status: 403, body: { error: { message: 'Missing scope.', token: 'secret' } } },
    { status: 404, body: {} },
    { body: Buffer.from('<html>') },
    { status: 302, headers: { location: 'http://elsewhere.example/' } },
  ]);
  await assert.rejects(http.json(url), { trouble: 'denied', message: 'Old answered 403: Missing scope.' });
  await assert.rejects(http.json(url), { trouble: 'failed', message: 'Old answered 404.' });
  await assert.rejects(http.json(url), { trouble: 'failed', message: 'Old answered something else than JSON.' });
  await assert.rejects(http.json(url), { trouble: 'unreachable' });
  assert.ok(requests.every(({ url }) => url.hostname === '127.0.0.1'));
});

test('a link to the next page counts on the same host only', () => {
  const next = (link: string) => nextLink(new Headers({ link }), 'https://old.example')?.href;
  const self = '<https://old.example/u?limit=2>; rel="self", ';
  assert.equal(next(`${self}<https://old.example/u?after=x,y>; rel="next"`), 'https://old.example/u?after=x,y');
  assert.equal(next('</u?after=2>; rel=next'), 'https://old.example/u?after=2');
  assert.equal(next(`${self}<https://evil.example/u?after=2>; rel="next"`), undefined);
});

test('addresses: HTTPS, or this machine', () => {
  assert.equal(baseUrl('host', 'acme.okta.com'), 'https://acme.okta.com');
  assert.equal(baseUrl('host', 'http://127.0.0.1:4434/'), 'http://127.0.0.1:4434');
  for (const text of [
    'http://old.example',
    'https://a:hunter2@old.example',
    'ftp://old.example',
    'https://old.example/?a=1',
  ]) {
    assert.throws(
      () => baseUrl('host', text),
      (error: Error) => error.name === 'UsageError' && !error.message.includes('hunter2'),
    );
  }
});
