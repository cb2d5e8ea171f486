/** Following an import while the service fails in every way: which faults it waits for, and for how long. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'node:test';
import { type FollowOptions, follow } from '../../../src/cli/follow/follow.ts';
import { openApi } from '../../../src/cli/service/api.ts';
import type { Patience } from '../../../src/cli/service/events.ts';
import { EXIT, type Failure } from '../../../src/cli/terminal/failure.ts';

const PATIENCE: Patience = { giveUpMs: 10_000, pauseMs: 1, mostPauseMs: 5, silenceMs: 10_000 };

/** Answers requests one by one with these; the last one answers all that follow. */
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

/** A stream with these states, which then ends, breaks off, or stays open. */
function events(states: string[], then: 'end' | 'cut' | 'silence' = 'end'): RequestListener {
  return (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const state of states) res.write(`data: ${progress(state)}\n\n`);
    if (then === 'end') res.end();
    // The data written must arrive first.
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

test('it follows the import to its end, however often the connection breaks', async (t) => {
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
  assert.equal(seen.losses.length, 3, 'reported once for each outage');
});

test('a silent connection is opened again', async (t) => {
  const url = await service(t, events(['RUNNING'], 'silence'), () => {}, events(['SUCCEEDED']), result);
  const seen = start(url, { patience: { ...PATIENCE, silenceMs: 1000 } });
  await seen.end;
  assert.deepEqual(seen.states, ['RUNNING', 'SUCCEEDED']);
  assert.match(seen.losses[0] as string, /no data arrived for too long/);
});

test('an answer that is not an event stream is that of another server, which may go away', async (t) => {
  const streamOf = (text: string): RequestListener => {
    return (_req, res) => res.writeHead(200, { 'content-type': 'text/event-stream' }).end(text);
  };
  const answers = [status(200, '<html>'), streamOf('data: <html>\n\n'), streamOf('x'.repeat(5 * 2 ** 20))];
  for (const answer of answers) {
    const seen = start(await service(t, answer, events(['SUCCEEDED']), result));
    assert.equal((await seen.end).state, 'IMPORT_STATE_SUCCEEDED');
    assert.equal(seen.losses.length, 1);
    assert.match(seen.losses[0] as string, /is not Muster/);
  }
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

test('it gives up on a service that does not come back, and says how to continue', async (t) => {
  const url = await service(t, events(['RUNNING']), cut);
  const seen = start(url, { patience: { ...PATIENCE, giveUpMs: 50 } });
  await assert.rejects(seen.end, (error: Failure) => {
    assert.equal(error.exitCode, EXIT.unreachable);
    assert.match(error.message, /Gave up waiting for the service\.$/);
    assert.ok(error.advice?.endsWith('muster status 17 --watch'));
    return true;
  });
  assert.equal(seen.losses.length, 1);
});

test('faults that do not pass are reported at once', async (t) => {
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

test('an interruption ends it at any point', async (t) => {
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
