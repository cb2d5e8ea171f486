/** Reads the JSON answers of password sources. */
import { type ExchangeResult, exchange } from '../../webhooks/exchange.ts';
import type { CheckOptions } from '../answer.ts';

/** The tokens of a successful sign-in may be long. */
const MAX_ANSWER_BYTES = 256 * 2 ** 10;

export type JsonAnswer = { status: number; json: Record<string, unknown> } | { reason: string };

/** Sends a POST and reads the JSON object of its answer, which is empty if it is none. */
export async function ask(
  url: string,
  headers: Record<string, string>,
  body: string,
  { timeoutMs, allowPrivate }: CheckOptions,
): Promise<JsonAnswer> {
  const result: ExchangeResult = await exchange(
    url,
    { accept: 'application/json', 'user-agent': 'Muster-Password-Source/1', ...headers },
    body,
    { timeoutMs, allowPrivate, mostBytes: MAX_ANSWER_BYTES },
  );
  if ('reason' in result) return result;
  return { status: result.status, json: objectOf(result.body) };
}

function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {}; // the caller judges by status and fields
  }
}

/** A field of an answer for a message: only what looks like a code, as the other side may repeat what it was sent. */
export function codeOf(value: unknown): string {
  return typeof value === 'string' && /^[\w.-]{1,60}$/.test(value) ? ` (${value})` : '';
}
