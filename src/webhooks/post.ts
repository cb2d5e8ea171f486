/**
 * One attempt to deliver a message over HTTP.
 *
 * Guarantee: connects only to a checked address, follows no redirect, takes at most 15 seconds, and reads only a few KB
 * of a response, of which only the status counts. Never throws because of the other side's behaviour.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { ForbiddenTarget, lookupFor, type Resolve, targetProblem } from './target.ts';

const ATTEMPT_MS = 15_000;
const MAX_ANSWER_BYTES = 16_384;

export interface PostOptions {
  /** Allows private addresses and plain http. */
  allowPrivate: boolean;
  /** Aborts the attempt. */
  signal?: AbortSignal;
  /** For tests: another resolver and another timeout. */
  resolve?: Resolve;
  attemptMs?: number;
}

/** The status of the response, or why there is none: a code such as `ECONNREFUSED`. */
export type PostResult = { status: number } | { reason: string };

export async function post(
  url: string,
  headers: Record<string, string>,
  body: string,
  options: PostOptions,
): Promise<PostResult> {
  const problem = targetProblem(url, options.allowPrivate);
  if (problem) return { reason: `the URL ${problem}` };
  try {
    return { status: await send(url, headers, Buffer.from(body), options) };
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

function send(url: string, headers: Record<string, string>, body: Buffer, options: PostOptions): Promise<number> {
  const timeout = AbortSignal.timeout(options.attemptMs ?? ATTEMPT_MS);
  const signal = options.signal ? AbortSignal.any([timeout, options.signal]) : timeout;
  const request = new URL(url).protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method: 'POST',
      agent: false, // keeps no connection, so each attempt resolves the address
      lookup: lookupFor(options.allowPrivate, options.resolve),
      headers: { ...headers, 'content-length': body.length },
      signal,
    });
    sent.on('error', reject);
    sent.on('response', (answer) => drain(answer).then(() => resolve(answer.statusCode ?? 0)));
    sent.end(body);
  });
}

/** Reads a short response to its end and cuts off a long one; both count, as the status is known. */
function drain(answer: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0;
    answer.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) answer.destroy();
    });
    answer.on('error', () => {}); // 'close' follows
    answer.on('close', resolve);
  });
}

function reasonOf(error: unknown): string {
  const { name, code, message } = error as NodeJS.ErrnoException;
  if (name === 'TimeoutError' || code === 'ABORT_ERR') return 'no answer in time';
  return error instanceof ForbiddenTarget ? message : (code ?? 'the request failed');
}
