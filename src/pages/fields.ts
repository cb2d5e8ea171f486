/** Reads the fields of a form or a query defensively: any field may be missing, repeated or too long. */
import express from 'express';
import { requiredText } from '../fields/fields.ts';
import type { Problem } from './parts.ts';

/** Reads a form. The limit leaves room for two passwords of 200 code points, names and a proof, percent-encoded. */
export const readForm = express.urlencoded({ extended: false, inflate: false, limit: 16 * 1024 });

/** A field's value; empty when the field is missing or repeated. */
export function text(source: unknown, name: string): string {
  const value = (source as Record<string, unknown> | undefined)?.[name];
  return typeof value === 'string' ? value : '';
}

const passwordRule = requiredText(200);

/** What is wrong with a new password and its repetition; undefined when they are valid. */
export function passwordProblem(password: string, repeated: string): Problem | undefined {
  const checked = passwordRule.safeParse(password);
  if (!checked.success) return { message: `The password ${checked.error.issues[0]?.message}.` };
  return password === repeated
    ? undefined
    : { message: 'The passwords do not match. Please enter the same one twice.' };
}
