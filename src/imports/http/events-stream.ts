/** An import as Server-Sent Events: its progress on each change, at most four times a second, until the import ends. */
import type { Request, Response } from 'express';
import type { Pool } from '../../db/pool.ts';
import { type ImportResult, isEnded, readProgress } from '../status/progress.ts';

const INTERVAL_MS = 250;
/** A comment at this interval keeps proxies from closing an idle stream. */
const KEEP_ALIVE_MS = 15_000;

/** Answers the request with the stream; returns when the stream has ended. */
export async function streamProgress(pool: Pool, req: Request, res: Response, first: ImportResult): Promise<void> {
  res.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  const gone = new AbortController();
  req.on('close', () => gone.abort());
  res.on('close', () => gone.abort());
  let current: ImportResult | undefined = first;
  let shown = '';
  let sentAt = Date.now();
  while (current && !gone.signal.aborted) {
    const state = fingerprint(current);
    if (state !== shown) {
      res.write(`data: ${JSON.stringify(current)}\n\n`);
      shown = state;
      sentAt = Date.now();
    } else if (Date.now() - sentAt > KEEP_ALIVE_MS) {
      res.write(': still here\n\n');
      sentAt = Date.now();
    }
    if (isEnded(current)) break;
    await pause(gone.signal);
    current = gone.signal.aborted ? undefined : await readProgress(pool, current.importId);
  }
  res.end();
}

/** What counts as a change. Rate, eta and (while paused) deadline are left out: they change with the clock alone. */
function fingerprint({ usersPerSecond: _rate, eta: _eta, deadline: _deadline, ...rest }: ImportResult): string {
  return JSON.stringify(rest);
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, INTERVAL_MS);
    signal.addEventListener('abort', done, { once: true });
    function done() {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
  });
}
