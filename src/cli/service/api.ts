/**
 * Calls to the service.
 *
 * Guarantee: a call returns the complete response or throws a Failure that explains why not; tokens are sent only in
 * headers.
 */
import { EXIT, Failure } from '../terminal/failure.ts';
import { refusal, Stranger } from './refusal.ts';

export interface Call {
  query?: Record<string, string | number | undefined> | undefined;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as `x-service-orgid`. */
  org?: string | undefined;
  headers?: Record<string, string> | undefined;
  /** Sent unchanged, in place of `body`. */
  stream?: ReadableStream<Uint8Array> | undefined;
  signal?: AbortSignal | undefined;
}

export interface Api {
  readonly url: string;
  /** The JSON of the response. @throws Failure for every status but 2xx */
  call<T>(method: string, path: string, options?: Call): Promise<T>;
  /** The response as it arrives, with a status of 2xx. @throws Failure */
  open(method: string, path: string, options?: Call): Promise<Response>;
}

/** The service did not answer, or its response was cut off. */
export class Unreachable extends Failure {
  constructor(url: string, cause: unknown) {
    const why = reason(cause);
    super(`${url} cannot be reached${why ? `: ${why}` : ''}.`, {
      exitCode: EXIT.unreachable,
      advice:
        'Check that it is running and that the URL (--url or MUSTER_URL) is right; `muster doctor` finds out more.',
    });
  }
}

/** @param token called for each request, so that the token may be renewed meanwhile */
export function openApi(url: string, token: () => Promise<string>): Api {
  async function open(method: string, path: string, options: Call = {}): Promise<Response> {
    const bearer = await token();
    const response = await send(url, method, path, options, bearer);
    if (response.ok) return response;
    throw await refusal(url, response);
  }
  return {
    url,
    open,
    async call<T>(method: string, path: string, options?: Call) {
      const response = await open(method, path, options);
      return (await response.json().catch((error: unknown) => {
        if (options?.signal?.aborted) throw options.signal.reason;
        throw error instanceof SyntaxError ? new Stranger(url) : new Unreachable(url, error);
      })) as T;
    },
  };
}

async function send(url: string, method: string, path: string, options: Call, bearer: string): Promise<Response> {
  const { body, stream, signal } = options;
  const init: RequestInit & { duplex?: 'half' } = {
    method,
    headers: {
      authorization: `Bearer ${bearer}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(options.org === undefined ? {} : { 'x-service-orgid': headerText(options.org) }),
      ...options.headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    // Both options together make fetch release what it has sent; otherwise it keeps the whole body for a redirect.
    ...(stream === undefined ? {} : { body: stream, duplex: 'half' as const, redirect: 'error', window: null }),
    ...(signal === undefined ? {} : { signal }),
  };
  return fetch(url + path + queryText(options.query), init).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new Unreachable(url, error);
  });
}

/** Headers are bytes: those of the text's UTF-8 encoding. */
function headerText(text: string): string {
  return Buffer.from(text).toString('latin1');
}

function queryText(query: Call['query']): string {
  const parts = Object.entries(query ?? {}).filter((part): part is [string, string | number] => part[1] !== undefined);
  if (parts.length === 0) return '';
  return `?${parts.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')}`;
}

/** The cause of an error of fetch says what happened: `connect ECONNREFUSED 127.0.0.1:8080`. */
function reason(error: unknown): string {
  const { cause, message } = error as { cause?: unknown; message?: string };
  const inner = cause as { message?: string; code?: string } | undefined;
  return inner?.message || inner?.code || message || '';
}
