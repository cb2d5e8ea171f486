import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { after, before } from 'node:test';
import express from 'express';
import { routePattern } from '../../../src/platform/http/methods.ts';
import { type Measure, openMetrics } from '../../../src/platform/http/metrics.ts';
import { errorId, startApi, type TestApi } from '../../support/api.ts';
import { waitFor } from '../../support/wait.ts';

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.stop());

/** Lines of `/metrics` that begin with `start`. */
async function lines(start: string, url = api.url): Promise<string[]> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return text.split('\n').filter((line) => line.startsWith(start));
}

async function value(start: string): Promise<number> {
  const [line, more] = await lines(start);
  assert(line && !more, `one line begins with ${start}`);
  return Number(line.split(' ').at(-1));
}

test('metrics need no token, use the text format, and include those of the process', async () => {
  const answer = await api.call('GET', '/metrics', undefined, { token: null });
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/);
  assert.match(answer.body, /^process_resident_memory_bytes \d+$/m);
  assert.match(answer.body, /^nodejs_eventloop_lag_seconds /m);
});

test('requests are counted and timed by route pattern, never by path', async () => {
  await api.call('GET', '/v2beta/users/somebody-special');
  await api.call('GET', '/v2beta/users/somebody-special', undefined, { token: null });
  await api.call('GET', '/admin/v1/orgs/muster');
  await api.call('GET', '/nowhere/at/all');
  const count = (labels: string) => value(`http_requests_total{${labels}}`);
  const user = 'route="/v2beta/users/:userId"';
  await waitFor(async () => (await lines('http_requests_total{method="GET",route="none"')).length, {
    what: 'the last',
  });
  assert.equal(await count(`method="GET",${user},status="4xx"`), 1);
  assert.equal(await count('method="GET",route="/admin/v1/orgs/:orgId",status="2xx"'), 1);
  assert.equal(await count('method="GET",route="none",status="4xx"'), 2);
  const timed = 'http_request_duration_seconds_count{';
  assert.equal(await value(`${timed}method="GET",${user},status="4xx"}`), 1);
  const all = (await lines('')).join('\n');
  assert(!/somebody-special|nowhere/.test(all));
});

test('with METRICS_TOKEN, metrics need it as a bearer token; health does not', async (t) => {
  const token = 'm'.repeat(32);
  const guarded = await startApi({ env: { METRICS_TOKEN: token } });
  t.after(() => guarded.stop());
  const scrape = (given: string | null) => guarded.call('GET', '/metrics', undefined, { token: given });
  assert.equal((await scrape(token)).status, 200);
  for (const bad of [null, guarded.token, `${token}m`, token.slice(1)]) {
    const answer = await scrape(bad);
    assert.deepEqual([answer.status, errorId(answer)], [401, 'METRICS-TOKEN']);
    assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/);
    assert.doesNotMatch(JSON.stringify(answer.body), /nodejs_/);
  }
  assert.equal((await guarded.call('GET', '/readyz', undefined, { token: null })).status, 200);
});

/** Serves only `/metrics`, with these measures. */
async function served(t: { after(fn: () => void): void }, measures: Measure[]): Promise<string> {
  const server = createServer(express().use(openMetrics({ measures }).routes));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a measure that fails or never responds is left out; the others are present', async (t) => {
  const help = 'A figure.';
  const url = await served(t, [
    { name: 'good', help, read: async () => 7 },
    { name: 'bad', help, read: () => Promise.reject(new Error('no')) },
    { name: 'bad_too', help, label: 'of', read: () => Promise.reject(new Error('no')) },
    { name: 'late', help, read: () => new Promise<number>(() => {}) },
  ]);
  assert.deepEqual(await lines('good', url), ['good 7']);
  for (const name of ['bad', 'late']) assert.deepEqual(await lines(name, url), []);
  assert.deepEqual((await lines('muster_metrics_failed_reads_total', url)).sort(), [
    'muster_metrics_failed_reads_total{measure="bad"} 1',
    'muster_metrics_failed_reads_total{measure="bad_too"} 1',
    'muster_metrics_failed_reads_total{measure="late"} 1',
  ]);
});

test('concurrent scrapes read a measure once', async (t) => {
  let reads = 0;
  const url = await served(t, [{ name: 'reads', help: 'Reads.', read: async () => ++reads }]);
  const answers = await Promise.all([lines('reads', url), lines('reads', url), lines('reads', url)]);
  assert.deepEqual([answers.flat(), reads], [['reads 1', 'reads 1', 'reads 1'], 1]);
});

test('route patterns have one form, however they are written', () => {
  assert.equal(routePattern('/v2beta/users/:userId'), '/v2beta/users/:userId');
  assert.equal(routePattern(['/a', '/b']), '/a|/b');
  assert.equal(routePattern(['/a', '/b/:id', '/b/c/d'], '/b/7/'), '/b/:id');
  assert.equal(routePattern(/^\/orgs\/(?!_(?:setup|search)\/?$)(?<orgId>[^/]+)\/?$/i), '/orgs/:orgId');
});
