/** A query string of the HTTP interface of imports, checked by its schema. */
import type { z } from 'zod';
import { invalidArgument } from '../errors.ts';

/** @throws ApiError 400 IMPORT-QUERY naming every bad parameter */
export function queryOf<T>(schema: z.ZodType<T>, req: { query: unknown }): T {
  const parsed = schema.safeParse(req.query);
  if (parsed.success) return parsed.data;
  const violations = parsed.error.issues.flatMap((i) =>
    i.code === 'unrecognized_keys'
      ? i.keys.map((field) => ({ field, description: 'is not a known query parameter' }))
      : [{ field: i.path.join('.'), description: i.message }],
  );
  throw invalidArgument('IMPORT-QUERY', `Bad query: ${violations.map((v) => v.field).join(', ')}`, violations);
}
