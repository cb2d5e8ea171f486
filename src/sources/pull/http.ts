/**
 * Requests to the API of an old system: with retries, access tokens, links to next pages, and signatures of AWS.
 *
 * Guarantee: every request has a time limit; redirects are not followed, so secrets go nowhere else. The system's rate
 * limit is respected, and faults that may pass are tried again, at most eight times and five minutes apart.
 */
import { createHash, createHmac } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { exactJson } from '../values.ts';
import { PullError } from './system.ts';

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

const TRIES = 8;
const REQUEST_MS = 60_000;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 5 * 60_000;
/** Shorter waits are not worth a line. */
const TOLD_FROM_MS = 5000;

export function openHttp(options: HttpOptions): Http {
  return new HttpClient(options);
}

interface AskOptions {
  /** The time limit is for the headers, and fetch limits the pauses of the body; otherwise the limit is for all of it. */
  isStream: boolean;
}

class HttpClient implements Http {
  private readonly options: HttpOptions;
  /** Milliseconds since 1970: the system wants no request before. */
  private readyAt = 0;

  constructor(options: HttpOptions) {
    this.options = options;
  }

  open(url: string, request: HttpRequest = {}): Promise<Response> {
    return this.ask(url, request, { isStream: true });
  }

  async json<T>(url: string, request?: HttpRequest): Promise<Answer<T>> {
    const headers = { accept: 'application/json', ...request?.headers };
    const response = await this.ask(url, { ...request, headers }, { isStream: false });
    const { title, signal } = this.options;
    const text = response.text();
    const body = await text.then(exactJson).catch((error: unknown) => {
      if (signal.aborted) throw signal.reason;
      const isText = error instanceof SyntaxError;
      const what = isText ? 'answered something else than JSON' : 'broke off its answer';
      throw new PullError(isText ? 'failed' : 'unreachable', `${title} ${what}.`, 'Check the address.');
    });
    return { body: body as T, headers: response.headers };
  }

  private async ask(url: string, request: HttpRequest, options: AskOptions): Promise<Response> {
    const { title, meaning } = this.options;
    for (let tries = 1; ; tries++) {
      await this.wait(this.readyAt - Date.now(), 'asks to wait');
      const { response, fault } = await this.sent(url, request, options);
      if (response?.ok) {
        this.readyAt = Date.now() + Math.min(usedUpMs(response.headers, Date.now()) ?? 0, LONGEST_WAIT_MS);
        return response;
      }
      const { error, isLimit } = response
        ? await refusal(title, response, meaning)
        : { error: new PullError('unreachable', `${title}: ${fault}.`), isLimit: false };
      if (tries >= TRIES || error.trouble !== 'unreachable') throw error;
      const asked = response && askedWaitMs(response.headers, Date.now());
      const backoff = FIRST_WAIT_MS * 2 ** (tries - 1);
      await this.wait(Math.min(asked ?? backoff, LONGEST_WAIT_MS), isLimit ? 'limits the rate' : 'is away');
    }
  }

  private async wait(ms: number, why: string): Promise<void> {
    const { title, signal, note, pause } = this.options;
    if (ms >= TOLD_FROM_MS) note(`${title} ${why}: going on in ${Math.ceil(ms / 1000)} s.`);
    if (ms > 0) await (pause?.(ms) ?? sleep(ms, undefined, { signal }));
  }

  private async sent(
    url: string,
    { sign, ...request }: HttpRequest,
    { isStream }: AskOptions,
  ): Promise<{ response?: Response; fault?: string }> {
    const { signal } = this.options;
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
}

const MAY_PASS = new Set([408, 429, 500, 502, 503, 504]);
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

const RENEW_BEFORE_MS = 60_000;
const USUAL_S = 300;

/**
 * Returns a function that returns a valid access token, by client credentials (RFC 6749 section 4.4) or another grant,
 * and renews it before it expires.
 * @param form parameters of the request; its grant is client credentials unless they name another one
 * @throws PullError from the returned function
 */
export function clientToken(
  http: Http,
  url: string,
  form: Record<string, string> | (() => Record<string, string>),
): () => Promise<string> {
  let token = '';
  let expiresAt = 0;
  return async () => {
    if (Date.now() < expiresAt - RENEW_BEFORE_MS) return token;
    const given = typeof form === 'function' ? form() : form;
    const { body } = await http.json<{ access_token?: string; expires_in?: number }>(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ grant_type: 'client_credentials', ...given }).toString(),
    });
    if (typeof body.access_token !== 'string') throw new PullError('failed', 'The answer has no access token.');
    token = body.access_token;
    expiresAt = Date.now() + Math.max(Number(body.expires_in ?? USUAL_S) * 1000, 2 * RENEW_BEFORE_MS);
    return token;
  };
}

/**
 * The next page of a list, by the header `Link` (RFC 8288). Undefined on the last page, and for an address on another
 * host, to which no secret may go.
 */
export function nextLink(headers: Headers, base: string): URL | undefined {
  for (const part of (headers.get('link') ?? '').split(/,(?=\s*<)/)) {
    const [, target, parameters = ''] = /^\s*<([^>]*)>(.*)$/.exec(part) ?? [];
    if (target === undefined || !/;\s*rel\s*=\s*"?next"?/i.test(parameters)) continue;
    const url = URL.parse(target, `${base}/`);
    if (url !== null && url.origin === new URL(base).origin) return url;
  }
  return undefined;
}

/**
 * Milliseconds that the answer asks to wait, by `Retry-After` (RFC 9110 section 10.2.3) or the time at which a limit
 * resets; undefined when it does not say.
 */
export function askedWaitMs(headers: Headers, now: number): number | undefined {
  const after = headers.get('retry-after')?.trim();
  if (after && /^\d{1,9}$/.test(after)) return Number(after) * 1000;
  const date = after === undefined ? Number.NaN : Date.parse(after);
  if (!Number.isNaN(date)) return Math.max(0, date - now);
  return resetMs(headers, now);
}

/** Seconds since 1970, or seconds from now where the number is small. */
const RESETS = ['x-rate-limit-reset', 'x-ratelimit-reset', 'ratelimit-reset'];
const LARGEST_DELAY_S = 1_000_000_000;

function resetMs(headers: Headers, now: number): number | undefined {
  const text = RESETS.map((name) => headers.get(name)?.trim()).find((value) => value && /^\d{1,12}$/.test(value));
  if (!text) return undefined;
  const value = Number(text);
  return Math.max(0, value < LARGEST_DELAY_S ? value * 1000 : value * 1000 - now);
}

const REMAINING = ['x-rate-limit-remaining', 'x-ratelimit-remaining', 'ratelimit-remaining'];

/** Milliseconds until the limit resets, if the answer used up the last request; otherwise undefined. */
export function usedUpMs(headers: Headers, now: number): number | undefined {
  return REMAINING.some((name) => headers.get(name)?.trim() === '0') ? resetMs(headers, now) : undefined;
}

export interface AwsKeys {
  id: string;
  secret: string;
  /** Only temporary keys have one. */
  sessionToken?: string | undefined;
}

export interface AwsRequest {
  method: string;
  url: URL;
  /** All of them are signed. */
  headers: Readonly<Record<string, string>>;
  body: string;
  region: string;
  service: string;
}

/**
 * The headers that sign a request for AWS (signature version 4), to add to its own; for requests with a body and
 * without a query. They are valid for five minutes.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
 */
export function awsSignature(request: AwsRequest, keys: AwsKeys, now: Date): Record<string, string> {
  const { method, url, body, region, service } = request;
  const time = now.toISOString().replace(/[-:]|\.\d+/g, '');
  const added = {
    'x-amz-date': time,
    ...(keys.sessionToken === undefined ? {} : { 'x-amz-security-token': keys.sessionToken }),
  };
  const headers: Record<string, string> = { ...request.headers, ...added, host: url.host };
  const names = Object.keys(headers).sort();
  const lines = names.map((name) => `${name}:${headers[name]?.trim()}\n`).join('');
  const signed = names.join(';');
  const canonical = [method, url.pathname, '', lines, signed, sha256(body)].join('\n');
  const scope = [time.slice(0, 8), region, service, 'aws4_request'];
  const text = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(canonical)].join('\n');
  const key = scope.reduce<string | Buffer>((previous, part) => hmac(previous, part), `AWS4${keys.secret}`);
  const signature = hmac(key, text).toString('hex');
  const authorization = `AWS4-HMAC-SHA256 Credential=${keys.id}/${scope.join('/')}, SignedHeaders=${signed}, Signature=${signature}`;
  return { ...added, authorization };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
