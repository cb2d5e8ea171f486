/** A URL that wants to be told something, as callers send it. What it may lead to is judged in target.ts. */
import { z } from 'zod';
import { textProblem } from '../fields/fields.ts';

const MAX = 2000;

/** An absolute URL without log-in and fragment, of at most 2000 characters. */
export function webhookUrl() {
  return z
    .string('must be a URL')
    .superRefine((s, ctx) => {
      const problem = textProblem(s, MAX) ?? urlProblem(s);
      if (problem) ctx.addIssue({ code: 'custom', message: problem });
    })
    .meta({ format: 'uri', maxLength: MAX, examples: ['https://example.com/imported'] });
}

function urlProblem(s: string): string | undefined {
  if (!URL.canParse(s)) return 'must be a URL';
  const url = new URL(s);
  if (!/^https?:$/.test(url.protocol)) return 'must start with https://';
  if (url.username || url.password) return 'must not hold a log-in';
  return url.hash ? 'must not hold a fragment' : undefined;
}
