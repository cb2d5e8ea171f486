/**
 * Why entries failed, as groups: by error id and field, and by scheme for a password hash, else by the message.
 * Pure: reads the error of an item and nothing of its entry, so no secret can appear in a cause.
 */
import { createHash } from 'node:crypto';
import type { ErrorBody, FieldViolation } from '../../errors.ts';
import type { Cause } from '../answers.ts';
import { remediesFor } from './remedies.ts';

/** The error of an entry that was corrected and waits for a retry. */
export const FIXED_ID = 'IMPORT-USER-FIXED';

export function errorIdOf(error: ErrorBody | null): string {
  return String(error?.details[0]?.id ?? '');
}

export function violationsOf(error: ErrorBody | null): FieldViolation[] {
  return error?.details.flatMap((d) => (d.fieldViolations as FieldViolation[] | undefined) ?? []) ?? [];
}

/** The causes of one failed item, each once; an entry with several invalid fields has several. */
export function causesOf(error: ErrorBody | null): Cause[] {
  const id = errorIdOf(error);
  const violations = violationsOf(error);
  if (violations.length === 0) return [causeFrom(id, undefined, error?.message ?? '')];
  const causes = new Map<string, Cause>();
  for (const { field, description } of violations) {
    const cause = causeFrom(id, field.replace(/\[\d+\]/g, '[]'), description);
    causes.set(cause.cause, cause);
  }
  return [...causes.values()];
}

function causeFrom(id: string, field: string | undefined, message: string): Cause {
  const scheme = field === 'user.hashedPassword.value' ? schemeIn(message) : undefined;
  const key = createHash('sha256').update(JSON.stringify([id, field ?? null, scheme ?? message]));
  const found = {
    cause: key.digest('hex').slice(0, 8),
    id,
    ...(field ? { field } : {}),
    ...(scheme ? { scheme } : {}),
  };
  return { ...found, message, remedies: remediesFor({ id, field, message }) };
}

/** The scheme that a message of src/passwords/registry.ts names; the names are those of `schemeSeen`. */
function schemeIn(message: string): string | undefined {
  const named = /the variant (\$\S+\$) is/.exec(message) ?? /^unknown scheme "(.+)"$/.exec(message);
  if (named) return named[1];
  if (message.startsWith('unknown scheme')) return 'unknown';
  const relative = /^(\S+) is not supported/.exec(message);
  return relative ? `$${relative[1]}$` : /^([^:]{1,40}): /.exec(message)?.[1];
}
