/**
 * One attempt to deliver a message over HTTP.
 *
 * Guarantee: as `exchange`; takes at most 15 seconds, and reads only a few KB of a response, of which only the status
 * counts.
 */
import { exchange } from './exchange.ts';
import type { Resolve } from './target.ts';

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
  { attemptMs = ATTEMPT_MS, ...options }: PostOptions,
): Promise<PostResult> {
  const limits = { ...options, timeoutMs: attemptMs, mostBytes: MAX_ANSWER_BYTES };
  const result = await exchange(url, headers, body, limits);
  return 'status' in result ? { status: result.status } : result;
}
