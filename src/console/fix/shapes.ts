/** Causes in words, and the fields of entries. */
import type { Cause } from '../../imports/answers.ts';
import { ENTRY_FIELDS } from '../texts/fix.ts';

/** What people call a field; a rare one keeps its path in the API. */
export function fieldName(path: string): string {
  return ENTRY_FIELDS[path.replace(/\[\d+\]/g, '[]')] ?? path.replace(/^user\./, '');
}

/** The cause in words: the field and what is wrong with it. */
export function nameOf({ field, scheme, message }: Pick<Cause, 'field' | 'scheme' | 'message'>): string {
  return `${field ? `${fieldName(field)} ` : ''}${scheme && !message.includes(scheme) ? `(${scheme}) ` : ''}${message}`;
}

/** The field of a cause that can be typed in; hashes, secrets and lists cannot. */
export function editableField({ id, field }: Pick<Cause, 'id' | 'field'>): string | undefined {
  if (id === 'USER-NAME-TAKEN') return 'user.userName';
  if (field === 'user.email') return 'user.email.email';
  return field && /^user\.(?:userName|(?:profile|email|phone)\.\w+)$/.test(field) ? field : undefined;
}

/** A text field of an entry; empty if it is absent or no text. */
export function textIn(entry: Record<string, unknown> | undefined, field: string): string {
  let value: unknown = entry;
  for (const name of field.split('.')) value = (value as Record<string, unknown> | null | undefined)?.[name];
  return typeof value === 'string' ? value : '';
}

/** The JSON merge patch that sets the field. */
export function patchOf(field: string, value: string): Record<string, unknown> {
  return field.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as Record<string, unknown>;
}
