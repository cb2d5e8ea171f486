/** Validates a query string of the import API against its schema. */
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
  const message = violations.map((v) => `${v.field} ${v.description}.`).join(' ');
  throw invalidArgument('IMPORT-QUERY', message, violations);
}
