/** Why users of an import failed, as rows of a table, and the values that a remedy changes. */
import type { CountedCause } from '../../imports/answers.ts';

export function causeRow({ cause, count, field, message, first, remedies }: CountedCause): string[] {
  const shown = first.slice(0, 3).map(({ index }) => index);
  const more = count > shown.length ? ' …' : '';
  return [cause, String(count), field ?? '', message, `${shown.join(', ')}${more}`, remedies.join(', ')];
}

/** A value of an example; a hash appears as its scheme. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined) return '(none)';
  if (typeof value === 'string') return JSON.stringify(value);
  const { scheme } = value as { scheme?: string };
  return scheme ? `a hash of ${scheme}` : '(withheld)';
}
