/**
 * An import as Server-Sent Events: its progress on each change, at most four times a second, until the import ends.
 *
 * The last message is sent again as the event `end`. A browser's EventSource then connects again on its own; its
 * `Last-Event-ID` is that of the end, and the answer 204 tells it to stop (HTML standard, section 9.2).
 *
 * Guarantee: a client that reads slowly gets fewer messages, the newest ones; it delays nobody, and takes the memory of
 * one message. A client that reads nothing is disconnected after READ_MS.
 */
import type { Request, Response } from 'express';
import type { ImportResult } from '../answers.ts';
import { isEnded } from '../status/progress.ts';
import type { ProgressWatch, Seen } from '../status/watch.ts';

/** A comment at this interval keeps proxies from closing an idle stream. */
const KEEP_ALIVE_MS = 15_000;
const READ_MS = 60_000;
const END = 'end';

/** Answers the request with the stream; returns when the stream has ended. */
export async function streamProgress(
  watch: ProgressWatch,
  req: Request,
  res: Response,
  first: ImportResult,
): Promise<void> {
  if (isEnded(first) && req.get('last-event-id') === END) {
    res.status(204).end();
    return;
  }
  res.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  const closed = new Promise<void>((resolve) => res.once('close', resolve));
  if (req.method === 'HEAD') res.end();
  const stop = sendChanges(watch, res, first);
  await closed;
  stop();
}

function sendChanges(watch: ProgressWatch, res: Response, first: ImportResult): () => void {
  let messages = 0;
  /** What could not be sent yet, as the client has not read the message before. */
  let waiting: string | undefined;
  let stalledAt: number | undefined;

  function send(seen: Seen | undefined): void {
    if (res.writableEnded) return;
    const message = seen ? `id: ${++messages}\ndata: ${seen.json}\n\n` : '';
    if (!seen || isEnded(seen.progress)) {
      res.end(seen && `${message}event: ${END}\nid: ${END}\ndata: ${seen.json}\n\n`);
    } else if (stalledAt === undefined) {
      write(message);
    } else {
      waiting = message;
    }
  }

  function write(text: string): void {
    if (!res.write(text)) stalledAt = Date.now();
  }

  res.on('drain', () => {
    stalledAt = undefined;
    if (waiting && !res.writableEnded) write(waiting);
    waiting = undefined;
  });
  const keepAlive = setInterval(() => {
    if (Date.now() - (stalledAt ?? Infinity) > READ_MS) res.destroy();
    else if (stalledAt === undefined && !res.writableEnded) write(': still here\n\n');
  }, KEEP_ALIVE_MS);
  const unwatch = watch.watch(first, send);
  return () => {
    clearInterval(keepAlive);
    unwatch();
  };
}
