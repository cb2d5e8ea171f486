/** Validates the query strings of the import API by their schemas. */
import type { z } from 'zod';
import { type ApiError, type FieldViolation, invalidArgument } from '../errors.ts';

/** @throws ApiError 400 IMPORT-QUERY naming every invalid parameter */
export function queryOf<T>(schema: z.ZodType<T>, req: { query: unknown }): T {
  const parsed = schema.safeParse(req.query, { error: ({ code }) => DEFAULT_MESSAGES[code] });
  if (parsed.success) return parsed.data;
  const violations = parsed.error.issues.flatMap((i) =>
    i.code === 'unrecognized_keys'
      ? i.keys.map((field) => ({ field, description: 'is not supported here' }))
      : [{ field: i.path.join('.'), description: i.message }],
  );
  throw badQuery(violations);
}

/** For schemas without their own message. A parameter that is repeated is an array, not a string. */
const DEFAULT_MESSAGES: Partial<Record<string, string>> = { invalid_type: 'must be given once, as a string' };

/** 400; the message is one sentence per parameter. */
function badQuery(violations: FieldViolation[]): ApiError {
  const sentences = violations.map(({ field, description }) => `The query parameter ${field} ${description}.`);
  return invalidArgument('IMPORT-QUERY', sentences.join(' '), violations);
}
