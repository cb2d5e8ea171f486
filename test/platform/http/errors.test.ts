import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { PassThrough } from 'node:stream';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { pino } from 'pino';
import { openPool } from '../../../src/platform/db/pool.ts';
import { ApiError } from '../../../src/platform/errors.ts';
import { goneSignal, noSuchOperation, renderErrors } from '../../../src/platform/http/errors.ts';
import { healthRoutes } from '../../../src/platform/http/health.ts';
import { readJson } from '../../../src/platform/http/request-body.ts';
import { accessLog, requestId } from '../../../src/platform/http/requests.ts';
import { listen } from '../../../src/platform/http/server.ts';
import { openLogger } from '../../../src/platform/logger.ts';

interface Throwing {
  get(path: string): Promise<{ status: number; body: Record<string, unknown>; headers: Headers; text: string }>;
  log(): Record<string, unknown>[];
}

/** An application whose routes throw the given errors. */
async function throwing(t: test.TestContext, errors: Record<string, unknown>): Promise<Throwing> {
  const lines = new PassThrough();
  const logger = openLogger({ level: 'info', name: 'test' }, lines);
  const app = express().use(requestId(), accessLog(logger));
  for (const [path, error] of Object.entries(errors)) {
    app.get(path, () => {
      throw error;
    });
  }
  app.get('/half', async (_req, res) => {
    res.write('half');
    throw new Error('then it broke');
  });
  app.use(noSuchOperation(() => app.router));
  app.use(renderErrors(logger));
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  t.after(() => server.stop(1000));
  return {
    async get(path) {
      const response = await fetch(`http://127.0.0.1:${server.port}${path}`, { headers: { 'x-request-id': 'r1' } });
      const text = await response.text();
      return { status: response.status, body: JSON.parse(text), headers: response.headers, text };
    },
    log: () =>
      String(lines.read() ?? '')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
  };
}

const pgError = (code: string, more = {}) => Object.assign(new Error('relation "users" is broken'), { code, ...more });

test('an error other than an ApiError is a 500 without details; the log has them with the request id', async (t) => {
  const detail = 'Failing row contains (ann, $2a$10$secrethash)';
  const app = await throwing(t, {
    '/pg': pgError('23514', { detail, constraint: 'users_check' }),
    '/text': 'a string',
  });
  const answer = await app.get('/pg');
  assert.equal(answer.status, 500);
  assert.deepEqual([answer.body.code, answer.body.message], [13, 'An internal error occurred.']);
  assert(!answer.text.includes('users'));
  const line = app.log().find((l) => l.msg === 'request failed') as { requestId: string; err: Record<string, unknown> };
  assert.equal(line.requestId, 'r1');
  assert.equal(line.err.constraint, 'users_check');
  assert(!JSON.stringify(line).includes('secrethash'), 'a row must not be logged');
  assert.equal((await app.get('/text')).status, 500);
});

test('a store that is unavailable is named once in the log, however many requests fail', async (t) => {
  const app = await throwing(t, { '/full': pgError('53100'), '/wrong': pgError('23514') });
  for (const path of ['/full', '/full', '/full', '/wrong', '/wrong']) await app.get(path);
  const lines = app.log();
  const codes = lines.filter(({ msg }) => msg === 'request failed').map(({ err }) => (err as { code: string }).code);
  assert.deepEqual(codes, ['53100', '23514', '23514']);
  const requests = lines.filter(({ msg }) => msg === 'request');
  // Level 40 is warn: an outage shows where only warnings are kept.
  assert.deepEqual(
    requests.map(({ status, level }) => [status, level]),
    [503, 503, 503, 500, 500].map((status) => [status, 40]),
  );
});

test('a database that is down, out of resources, in a deadlock or too slow is 503 code 14', async (t) => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' });
  const cases: Record<string, unknown> = {
    '/53300': pgError('53300'),
    '/08006': pgError('08006'),
    '/57P01': pgError('57P01'),
    '/40P01': pgError('40P01'),
    '/55P03': pgError('55P03'),
    '/57014': pgError('57014'),
    '/refused': refused,
    '/all': Object.assign(new AggregateError([refused, refused]), { code: 'ECONNREFUSED' }),
    '/socket': Object.assign(new Error('connect ENOENT'), { code: 'ENOENT', syscall: 'connect' }),
    '/pool': new Error('timeout exceeded when trying to connect'),
    '/silent': new Error('timeout expired'),
    '/hangup': new Error('Connection terminated unexpectedly'),
  };
  const app = await throwing(t, cases);
  for (const path of Object.keys(cases)) {
    const answer = await app.get(path);
    assert.deepEqual([path, answer.status, answer.body.code], [path, 503, 14]);
    assert.equal(answer.headers.get('retry-after'), '1');
  }
});

test('other errors of the database and the disk are 500', async (t) => {
  const file = Object.assign(new Error('open ENOENT'), { code: 'ENOENT', syscall: 'open' });
  const cases: Record<string, unknown> = { '/22012': pgError('22012'), '/42601': pgError('42601'), '/file': file };
  const app = await throwing(t, cases);
  for (const path of Object.keys(cases)) assert.equal((await app.get(path)).status, 500);
});

test('an ApiError shows its body and is not logged as a failure', async (t) => {
  const violations = [{ field: 'a.b', description: 'is bad' }];
  const app = await throwing(t, { '/known': new ApiError('INVALID_ARGUMENT', 'USER-INVALID', 'Bad.', { violations }) });
  const answer = await app.get('/known');
  assert.deepEqual(answer.body, {
    code: 3,
    message: 'Bad.',
    details: [
      { '@type': 'type.googleapis.com/service.v1.ErrorDetail', id: 'USER-INVALID', message: 'Bad.' },
      { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: violations },
    ],
  });
  assert.deepEqual(
    app.log().map((l) => [l.msg, l.errorId]),
    [['request', 'USER-INVALID']],
  );
});

test('an error in the middle of a response closes the connection', async (t) => {
  const app = await throwing(t, {});
  await assert.rejects(app.get('/half'));
});

test('no input begins a line of the log, or a field of it', async (t) => {
  const app = await throwing(t, {});
  await app.get('/a%0d%0a{"level":60,"msg":"forged"}","status":200,"x":"\u2028');
  const lines = app.log();
  assert.deepEqual(
    [lines.length, lines[0]?.status, lines[0]?.msg, lines[0]?.errorId],
    [1, 404, 'request', 'REQUEST-PATH'],
  );
});

test('the access log has method, path, status and id, and no query', async (t) => {
  const app = await throwing(t, {});
  await app.get('/verify?code=SECRETCODE&userId=7');
  const [line] = app.log();
  assert.equal(line?.path, '/verify');
  assert.deepEqual([line?.level, line?.method, line?.status, line?.requestId], [30, 'GET', 404, 'r1']);
  assert(!JSON.stringify(line).includes('SECRETCODE'));
});

test('a body that a stopping process cannot wait for is answered 503, and logged as a cut', async () => {
  const lines: Record<string, unknown>[] = [];
  const logger = openLogger({ level: 'info', name: 'test' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const app = express().use(requestId(), accessLog(logger));
  app.post('/json', async (req, res) => void res.json(await readJson(req, res)));
  app.post('/stream', async (req, res) => {
    for await (const chunk of req) assert.ok(chunk);
    res.json({});
  });
  app.use(renderErrors(logger));
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  const open = async (path: string) => {
    const sent = request({ port: server.port, path, method: 'POST', headers: { 'content-type': 'application/json' } });
    sent.on('error', () => {}); // the connection is closed after the answer
    sent.write('{');
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    return [answer.statusCode, answer.headers['retry-after']];
  };
  const answers = Promise.all([open('/json'), open('/stream')]);
  await sleep(100);
  await server.stop(100);
  assert.deepEqual(await answers, [
    [503, '1'],
    [503, '1'],
  ]);
  const told = lines.filter(({ msg }) => msg === 'request').map(({ level, status, cut }) => [level, status, cut]);
  assert.deepEqual(told, [
    [40, 503, true],
    [40, 503, true],
  ]);
});

test('/readyz is 503 within its time limit when the database is down, /healthz stays 200', async (t) => {
  const pool = openPool('postgres://nobody@127.0.0.1:1/none');
  t.after(() => pool.end());
  const app = express().use(requestId(), healthRoutes({ pool }), renderErrors(pino({ level: 'silent' })));
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  t.after(() => server.stop(1000));
  const ready = await fetch(`http://127.0.0.1:${server.port}/readyz`);
  assert.equal(ready.status, 503);
  assert.equal(((await ready.json()) as { code: number }).code, 14);
  assert.equal((await fetch(`http://127.0.0.1:${server.port}/healthz`)).status, 200);
});

test('/readyz names the full disk instead of the database when it keeps a PostgreSQL that was away from taking connections', async (t) => {
  let code = 'ECONNREFUSED';
  const pool = { query: () => Promise.reject(Object.assign(new Error('no connection'), { code })) };
  const app = express().use(healthRoutes({ pool }));
  const server = await listen(app, { host: '127.0.0.1', port: 0 });
  t.after(() => server.stop(1000));
  const failing = async () => {
    const answer = await fetch(`http://127.0.0.1:${server.port}/readyz`);
    return ((await answer.json()) as { failing: { part: string }[] }).failing.map(({ part }) => part);
  };
  assert.deepEqual(await failing(), ['database']);
  code = '53100';
  assert.deepEqual(await failing(), ['disk']);
});

test('a response has one signal of a closed connection, however often it is asked for', async (t) => {
  const app = express();
  let asked: unknown[] = [];
  app.get('/', (_req, res) => {
    const before = res.listenerCount('close');
    const signals = Array.from({ length: 12 }, () => goneSignal(res));
    asked = [new Set(signals).size, res.listenerCount('close') - before];
    res.end();
  });
  const server = app.listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  await fetch(`http://127.0.0.1:${(server.address() as { port: number }).port}/`);
  assert.deepEqual(asked, [1, 1]);
});
