/** Following an import over a service that fails in every way: what is waited for, for how long, and what is not. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import { type FollowOptions, follow } from '../../../src/cli/imports/follow.ts';
import { openApi } from '../../../src/cli/service/api.ts';
import type { Patience } from '../../../src/cli/service/outage.ts';
import { EXIT, type Failure } from '../../../src/cli/terminal/failure.ts';

const PATIENCE: Patience = { giveUpMs: 10_000, pauseMs: 1, mostPauseMs: 5, silenceMs: 10_000 };

/** Answers requests one by one with these, the last one for all that follow. */
async function service(t: test.TestContext, ...answers: RequestListener[]): Promise<string> {
  let next = 0;
  const server = createServer((req, res) => answers[Math.min(next++, answers.length - 1)]?.(req, res));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function progress(state: string): string {
  return JSON.stringify({ importId: '17', state: `IMPORT_STATE_${state}` });
}

/** A stream with these states, which then breaks off, or stays open. */
function events(states: string[], then: 'end' | 'cut' | 'silence' = 'end'): RequestListener {
  return (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const state of states) res.write(`data: ${progress(state)}\n\n`);
    if (then === 'end') res.end();
    // What was written is to arrive first.
    if (then === 'cut') res.write(': \n', () => setImmediate(() => res.destroy()));
  };
}

const result: RequestListener = (_req, res) => res.end(progress('SUCCEEDED'));
function status(code: number, body = '{}', headers: Record<string, string> = {}): RequestListener {
  return (_req, res) => res.writeHead(code, headers).end(body);
}
const cut: RequestListener = (req) => req.destroy();

interface Seen {
  states: string[];
  losses: string[];
  end: Promise<{ state: string }>;
}

function start(url: string, options: Partial<FollowOptions> = {}): Seen {
  const states: string[] = [];
  const losses: string[] = [];
  const end = follow(
    openApi(url, async () => 'token'),
    '17',
    {
      signal: new AbortController().signal,
      onProgress: ({ state }) => void states.push(state.replace('IMPORT_STATE_', '')),
      onLost: ({ message }) => void losses.push(message),
      patience: PATIENCE,
      ...options,
    },
  );
  return { states, losses, end };
}

test('it ends with the import, however often the connection breaks', async (t) => {
  const url = await service(
    t,
    events(['RUNNING'], 'cut'),
    cut,
    status(503, '{"message":"not now"}', { 'retry-after': '1' }),
    status(502, '<html>'),
    status(404, '<html>a proxy without its service</html>'),
    status(429, '{"message":"too many"}', { 'retry-after': '1' }),
    events(['RUNNING', 'PAUSED']),
    events(['SUCCEEDED']),
    cut,
    events(['SUCCEEDED']),
    result,
  );
  const seen = start(url);
  assert.equal((await seen.end).state, 'IMPORT_STATE_SUCCEEDED');
  assert.deepEqual(seen.states, ['RUNNING', 'RUNNING', 'PAUSED', 'SUCCEEDED', 'SUCCEEDED']);
  assert.equal(seen.losses.length, 3, 'said once for each time that it goes away');
});

test('a connection on which nothing comes is opened anew', async (t) => {
  const url = await service(t, events(['RUNNING'], 'silence'), () => {}, events(['SUCCEEDED']), result);
  const seen = start(url, { patience: { ...PATIENCE, silenceMs: 1000 } });
  await seen.end;
  assert.deepEqual(seen.states, ['RUNNING', 'SUCCEEDED']);
  assert.match(seen.losses[0] as string, /nothing came for too long/);
});

test('a comment is a sign of life', async (t) => {
  const url = await service(
    t,
    (_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      let left = 40;
      const timer = setInterval(() => {
        res.write(': still here\n\n');
        if (--left > 0) return;
        clearInterval(timer);
        res.end(`data: ${progress('SUCCEEDED')}\n\n`);
      }, 100);
    },
    result,
  );
  const seen = start(url, { patience: { ...PATIENCE, silenceMs: 3000 } });
  await seen.end;
  assert.deepEqual(seen.losses, []);
});

test('a service that does not come back is given up, saying how to go on', async (t) => {
  const url = await service(t, events(['RUNNING']), cut);
  const seen = start(url, { patience: { ...PATIENCE, giveUpMs: 50 } });
  await assert.rejects(seen.end, (error: Failure) => {
    assert.equal(error.exitCode, EXIT.unreachable);
    assert.match(error.message, /It was waited for in vain\.$/);
    assert.ok(error.advice?.endsWith('muster status 17 --watch'));
    return true;
  });
  assert.equal(seen.losses.length, 1);
});

test('what waiting cannot mend is told at once', async (t) => {
  for (const [code, exitCode] of [
    [401, EXIT.denied],
    [403, EXIT.denied],
    [400, EXIT.failed],
    [500, EXIT.failed],
  ] as const) {
    const url = await service(t, events(['RUNNING']), status(code, '{"message":"no"}'));
    const seen = start(url);
    await assert.rejects(seen.end, { name: 'Failure', exitCode, message: 'no' });
  }
});

test('an interruption ends it wherever it stands', async (t) => {
  const quiet: RequestListener = () => {};
  for (const [what, answers] of Object.entries({
    'while it reads': [events(['RUNNING'], 'silence')],
    'while it waits for an answer': [quiet],
    'while it waits to try again': [cut],
    'while it asks for the result': [events(['SUCCEEDED']), quiet],
  })) {
    const interruption = new AbortController();
    const reason = new Error('interrupted');
    const url = await service(t, ...answers);
    const seen = start(url, {
      signal: interruption.signal,
      patience: { ...PATIENCE, pauseMs: 60_000, mostPauseMs: 60_000, giveUpMs: 600_000 },
      onProgress: () => setImmediate(() => interruption.abort(reason)),
      onLost: () => setImmediate(() => interruption.abort(reason)),
    });
    if (answers[0] === quiet) setImmediate(() => interruption.abort(reason));
    await assert.rejects(seen.end, reason, what);
  }
});
