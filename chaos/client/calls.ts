/**
 * Calls that are repeated until they are answered, at one API after the other, as a careful client does.
 *
 * Guarantee: a call that fails on the way, or is answered 429 or 5xx, is sent again; every other answer is returned.
 */
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Answer {
  status: number;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: read as callers do
  body: any;
}

export interface Request {
  method: string;
  path: string;
  body?: string | (() => AsyncIterable<Buffer>);
  headers?: Record<string, string>;
  /** Milliseconds for one attempt. */
  patienceMs?: number;
}

/** Where the APIs are, and the token for all calls. */
export interface Entrances {
  apis: { lines: { front?: { port: number } } }[];
  token: string;
  /** When the last fault was repaired, in milliseconds of performance.now(); undefined while any lasts. */
  peaceSince?: () => number | undefined;
}

export interface Calls {
  /** @param first the API that is asked first @throws Error when no attempt is answered in time */
  call(request: Request, first?: number): Promise<Answer>;
  /** One attempt. @returns what was answered, or why nothing was */
  attempt(request: Request, api: number): Promise<Answer | Error>;
  /** Whether the service should have answered by now something that was first sent at `start`. */
  isOverdue(start: number): boolean;
}

const PATIENCE_MS = 10_000;
const PAUSE_MS = 150;
const GIVE_UP_MS = 150_000;

export function openCalls({ apis, token, peaceSince = () => 0 }: Entrances): Calls {
  async function once(
    { method, path, body, headers, patienceMs = PATIENCE_MS }: Request,
    api: number,
  ): Promise<Answer> {
    const port = apis[api % apis.length]?.lines.front?.port;
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: typeof body === 'function' ? (Readable.toWeb(Readable.from(body())) as ReadableStream) : body,
      ...(typeof body === 'function' ? { duplex: 'half' } : {}),
      signal: AbortSignal.timeout(patienceMs),
    } as RequestInit);
    const text = await response.text();
    const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
    return { status: response.status, text, body: isJson && text ? JSON.parse(text) : text };
  }
  const calls: Calls = {
    attempt: (request, api) => once(request, api).catch((error: Error) => error),
    // A service that is down may stay silent.
    isOverdue(start) {
      const since = Math.max(start, peaceSince() ?? Number.POSITIVE_INFINITY);
      return performance.now() - since > GIVE_UP_MS;
    },
    async call(request, first = 0) {
      const start = performance.now();
      for (let api = first; ; api++) {
        const answer = await calls.attempt(request, api);
        if (!(answer instanceof Error) && answer.status !== 429 && answer.status < 500) return answer;
        if (calls.isOverdue(start)) throw unanswered(request, answer);
        await sleep(PAUSE_MS);
      }
    },
  };
  return calls;
}

function unanswered({ method, path }: Request, last: Answer | Error): Error {
  const what = last instanceof Error ? String(last.cause ?? last) : `${last.status} ${last.text.slice(0, 300)}`;
  return new Error(`${method} ${path} had no answer within ${GIVE_UP_MS} ms; the last attempt: ${what}`);
}
