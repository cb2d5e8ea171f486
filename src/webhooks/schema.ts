/** A webhook URL in a request. target.ts checks the address that it leads to. */
import { z } from 'zod';
import { textProblem } from '../fields/fields.ts';

const MAX = 2000;

/** An absolute URL without credentials and fragment, of at most 2000 characters. */
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
  if (url.username || url.password) return 'must not contain a user name or a password';
  return url.hash ? 'must not contain a fragment' : undefined;
}
