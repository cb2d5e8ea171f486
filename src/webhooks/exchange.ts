/**
 * One request to an address that somebody configured.
 *
 * Guarantee: connects only to a checked address, follows no redirect, keeps its time limit, and reads at most
 * `mostBytes` of the answer. Never throws because of the other side's behaviour.
 */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { ForbiddenTarget, lookupFor, type Resolve, targetProblem } from './target.ts';

export interface ExchangeOptions {
  /** Allows private addresses and plain http. */
  allowPrivate: boolean;
  /** For the whole exchange. */
  timeoutMs: number;
  mostBytes: number;
  /** Aborts the exchange. */
  signal?: AbortSignal | undefined;
  /** For tests: another resolver. */
  resolve?: Resolve | undefined;
}

/** The answer, or why there is none: a code such as `ECONNREFUSED`. A longer body is cut off. */
export type ExchangeResult = { status: number; body: string } | { reason: string };

/** Sends a POST. */
export async function exchange(
  url: string,
  headers: Record<string, string>,
  body: string,
  options: ExchangeOptions,
): Promise<ExchangeResult> {
  const problem = targetProblem(url, options.allowPrivate);
  if (problem) return { reason: `the URL ${problem}` };
  try {
    return await send(url, headers, Buffer.from(body), options);
  } catch (error) {
    return { reason: reasonOf(error) };
  }
}

function send(
  url: string,
  headers: Record<string, string>,
  body: Buffer,
  options: ExchangeOptions,
): Promise<{ status: number; body: string }> {
  const timeout = AbortSignal.timeout(options.timeoutMs);
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
    sent.on('response', (answer) =>
      read(answer, options.mostBytes).then((text) => resolve({ status: answer.statusCode ?? 0, body: text })),
    );
    sent.end(body);
  });
}

/** Reads a short response to its end and cuts off a long one; both count, as the status is known. */
function read(answer: IncomingMessage, mostBytes: number): Promise<string> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    answer.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > mostBytes) answer.destroy();
    });
    answer.on('error', () => {}); // 'close' follows
    answer.on('close', () => resolve(Buffer.concat(chunks).toString('utf8')));
  });
}

function reasonOf(error: unknown): string {
  const { name, code, message } = error as NodeJS.ErrnoException;
  if (name === 'TimeoutError' || code === 'ABORT_ERR') return 'no answer in time';
  return error instanceof ForbiddenTarget ? message : (code ?? 'the request failed');
}
