/** What a form or an address brings, read with care: any field may be missing, repeated or too long. */
import express from 'express';
import { requiredText } from '../fields/fields.ts';
import type { Problem } from './parts.ts';

/** Reads a form: two passwords of 200 code points, names and a proof, percent-encoded, with room to spare. */
export const readForm = express.urlencoded({ extended: false, limit: 16 * 1024 });

/** A field; a missing or repeated one reads as empty. */
export function text(source: unknown, name: string): string {
  const value = (source as Record<string, unknown> | undefined)?.[name];
  return typeof value === 'string' ? value : '';
}

const passwordRule = requiredText(200);

/** What is wrong with a password that was typed twice. */
export function passwordProblem(password: string, repeated: string): Problem | undefined {
  const checked = passwordRule.safeParse(password);
  if (!checked.success) return { message: `The password ${checked.error.issues[0]?.message}.` };
  return password === repeated ? undefined : { message: 'The two passwords differ. Please type the same one twice.' };
}
