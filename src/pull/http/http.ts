/**
 * Requests to the API of an old system.
 *
 * Guarantee: every request has a time limit; redirects are not followed, so secrets go nowhere else. The system's rate
 * limit is respected, and faults that may pass are tried again, at most eight times and five minutes apart.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { PullError } from '../system.ts';
import { askedWaitMs, usedUpMs } from './wait.ts';

const TRIES = 8;
const REQUEST_MS = 60_000;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 5 * 60_000;
/** Shorter waits are not worth a line. */
const TOLD_FROM_MS = 5000;
const MAY_PASS = new Set([408, 429, 500, 502, 503, 504]);

export interface HttpOptions {
  /** The system, for messages: `Okta`. */
  title: string;
  /** What the body of a refusal means, for APIs whose status does not say it. */
  meaning?: (body: Record<string, unknown>) => 'limited' | 'denied' | undefined;
  signal: AbortSignal;
  note(text: string): void;
  /** In place of waiting: for tests. */
  pause?: (ms: number) => Promise<unknown>;
}

export interface HttpRequest {
  method?: 'GET' | 'POST';
  headers?: Record<string, string>;
  /** Further headers, made anew for each attempt: a signature that contains the time. */
  sign?: () => Record<string, string>;
  body?: string;
}

export interface Answer<T> {
  body: T;
  headers: Headers;
}

export interface Http {
  /** @throws PullError */
  json<T>(url: string, request?: HttpRequest): Promise<Answer<T>>;
  /** The body as it arrives. @throws PullError */
  open(url: string, request?: HttpRequest): Promise<Response>;
}

export function openHttp({ title, signal, note, pause, meaning }: HttpOptions): Http {
  const rest = pause ?? ((ms: number) => sleep(ms, undefined, { signal }));
  let readyAt = 0;

  async function wait(ms: number, why: string): Promise<void> {
    if (ms >= TOLD_FROM_MS) note(`${title} ${why}: going on in ${Math.ceil(ms / 1000)} s.`);
    if (ms > 0) await rest(ms);
  }

  /** @param isStream its headers have the time limit, and its pauses that of fetch; otherwise the whole answer has it */
  async function ask(url: string, request: HttpRequest, isStream: boolean): Promise<Response> {
    for (let tries = 1; ; tries++) {
      await wait(readyAt - Date.now(), 'asks to wait');
      const { response, fault } = await sent(url, request, isStream);
      if (response?.ok) {
        readyAt = Date.now() + Math.min(usedUpMs(response.headers, Date.now()) ?? 0, LONGEST_WAIT_MS);
        return response;
      }
      const { error, isLimit } = response
        ? await refusal(title, response, meaning)
        : { error: new PullError('unreachable', `${title}: ${fault}.`), isLimit: false };
      if (tries >= TRIES || error.trouble !== 'unreachable') throw error;
      const asked = response && askedWaitMs(response.headers, Date.now());
      const backoff = FIRST_WAIT_MS * 2 ** (tries - 1);
      await wait(Math.min(asked ?? backoff, LONGEST_WAIT_MS), isLimit ? 'limits the rate' : 'is away');
    }
  }

  async function sent(
    url: string,
    { sign, ...request }: HttpRequest,
    isStream: boolean,
  ): Promise<{ response?: Response; fault?: string }> {
    signal.throwIfAborted();
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new Error('no answer in time')), REQUEST_MS).unref();
    try {
      const response = await fetch(url, {
        ...request,
        headers: { ...request.headers, ...sign?.() },
        redirect: 'error',
        signal: AbortSignal.any([signal, late.signal]),
      });
      if (isStream) clearTimeout(timer);
      return { response };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      const { cause, message } = error as { cause?: { code?: string; message?: string }; message: string };
      return { fault: cause?.message || cause?.code || message };
    }
  }

  return {
    open: (url, request = {}) => ask(url, request, true),
    async json<T>(url: string, request?: HttpRequest) {
      const response = await ask(
        url,
        { ...request, headers: { accept: 'application/json', ...request?.headers } },
        false,
      );
      const body = await response.json().catch((error: unknown) => {
        if (signal.aborted) throw signal.reason;
        const isText = error instanceof SyntaxError;
        const what = isText ? 'answered something else than JSON' : 'broke off its answer';
        throw new PullError(isText ? 'failed' : 'unreachable', `${title} ${what}.`, 'Check the address.');
      });
      return { body: body as T, headers: response.headers };
    },
  };
}

/** Where APIs say what is wrong. */
const SAID = ['error_description', 'errorSummary', 'errorMessage', 'message', 'Message', 'error'];
const MOST_TEXT = 200;

async function refusal(
  title: string,
  response: Response,
  meaning: HttpOptions['meaning'],
): Promise<{ error: PullError; isLimit: boolean }> {
  const { status } = response;
  const body = (await response.json().catch(() => undefined)) as Record<string, unknown> | undefined;
  const inner = typeof body?.error === 'object' && body.error !== null ? (body.error as Record<string, unknown>) : body;
  const said = SAID.map((name) => inner?.[name]).find((text) => typeof text === 'string');
  const text = typeof said === 'string' ? `: ${said.slice(0, MOST_TEXT).replace(/\.$/, '')}` : '';
  const meant = body && meaning?.(body);
  const isLimit = status === 429 || meant === 'limited';
  const isDenied = status === 401 || status === 403 || meant === 'denied';
  const trouble = isLimit || MAY_PASS.has(status) ? 'unreachable' : isDenied ? 'denied' : 'failed';
  return { error: new PullError(trouble, `${title} answered ${status}${text}.`, undefined, status), isLimit };
}
