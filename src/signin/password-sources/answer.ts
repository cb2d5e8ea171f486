/** What a password source says about a password, what is sent to it, and how its JSON answers are read. */
import { type ExchangeResult, exchange } from '../../platform/http/outgoing.ts';

/** What a source says about a password. */
export type SourceAnswer =
  /** `mustChange`: the old system wants a new password from the user. */
  | { result: 'yes'; mustChange?: boolean }
  | { result: 'no' }
  /**
   * Nothing is known about the password. `reason`: for the owner of the source; never holds data of a user. `isDown`:
   * the source as a whole does not work, so that it should be left alone for a while; an answer about one user, such as
   * a lock there, must not keep the others out.
   */
  | { result: 'unavailable'; reason: string; isDown: boolean };

export const YES: SourceAnswer = { result: 'yes' };
export const YES_MUST_CHANGE: SourceAnswer = { result: 'yes', mustChange: true };
export const NO: SourceAnswer = { result: 'no' };

/** An answer that says nothing about the password. */
export function unavailable(reason: string, isDown = false): SourceAnswer {
  return { result: 'unavailable', reason, isDown };
}

/**
 * An answer over HTTP that says neither yes nor no. A fault (500) may come from one odd password, so that anybody
 * could keep all users out with it; 502 and more say that the source does not work.
 */
export function notTold(status: number, detail = ''): SourceAnswer {
  return unavailable(`answered ${status}${detail}`, status > 501);
}

/** What a kind of source needs for one check. */
export interface Check {
  /** The user's name at the source. */
  name: string;
  /** Never empty: directories take an empty password for an anonymous login. */
  password: string;
  /** Absent in a test by the owner of the source. */
  user?: { id: string; email: string | undefined };
}

export interface CheckOptions {
  timeoutMs: number;
  /** Allows private addresses, and HTTP. */
  allowPrivate: boolean;
}

/** The longest answer: the tokens of a successful sign-in may be long. */
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
