/**
 * Live updates of a page, as Server-Sent Events with the cookie.
 *
 * All pages of one session that show the same thing in the same language share one reading of the API. It becomes rarer while nothing
 * changes. A page gets what differs: texts, bars, drawings by name; when its shape changes, it loads itself again.
 * Guarantee: readings go through the API with the person's token, so a stream ends when the session or the right ends.
 * At most STREAMS streams for each person. A browser that reads nothing gets nothing, and is disconnected.
 */
import type { Response } from 'express';
import { ApiError } from '../../platform/errors.ts';
import { openSlots } from '../../platform/http/slots.ts';
import { type Html, html } from '../../platform/text/html.ts';
import { type ConsoleSession, sessionOf } from '../session.ts';
import { LIVE } from '../texts/frame.ts';
import { consoleLanguage } from '../texts/language.ts';

export interface LiveState {
  /** When it changes, the page's parts are loaded again. */
  shape: string;
  /** Texts by name. */
  text: Record<string, string>;
  /** Widths of the parts of bars. */
  bars?: Record<string, number[]>;
  /** Points of drawings. */
  points?: Record<string, string>;
  /** Times by name, in ISO 8601. */
  times?: Record<string, string>;
}

/** Tells that the page is live, and connects it. @param href the address of the stream @param shape of the page now */
export function liveMark(href: string, shape: string): Html {
  return html`<live-updates href="${href}" shape="${shape}" on="${LIVE.on}" stale="${LIVE.stale}" ended="${LIVE.ended}"></live-updates>`;
}

const slots = openSlots({ perCaller: 20, perOrg: 200, total: 1000, id: 'CONSOLE-STREAMS', what: 'live pages' });
const FIRST_MS = 500;
/** With this many readings without a change, the pause doubles, up to LONGEST_MS. */
const CALM = 10;
const LONGEST_MS = 4000;
/** A reading that takes long is followed by a pause of this many times its duration. */
const REST = 3;
const ALIVE = 'event: alive\ndata:\n\n';
const UNREAD_MS = 60_000;

interface Feed {
  watchers: Set<Response>;
  last: string;
}

export interface Live {
  /**
   * Answers with the stream.
   * @param name of what is read; the same for all pages that show it
   * @throws ApiError as the first reading
   */
  stream(res: Response, name: string, read: (session: ConsoleSession) => Promise<LiveState>): Promise<void>;
}

export function openLive(): Live {
  const feeds = new Map<string, Feed>();
  /** First readings in progress. */
  const opening = new Map<string, Promise<string>>();

  /** Pages that connect at the same time, as after a restart of the server, share one reading. */
  function firstOf(key: string, read: () => Promise<LiveState>): Promise<string> {
    const inProgress = opening.get(key);
    if (inProgress) return inProgress;
    const first = read()
      .then(messageOf)
      .finally(() => opening.delete(key));
    opening.set(key, first);
    return first;
  }

  return {
    async stream(res, name, read) {
      const session = sessionOf(res);
      const key = `${session.tokens.accessToken} ${consoleLanguage()} ${name}`;
      const first = await firstOf(key, () => read(session));
      if (res.closed) return;
      const release = slots.take(session.caller);
      res.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      });
      const known = feeds.get(key);
      const feed = known ?? { watchers: new Set(), last: '' };
      feed.watchers.add(res);
      feeds.set(key, feed);
      res.write(first);
      res.once('close', () => {
        feed.watchers.delete(res);
        release();
      });
      const ended = () => feeds.delete(key);
      if (!known) void keepReading(feed, () => read(session), ended);
    },
  };
}

/** Reads for the pages of a feed, until none is left. @param ended called before another page can join the feed */
async function keepReading(feed: Feed, read: () => Promise<LiveState>, ended: () => void): Promise<void> {
  let unchanged = 0;
  while (feed.watchers.size > 0) {
    const began = performance.now();
    try {
      const next = messageOf(await read());
      unchanged = next === feed.last ? unchanged + 1 : 0;
      if (next !== feed.last || unchanged % CALM === 0) sendAll(feed, next);
      else sendAll(feed, ALIVE);
      feed.last = next;
    } catch (error) {
      // The page sees that nothing comes, and says so. Without the session or the right, it has to load itself again.
      if (error instanceof ApiError && error.http < 500 && error.http !== 429) end(feed);
    }
    const pause = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.floor(unchanged / CALM));
    await new Promise((resolve) => setTimeout(resolve, Math.max(pause, REST * (performance.now() - began))));
  }
  ended();
}

function messageOf(state: LiveState): string {
  return `data: ${JSON.stringify(state)}\n\n`;
}

function end({ watchers }: Feed): void {
  for (const res of watchers) res.end('event: ended\ndata:\n\n');
  watchers.clear();
}

/** When a browser began to read nothing. */
const stalled = new WeakMap<Response, number>();

function sendAll({ watchers }: Feed, message: string): void {
  for (const res of watchers) {
    if (!res.writableNeedDrain) {
      stalled.delete(res);
      res.write(message);
    } else if (Date.now() - (stalled.get(res) ?? Date.now()) > UNREAD_MS) {
      res.destroy();
    } else if (!stalled.has(res)) {
      stalled.set(res, Date.now());
    }
  }
}
