/** What calls are answered and how they are made, for tests that need not load the application, which takes a second. */
import { randomBytes } from 'node:crypto';

export interface CallOptions {
  /** The instance's administrator unless told; `null` sends none. */
  token?: string | null;
  /** Sent as `x-service-orgid`. */
  orgId?: string;
  headers?: Record<string, string>;
}

export interface Answer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers as callers do
  body: any;
  headers: Headers;
}

/** A name that no other test has. */
export function unique(prefix: string): string {
  return `${prefix}-${randomBytes(4).toString('hex')}`;
}

/** Stable id of an error answer. */
export function errorId(answer: Answer): string | undefined {
  return answer.body?.details?.[0]?.id;
}

/** The fields that an error answer names, sorted. */
export function badFieldsOf(answer: Answer): string[] {
  const violations: { field: string }[] = answer.body?.details?.[1]?.fieldViolations ?? [];
  return violations.map((v) => v.field).sort();
}
