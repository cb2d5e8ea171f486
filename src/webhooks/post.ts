/**
 * One attempt to deliver a message over HTTP.
 *
 * Guarantee: connects to no address but a checked one, follows no redirect, takes no longer than 15 seconds, and reads
 * no more than a few KB of an answer, of which only the status counts. Never throws for what the other side does.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { ForbiddenTarget, lookupFor, type Resolve, targetProblem } from './target.ts';

const ATTEMPT_MS = 15_000;
const MAX_ANSWER_BYTES = 16_384;

export interface PostOptions {
  /** Private addresses and plain http will do. */
  allowPrivate: boolean;
  /** Ends the attempt. */
  signal?: AbortSignal;
  /** For tests: another name server, another patience. */
  resolve?: Resolve;
  attemptMs?: number;
}

/** The status of the answer, or why there is none: a code such as `ECONNREFUSED`. */
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
      agent: false, // no connection is kept, so each attempt looks its address up
      lookup: lookupFor(options.allowPrivate, options.resolve),
      headers: { ...headers, 'content-length': body.length },
      signal,
    });
    sent.on('error', reject);
    sent.on('response', (answer) => drain(answer).then(() => resolve(answer.statusCode ?? 0)));
    sent.end(body);
  });
}

/** Lets a short answer come to its end and cuts a long one off; it counts either way, as its status is known. */
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
