/** Types and helpers for calls, for tests that do not load the application, which takes a second. */
import { randomBytes } from 'node:crypto';

export interface CallOptions {
  /** Default: the instance's administrator; `null` sends none. */
  token?: string | null | undefined;
  /** Sent as `x-service-orgid`. */
  orgId?: string | undefined;
  headers?: Record<string, string> | undefined;
}

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses as callers do
  body: any;
  headers: Headers;
}

/** A name that no other test uses. */
export function unique(prefix: string): string {
  return `${prefix}-${randomBytes(4).toString('hex')}`;
}

/** The stable id of an error response. */
export function errorId(answer: Answer): string | undefined {
  return answer.body?.details?.[0]?.id;
}

/** The fields that an error response names, sorted. */
export function badFieldsOf(answer: Answer): string[] {
  const violations: { field: string }[] = answer.body?.details?.[1]?.fieldViolations ?? [];
  return violations.map((v) => v.field).sort();
}
