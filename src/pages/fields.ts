/** Reads the fields of a form or a query defensively: any field may be missing, repeated or too long. */
import express from 'express';
import type { Problem } from './parts.ts';

/** Reads a form. The limit leaves room for two passwords of 200 code points, names and a proof, percent-encoded. */
export const readForm = express.urlencoded({ extended: false, inflate: false, limit: 16 * 1024 });

/** A field's value; empty when the field is missing or repeated. */
export function text(source: unknown, name: string): string {
  const value = (source as Record<string, unknown> | undefined)?.[name];
  return typeof value === 'string' ? value : '';
}

/** What is wrong with the repetition of a new password; undefined when it is the same. */
export function repetitionProblem(password: string, repeated: string): Problem | undefined {
  return password === repeated
    ? undefined
    : { message: 'The passwords do not match. Please enter the same one twice.' };
}
